"""The ablations of the paper's experiments: variants of training, other point predictions, and the page."""

import numpy as np
import pytest
from test_paper import CIRCUMSTANCES, noisy_rows

from experiments import records
from experiments.data import Dataset
from experiments.paper import ablation, ablation_report, methods, nets
from experiments.paper.authors import width_loss
from experiments.paper.protocol import ALPHAS, Rows, split


@pytest.mark.parametrize("recipe", [nets.Recipe(prediction=False), nets.Recipe(scaling="range"), ablation.CLIPPED])
def test_a_net_of_any_recipe_can_be_measured(recipe):
    fitted = nets.fit(noisy_rows(100), width_loss, "exp", 0, recipe._replace(epochs=2))
    assert np.isfinite(fitted.scores(noisy_rows(50, seed=1))).all()


def test_a_net_without_the_prediction_ignores_it():
    rows = noisy_rows(100)
    fitted = nets.fit(rows, width_loss, "exp", 0, nets.Recipe(epochs=1, prediction=False))
    other = Rows(rows.X, rows.y, rows.f + 1)
    np.testing.assert_array_equal(fitted.parameters(rows), fitted.parameters(other))


def test_a_net_is_the_same_as_a_localizer_of_the_package():
    rows = noisy_rows(100)
    fitted = nets.fit(rows, width_loss, "exp", 0, nets.Recipe(epochs=2))
    localizer = fitted.localizer(rows)
    np.testing.assert_allclose(localizer.parameters(rows.X, rows.f), fitted.parameters(rows), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ablation.MODELS)
def test_every_point_prediction_predicts(name):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    parts = split(X, 5 + X[:, 0] + 0.1 * random.normal(size=300), 0, ablation.MODELS[name])
    assert parts.test.f.dtype == np.float64
    assert np.corrcoef(parts.test.f, parts.test.y)[0, 1] > 0.7


def test_the_error_fit_is_repeated_with_the_seeds_of_the_suite(monkeypatch):
    seeds = []
    monkeypatch.setitem(
        ablation.ERROR_FITS, ablation.ERROR_FIT, lambda rows, seed: seeds.append(seed) or methods.Fixed()
    )
    monkeypatch.setattr(ablation.data, "load", lambda name: Dataset("made up", ["a", "b"], "y", *noisy_rows(200)[:2]))
    fixed, *_ = ablation.work(ablation.Job("error fit", ablation.ERROR_FIT, "facebook_1", 3))
    assert fixed["part"] == "error fit" and seeds == [methods.seed_of(ablation.ERROR_FIT, 3)]


def test_jobs_have_different_names():
    jobs = ablation.jobs(quick=False)
    assert len({str(job) for job in jobs}) == len(jobs) > len(ablation.jobs(quick=True))


def made_up_records(ratio):
    """Two runs of each job, whose ratios to fixed are the printed ones times `ratio`."""
    found = []
    by_part = {"variant": ["fixed", "exp"], "error fit": ["fixed", ablation.ERROR_FIT]}
    for job in ablation.jobs(quick=False):
        for place, alpha in enumerate(map(float, ALPHAS)):
            for method in by_part.get(job.part, ablation.MODEL_METHODS):
                printed = ablation_report.PRINTED.get(job.dataset, ablation_report.PRINTED["facebook_1"])
                width = 1.0 if method == "fixed" else ratio * printed[place]
                record = {"part": job.part, "name": job.name, "dataset": job.dataset, "method": method, "alpha": alpha}
                found.append(
                    {**record, "run": job.run, "width": width, "width_of_few": width, "explained": 0.5, "coverage": 0.9}
                )
    return found


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (1.0, "On all test rows: at all three levels `exp as in the suite`"),
        (0.5, "no single property explains the difference"),
    ],
)
def test_the_page_concludes_from_the_records(tmp_path, ratio, verdict):
    records.write(tmp_path / "paper_ablation.csv.gz", made_up_records(ratio))
    earlier = CIRCUMSTANCES | {"of": "facebook_1", "date": "2026-01-02"}
    records.write_environment(tmp_path / "paper_ablation.csv.gz", CIRCUMSTANCES | {"earlier": earlier})
    assert ablation_report.write(tmp_path) == []
    text = (tmp_path / "paper_ablation.md").read_text()
    assert verdict in " ".join(text.split())
    assert "nan" not in text
    assert "Earlier records, of facebook_1: Commit" in text and "2026-01-02" in text
    assert all(name in text for name in (*ablation.VARIANTS, *ablation.MODELS, *ablation.MODEL_RUNS))
