"""Localizers that are networks: trained with PyTorch by the package, or by the user."""

from __future__ import annotations

import copy
import os
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import N_JOBS, Rows
from widthwise import Localizer, Predictor, WidthwiseRegressor

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from widthwise import _net  # noqa: E402
from widthwise.torch import ErrorLoss, WidthLoss  # noqa: E402

SMALL = {"layers": 2, "width": 16, "max_epochs": 10}
TINY = {"layers": 1, "width": 4, "max_epochs": 2}  # where it does not matter what the net learns


def fitted(rows: Rows, **options: Any) -> Localizer:
    settings: dict[str, Any] = {"localizer": "net", "localizer_options": TINY, "n_jobs": N_JOBS}
    localizer = Localizer(**{**settings, **options})
    return localizer.fit(rows.X[:800], rows.y[:800], rows.y_pred[:800])


# ---- training


@pytest.mark.parametrize(("goal", "two_sided"), [("even", False), ("narrow", False), ("even", True)])
def test_a_net_learns_where_errors_are_large(rows: Rows, fresh: Rows, goal: str, two_sided: bool) -> None:
    localizer = fitted(rows, goal=goal, two_sided=two_sided, localizer_options=SMALL)
    calibration = localizer.calibrate(rows.X[800:], rows.y[800:], rows.y_pred[800:])
    _, intervals = Predictor(localizer, calibration).predict_interval(fresh.X, fresh.y_pred, confidence_level=0.9)
    inside = (intervals[:, 0, 0] <= fresh.y) & (fresh.y <= intervals[:, 1, 0])
    assert abs(inside.mean() - 0.9) < 5 * np.sqrt(0.09 * (1 / 2200 + 1 / 2000))
    residuals, widths = np.abs(fresh.y - fresh.y_pred), intervals[:, 1, 0] - intervals[:, 0, 0]
    wide = widths > np.median(widths)
    assert residuals[wide].mean() > 1.5 * residuals[~wide].mean()
    assert localizer._model.notes["localizer_engine"].startswith("torch ")


def test_a_seed_determines_the_net(rows: Rows) -> None:
    first, same, other = (fitted(rows, random_state=seed).parameters(rows.X, rows.y_pred) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_the_net_is_that_of_the_program(rows: Rows, tmp_path: Path) -> None:
    """The program trains with LibTorch, through the same procedure."""
    program = os.environ.get("WIDTHWISE_NET_PROGRAM")
    if not program:
        pytest.skip("WIDTHWISE_NET_PROGRAM is not set to the program widthwise, which trains networks")
    table, model = tmp_path / "rows.csv", tmp_path / "model.safetensors"
    columns = np.column_stack([rows.X, rows.y, rows.y_pred])[:800]
    names = [*(f"x{j}" for j in range(rows.X.shape[1])), "y", "y_pred"]
    np.savetxt(table, columns, fmt="%.17g", delimiter=",", header=",".join(names), comments="")
    table.write_text(table.read_text().replace("nan", ""))
    settings = ",".join(f"{name}={value}" for name, value in TINY.items())
    # fmt: off
    words = [program, "fit", table, "--target", "y", "--prediction", "y_pred", "--localizer", "net",
             "--localizer-options", settings, "--seed", 3, "--threads", 1, "--calibration-size", 0, "-o", model]
    # fmt: on
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=300)
    theirs, ours = Localizer.load(model), fitted(rows, random_state=3)
    np.testing.assert_allclose(
        ours.parameters(rows.X, rows.y_pred), theirs.parameters(rows.X, rows.y_pred), rtol=1e-3, atol=1e-4
    )


def test_a_saved_net_needs_no_torch(rows: Rows, fresh: Rows, tmp_path: Path, run_python: Any) -> None:
    localizer = fitted(rows)
    calibration = localizer.calibrate(rows.X[800:], rows.y[800:], rows.y_pred[800:])
    predictor = Predictor(localizer, calibration)
    predictor.save(tmp_path / "net.safetensors")
    np.save(tmp_path / "rows.npy", np.column_stack([fresh.X, fresh.y_pred]))
    done = run_python(
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np; from widthwise import Predictor\n"
        "rows = np.load('rows.npy'); predictor = Predictor.load('net.safetensors')\n"
        "np.save('intervals.npy', predictor.predict_interval(rows[:, :-1], rows[:, -1])[1])\n"
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(
        np.load(tmp_path / "intervals.npy"), predictor.predict_interval(fresh.X, fresh.y_pred)[1]
    )


def test_a_missing_torch_is_named_with_a_remedy(run_python: Any) -> None:
    done = run_python(
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np; from widthwise import Localizer\n"
        "rng = np.random.default_rng(0); X = rng.normal(size=(100, 2))\n"
        "Localizer(localizer='net').fit(X, rng.normal(size=100), np.zeros(100))\n"
    )
    assert "ImportError: training a net needs PyTorch: pip install torch; or use localizer='trees'" in done.stderr


def test_a_net_refuses_categories(rows: Rows) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"number": rows.X[:200, 0], "kind": ["a", "b"] * 100})
    with pytest.raises(ValueError, match="localizer net does not take categorical features; use trees"):
        Localizer(localizer="net").fit(X, rows.y[:200], rows.y_pred[:200])


def test_options_of_nets_are_checked(rows: Rows) -> None:
    with pytest.raises(ValueError, match="localizer is 'nett'; expected trees, net or paper-net"):
        fitted(rows, localizer="nett")
    with pytest.raises(ValueError, match="unknown option 'epochs'"):
        fitted(rows, localizer_options={"epochs": 3})
    notes = fitted(rows, localizer="paper-net", localizer_options={"max_epochs": 1})._model.notes["localizer_options"]
    assert {"batch_size=16", "learning_rate=1e-04", "max_epochs=1", "clip=inf"} <= set(notes.split())


def test_scores_and_gamma_reach_the_net(rows: Rows) -> None:
    for options in ({"score": "squared", "gamma": 0.5}, {"score": "absolute", "gamma": 0.5}):
        model = fitted(rows, score_transform="erc", fit_options=options)._model
        assert (model.score, model.gamma) == (options["score"], 0.5)
    logarithmic = fitted(rows, goal="narrow", score_transform="affine", fit_options={"score": "log"})
    assert logarithmic._model.score == "log"
    assert np.isfinite(logarithmic.parameters(rows.X, rows.y_pred)).all()


def test_training_leaves_torch_as_it_was(rows: Rows) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with torch.inference_mode():
            fitted(rows)
        with torch.no_grad():
            fitted(rows)
        assert torch.get_num_threads() == 2
        assert torch.is_grad_enabled()
    finally:
        torch.set_num_threads(threads)
    assert np.float64(5e-324) * np.float64(1) > 0  # denormals are not flushed


def test_an_error_of_torch_reaches_the_caller(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(_net.NetEngine, "step", fail)
    threads = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="out of memory"):
        fitted(rows)
    assert torch.get_num_threads() == threads


def test_a_regressor_trains_a_net(rows: Rows, fresh: Rows) -> None:
    model = WidthwiseRegressor(
        localizer="net", localizer_options=TINY, base_options={"rounds": 50}, random_state=0, n_jobs=N_JOBS
    )
    copied = copy.deepcopy(model).fit(rows.X, rows.y)
    assert copied.get_params()["localizer"] == "net"
    assert copied.evaluate(fresh.X, fresh.y).valid
    assert copied.predictor_._model.localizer_arrays()["kind"] == "net"


# ---- networks of the user


def sample(inputs: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, inputs))
    y_pred = X[:, 0] * 3
    return X, y_pred + rng.normal(size=200), y_pred


def network(inputs: int, outputs: int) -> nn.Sequential:
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(8, 6, bias=False), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.ReLU())
    module = nn.Sequential(nn.BatchNorm1d(inputs), nn.Linear(inputs, 8), nn.ReLU(), inner, nn.Linear(6, outputs))
    module(torch.randn(500, inputs) * 2 + 1)  # running statistics
    return module.eval()


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("with_prediction", [False, True])
def test_a_network_gives_the_parameters_it_gave_in_torch(
    with_prediction: bool, two_sided: bool, tmp_path: Path
) -> None:
    X, y, y_pred = sample(3)
    loss = WidthLoss("narrow", two_sided=two_sided, unit=4)
    module = network(3 + with_prediction, loss.parameter_count)
    columns = np.column_stack([X, y_pred]) if with_prediction else X
    centre, scale = columns.mean(axis=0), columns.std(axis=0)
    localizer = Localizer.from_torch(module, loss, X, y, y_pred, centre=centre, scale=scale)
    with torch.no_grad():
        expected = module(torch.tensor((columns - centre) / scale, dtype=torch.float32)).double()
    np.testing.assert_allclose(localizer.parameters(X, y_pred), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(localizer.scores(X, y, y_pred), loss.scores(expected, y - y_pred), rtol=1e-4, atol=1e-5)
    predictor = Predictor(localizer, localizer.calibrate(X + 1, y, y_pred))
    predictor.save(tmp_path / "net.safetensors")
    loaded = Localizer.load(tmp_path / "net.safetensors")
    np.testing.assert_array_equal(loaded.parameters(X, y_pred), localizer.parameters(X, y_pred))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)),
            r"module\[1\] \(Tanh\) is not supported; expected a",
        ),
        (nn.Sequential(nn.Linear(5, 1)), "module has 5 inputs; expected 3, the numbers of X, or 4 with the prediction"),
        (nn.Sequential(nn.Linear(3, 2)), "module has 2 outputs; expected 1, one per parameter"),
        (nn.Sequential(nn.Linear(3, 1), nn.ReLU()), "does not end with a Linear layer"),
        (nn.Sequential(nn.ReLU(), nn.Linear(3, 1)), r"module\[0\] \(ReLU\) follows no Linear layer"),
        (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 1)), "has 5 inputs; the layer before it has 4 outputs"),
        (nn.BatchNorm1d(3, track_running_stats=False), "has no running statistics"),
        (nn.Conv1d(1, 1, 3), r"module \(Conv1d\) is not supported"),
    ],
)
def test_other_networks_are_refused_with_the_reason(module: nn.Module, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Localizer.from_torch(module, WidthLoss(), *sample(3))


def test_a_wrong_standardisation_and_weights_that_are_not_finite_are_refused() -> None:
    module, loss, rows = nn.Linear(3, 1), WidthLoss(), sample(3)
    with pytest.raises(ValueError, match=r"centre is of shape \(4,\); expected 3 finite numbers"):
        Localizer.from_torch(module, loss, *rows, centre=np.zeros(4))
    with pytest.raises(ValueError, match="scale contains a number that is not positive"):
        Localizer.from_torch(module, loss, *rows, scale=[1, 0, 1])
    with torch.no_grad():
        module.weight[0, 0] = torch.nan
    with pytest.raises(ValueError, match="weights that are not finite"):
        Localizer.from_torch(module, loss, *rows)


# ---- the error fit


def test_the_error_loss_is_least_at_the_error_and_has_its_gradient() -> None:
    loss = ErrorLoss(unit=2)
    residuals = torch.tensor([-2.0, 4.0, 1.0], dtype=torch.float64)
    at_errors = (residuals.abs() / 2)[:, None].requires_grad_()
    assert loss(at_errors, residuals).item() == pytest.approx(0)
    weights = torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64)
    elsewhere = torch.tensor([[0.5], [1.5], [3.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda g: loss(g, residuals, weights), (elsewhere,))
    assert loss(elsewhere, residuals, weights).item() == pytest.approx(((0.25 - 1) ** 2 + 2 * (2.25 - 4) ** 2) / 3)


def test_options_of_the_score_reach_a_loss_and_its_localizer() -> None:
    X, y, y_pred = sample(3)
    loss = ErrorLoss(score_options={"gamma": 0.5})
    localizer = Localizer.from_torch(nn.Linear(3, 1), loss, X, y, y_pred)
    assert (localizer.score_transform, localizer._model.gamma) == ("erc", 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = copy.deepcopy(loss)
    g = localizer.parameters(X, y_pred)
    np.testing.assert_array_equal(again.scores(g, y - y_pred), localizer.scores(X, y, y_pred))
    with pytest.raises(ValueError, match="score_options contains 'goal'; expected score, gamma, epsilon"):
        WidthLoss(score_options={"goal": "even"})
