"""The paper's experiments: the protocol, the synthetic sets, the differences of the authors' code, and the page."""

import math
import os

import numpy as np
import pytest
import torch

from experiments import data, records
from experiments.paper import authors, methods, nets, report, suite, synthetic
from experiments.paper.printed import TABLE
from experiments.paper.protocol import ALPHAS, Evaluation, Rows, choose_neighbours, rank, split


def noisy_rows(count, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 1, (count, 2))
    return Rows(X, X[:, 0] + (0.1 + X[:, 1]) * random.normal(size=count), X[:, 0])


class OffsetScores:
    """Scores r / b + c with b and c that depend on the row: half-widths may be 0, and differ between rows."""

    def scores(self, rows):
        return rows.residuals / self.scale(rows) + rows.X[:, 0]

    def half_widths(self, rows, scores):
        return self.scale(rows)[:, None] * np.maximum(scores[None, :] - rows.X[:, :1], 0)

    def scale(self, rows):
        return 0.5 + rows.X[:, 1]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("rows", [3, 20, 57])
def test_leave_one_out_is_the_double_loop(alpha, rows):
    test = noisy_rows(rows)
    tied = Rows(np.round(test.X), np.round(test.y, 1), np.round(test.f, 1))
    for part in (test, tied):
        fitted = OffsetScores()
        scores = fitted.scores(part)
        expected = []
        for m in range(rows):
            others = np.sort(np.delete(scores, m))
            k = rank(rows - 1, alpha)
            bound = others[k - 1] if k <= rows - 1 else math.inf
            expected.append(fitted.half_widths(part, np.array([bound]))[m, 0])
        evaluation = Evaluation(fitted, part)
        np.testing.assert_array_equal(evaluation.half_widths(alpha), expected)
        measured = evaluation.leave_one_out(alpha)
        assert measured.size == np.mean(expected)
        assert measured.coverage == np.mean(part.residuals <= expected)


def test_ranks_are_exact():
    assert rank(9, "0.1") == 9  # not 10, as 10 * 0.9 rounded up might be
    assert rank(95, "0.05") == 92
    assert rank(10, "0.05") == 11  # none of 10 is enough


def test_coverage_of_leave_one_out_is_a_constant():
    evaluation = Evaluation(methods.Fixed(), noisy_rows(154))
    assert evaluation.leave_one_out("0.05").coverage == 147 / 154
    assert 0.85 < evaluation.coverage_of_halves("0.05") <= 1


def test_the_split_has_the_paper_s_shares_and_units():
    random = np.random.default_rng(1)
    X = np.column_stack([random.normal(5, 3, 500), np.ones(500)])
    parts = split(X, 10 + X[:, 0], 0)
    assert (len(parts.localizer.y), len(parts.test.y)) == (200, 100)
    assert abs(parts.test.X[:, 0].mean()) < 0.5
    assert not parts.test.X[:, 1].any()  # a constant stays a constant
    assert abs(np.abs(parts.test.y).mean() - 1) < 0.1
    np.testing.assert_array_equal(split(X, X[:, 0], 0).test_rows, parts.test_rows)
    assert not np.array_equal(split(X, X[:, 0], 1).test_rows, parts.test_rows)


def test_many_neighbours_are_chosen_for_noise_and_few_for_a_smooth_function():
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (500, 1))
    assert choose_neighbours(X, random.normal(size=500)) >= 16
    assert choose_neighbours(X, np.sin(9 * X[:, 0])) == 2


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ("cos", {0.0: 2.1, 1 / 3: 0.1 + math.sqrt(3), 0.75: 0.1}),
        ("squared", {0.25: 0.1, -1.0: 2.1}),
        ("inverse", {0.25: 0.1, 0.9: 2.1}),
        ("linear", {0.25: 1.85, -0.25: 1.85, 0.75: 0.1}),
    ],
)
def test_noise_is_the_paper_s(noise, expected):
    x = np.array(list(expected))
    np.testing.assert_allclose(synthetic.NOISE[noise](x), list(expected.values()))


def test_a_synthetic_set_is_a_parabola_with_noise():
    sample = synthetic.generate("linear", 0)
    assert len(sample.x) == 1000 and -1 <= sample.x.min() and sample.x.max() <= 1
    residuals = (sample.y - sample.truth) / synthetic.NOISE["linear"](sample.x)
    assert abs(residuals.std() - 1) < 0.1
    np.testing.assert_array_equal(synthetic.generate("linear", 0).y, sample.y)
    assert not np.array_equal(synthetic.generate("linear", 1).y, sample.y)
    assert synthetic.generate("linear", 0, *suite.CODE_RANGE).x.max() > 2.9


def test_losses_are_means_over_all_pairs():
    random = np.random.default_rng(0)
    g, r = random.normal(size=7), random.exponential(size=7)
    pairs = np.array([[math.exp(-g[m]) * math.exp(g[n]) * r[n] ** 2 for n in range(7)] for m in range(7)])
    outputs, residuals = torch.tensor(g[:, None]), torch.tensor(r)
    assert float(authors.width_loss(outputs, residuals)) == pytest.approx(np.sqrt(pairs).mean())
    assert float(authors.squared_width_loss(outputs, residuals)) == pytest.approx(pairs.mean())


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_code_s_rank_is_one_too_low_for_its_test_rows(alpha):
    others = authors.TEST_ROWS - 1
    assert authors.code_rank(others, alpha) == rank(others, alpha) - 1


def test_the_code_s_rank_covers_too_few_rows():
    residuals = np.random.default_rng(0).exponential(size=authors.TEST_ROWS)
    size, coverage = authors.one_width(residuals, rank(len(residuals) - 1, "0.05"))
    code_size, code_coverage = authors.one_width(residuals, authors.code_rank(len(residuals) - 1, "0.05"))
    assert code_size < size
    assert code_coverage < 0.95 <= coverage
    measured = Evaluation(methods.Fixed(), Rows(residuals[:, None], residuals, 0 * residuals)).leave_one_out("0.05")
    assert measured == (pytest.approx(size), coverage)


def test_a_normalised_net_is_one_at_zero():
    torch.manual_seed(0)  # a net that happens to be 0 there cannot be normalised
    net = nets.Net(3, normalised=True)
    assert net(torch.zeros(2, 3)).flatten().tolist() == pytest.approx([1, 1])


def test_the_net_of_the_error_fit_learns_where_errors_are_large():
    fitted = methods.Localized(nets.fit_errors(noisy_rows(600), seed=0))
    X = np.array([[0.5, 0.05], [0.5, 0.95]])
    low, high = fitted.half_widths(Rows(X, np.zeros(2), X[:, 0]), np.array([1.0]))[:, 0]
    assert high > 1.5 * low


@pytest.mark.skipif(not os.environ.get("WIDTHWISE_DATA"), reason="set WIDTHWISE_DATA to the folder of the data sets")
def test_energy_has_the_printed_sizes_only_with_the_heating_load():
    """The paper counts eight features; with eight, intervals of one width are far wider than printed."""
    energy = data.load("energy")
    without = [place for place, name in enumerate(energy.features) if name != "heating_load"]
    for place, alpha in enumerate(ALPHAS):
        sizes = []
        for X in (energy.X, energy.X[:, without]):
            tests = [split(X, energy.y, run).test for run in range(suite.RUNS)]
            sizes.append(records.mean([authors.one_width(t.residuals, rank(len(t.y) - 1, alpha))[0] for t in tests]))
        printed = TABLE["energy"]["fixed"][place][0]
        assert abs(sizes[0] / printed - 1) < 0.05 and sizes[1] / printed > 1.3


def test_the_printed_table_is_whole():
    assert set(TABLE) == set(suite.DATASETS) == set(report.TARGETS)
    for rows in TABLE.values():
        assert set(rows) == set(methods.PAPER)
        assert all(len(cells) == len(ALPHAS) for cells in rows.values())
    # 50 test rows in each of five runs would give this.
    validities = [cell[2] for rows in TABLE.values() for cells in rows.values() for cell in cells]
    assert all(abs(250 * value - round(250 * value)) < 1e-9 for value in validities)


def test_seeds_are_all_different():
    seeds = [methods.seed_of(method, run) for method in methods.METHODS for run in range(suite.RUNS)]
    assert len(set(seeds)) == len(seeds)


CIRCUMSTANCES = records.environment() | {"workers": 2, "processor_seconds": 60}


def made_up_records(runs, ours=0.3):
    """Records like those of a run of the suite, with known sizes."""
    random = np.random.default_rng(0)
    found = []
    common = {"coverage_of_halves": 0.9, "test_rows": 100, "neighbours": 2, "seconds": 1.0}
    for dataset in suite.DATASETS:
        for method in methods.METHODS:
            for alpha in map(float, ALPHAS):
                for run in range(runs):
                    width = {"fixed": 1.0}.get(method, ours if method in methods.OURS else 0.9) * (1 + 0.01 * run)
                    record = {"dataset": dataset, "method": method, "alpha": alpha, "run": run, "width": width}
                    found.append({**record, "coverage": 1 - alpha, **common})
    for name in report.DIFFERENCES:
        for version in ("paper", "code"):
            for alpha in map(float, ALPHAS):
                for run in range(runs):
                    record = {"dataset": "energy", "method": version, "alpha": alpha, "run": run, "width": 1.0}
                    found.append({"kind": "difference", "difference": name, **record, "coverage": 0.9})
    for noise in synthetic.NOISE:
        for version in ("paper", "code"):
            for method in suite.SYNTHETIC_METHODS:
                for run in range(runs):
                    record = {"dataset": noise, "method": method, "alpha": 0.05, "run": run, "width": 1.0}
                    found.append({"kind": "synthetic", "version": version, **record, "coverage": 0.95})
        picture = {
            key: np.sort(random.normal(size=20)) for key in ("x", "y", "prediction", "noise", *report.figure.LINES)
        }
        found.append({"kind": "picture", "dataset": noise, **picture})
    return found


def test_the_page_is_written_from_the_records(tmp_path):
    found = made_up_records(runs=5)
    records.write(tmp_path / "paper.csv.gz", (record for record in found if "kind" not in record))
    records.write(tmp_path / "paper_more.csv.gz", (record for record in found if "kind" in record))
    records.write_environment(tmp_path / "paper.csv.gz", CIRCUMSTANCES)
    checks = report.write(tmp_path)
    assert [check.passed for check in checks] == [True, True, True]
    text = (tmp_path / "paper.md").read_text()
    assert "0.918 ± 0.014 | 0.161 ± 0.014" in text  # exp on energy, ours and the printed value
    assert ".90 / .90 / .90 (.84 / .92 / .91)" in text  # its ratios
    assert ".82 / .82 / .86" in text
    assert "nan" not in text
    assert (tmp_path / "paper_synthetic.png").stat().st_size > 10_000


def test_checks_fail_with_the_numbers_that_failed():
    found = made_up_records(runs=5, ours=1.02)
    for record in records.select(found, dataset="homes", method="exp", alpha=0.1):
        record["coverage"] = 0.8
    coverage, trained, best = report.check(found)
    assert coverage.failures == ["homes, exp, alpha 0.1: 0.8000, standard error 0.0134"]
    assert len(trained.failures) == len(suite.DATASETS) * len(methods.OURS) * len(ALPHAS)
    assert len(best.failures) == len(suite.DATASETS) * len(ALPHAS)
    assert "energy" in str(best) and "1.020" in str(best) and "0.82" in str(best)


def test_the_page_says_how_often_a_row_diverged():
    found = made_up_records(runs=5)
    for record in records.select(found, dataset="homes", method="erc", run=3):
        record["width"] = 1e9
    (text,) = report.diverged_texts(report.Table(found))
    assert text.startswith("On homes, `erc` diverges in 1 of 5 runs")
    assert "Means over the other runs: 0.916 / 0.916 / 0.916." in text


def test_few_runs_are_checked_for_coverage_alone():
    assert len(report.check(made_up_records(runs=2))) == 1


def test_a_quick_run_is_small():
    quick = suite.jobs(quick=True)
    assert {job.dataset for job in quick if job.kind == "table"} == {"energy", "concrete"}
    assert max(job.run for job in quick) == 1 and all(job.quick for job in quick)
    assert len(suite.jobs(quick=False)) > 5 * len(suite.DATASETS)


def test_records_come_back_as_they_were(tmp_path):
    written = [
        {"dataset": "a", "width": math.nan, "rows": np.int64(3)},
        {"list": np.array([1.0, math.inf]), "text": "é, 'b'\n", "true": True},
        {"dataset": "", "text": "0.1", "width": 0.1 + 0.2},
        {"dataset": "null", "text": "[]", "width": 5e-324, "rows": -(10**30), "zero": -0.0},
    ]
    file = tmp_path / "deep" / "records.csv.gz"
    records.write(file, written)
    first, *others = records.read(file)
    assert math.isnan(first.pop("width")) and first == {"dataset": "a", "rows": 3}
    assert others == [{"list": [1.0, None], "text": "é, 'b'\n", "true": True}, *written[2:]]
    assert math.copysign(1, others[-1]["zero"]) == -1 and type(first["rows"]) is int
    assert len(list(file.parent.iterdir())) == 1
    records.write(file, [])
    assert records.read(file) == []


def test_equal_records_give_equal_bytes(tmp_path):
    one, two = tmp_path / "one.csv.gz", tmp_path / "two.csv.gz"
    given = [{"width": width} for width in np.random.default_rng(0).normal(size=100) * 1e-5]
    records.write(one, given)
    records.write(two, records.read(one))
    assert records.read(two) == given
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[3:8] == bytes(5)  # neither a name nor a time


def test_means_and_errors():
    assert records.mean([1, 2, 3]) == 2
    assert records.deviation([1, 2, 3]) == 1
    assert records.standard_error([1, 2, 3, 2]) == pytest.approx(np.std([1, 2, 3, 2], ddof=1) / 2)
    assert math.isnan(records.deviation([1]))
    ours = [{"run": 1, "width": 3.0}, {"run": 0, "width": 1.0}]
    assert records.paired_ratios(ours, [{"run": 0, "width": 2.0}, {"run": 1, "width": 4.0}], "width", "run") == [
        0.75,
        0.5,
    ]


def test_the_environment_is_told_in_a_line():
    line = records.environment_line(CIRCUMSTANCES)
    assert line.startswith("Commit ") and "numpy" in line and "cores" in line
    assert "/" not in line.replace("w/", "")  # no path of this machine


def test_linear_exp_and_sigma_are_one_method():
    rows = noisy_rows(300)
    fitted = [methods.fit_localizer(rows, transform, "paper-net", seed=0) for transform in ("linear", "exp", "sigma")]
    sizes = [Evaluation(one, noisy_rows(200, seed=1)).half_widths("0.1") for one in fitted]
    np.testing.assert_allclose(sizes[1], sizes[0], rtol=1e-9)
    np.testing.assert_allclose(sizes[2], sizes[0], rtol=1e-9)
    assert sizes[0].std() > 0.1 * sizes[0].mean()


@pytest.mark.skipif(
    not (os.environ.get("WIDTHWISE_FULL") and os.environ.get("WIDTHWISE_DATA")),
    reason="takes minutes; set WIDTHWISE_FULL=1 with the data sets at hand",
)
@pytest.mark.parametrize("dataset", ["energy", "concrete"])
def test_nets_of_the_package_have_the_recorded_sizes(dataset):
    """The program trained the recorded nets; with the same seeds the package trains the same nets, up to rounding."""
    recorded = records.read(records.RESULTS / "paper.csv.gz")
    for run in range(2):
        found = suite.table(dataset, run, [*methods.PAPER, "density, net", "affine, net"])
        for record in (each for each in found if "kind" not in each):
            same = {key: record[key] for key in ("dataset", "method", "alpha", "run")}
            (before,) = records.select(recorded, **same)
            assert record["width"] == pytest.approx(before["width"], rel=0.1), same
