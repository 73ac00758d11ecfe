"""widthwise.torch: the width loss for the user's own networks."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import widthwise
from widthwise import Calibration, Localizer, _core

torch = pytest.importorskip("torch")

from widthwise.torch import WidthLoss  # noqa: E402

# Every transform with the goals that it supports.
CASES = [
    *((goal, transform) for transform in ("erc", "linear", "exp", "sigma") for goal in ("even", "narrow", 0.5)),
    *(("narrow", transform) for transform in ("density", "affine", "spline", "mixture")),
]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def batch(loss: WidthLoss, n: int = 7, seed: int = 0, dtype: Any = torch.float64) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(seed)
    parameters = torch.randn(n, loss.parameter_count, generator=generator, dtype=torch.float64) + 0.1
    residuals = torch.randn(n, generator=generator, dtype=torch.float64)
    return parameters.to(dtype).requires_grad_(), residuals.to(dtype)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("goal", "transform"), CASES)
def test_gradients_are_right(goal: Any, transform: str, two_sided: bool, weighted: bool) -> None:
    loss = WidthLoss(goal, transform, two_sided=two_sided, unit=0.5)
    parameters, residuals = batch(loss)
    weights = torch.linspace(0.5, 2, 7, dtype=torch.float64) if weighted else None
    assert torch.autograd.gradcheck(lambda p: loss(p, residuals, weights), (parameters,), atol=1e-8, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_loss_and_gradient_have_the_dtype_of_the_parameters(dtype: Any) -> None:
    loss = WidthLoss("narrow")
    parameters, residuals = batch(loss, 50, dtype=dtype)
    value = loss(parameters, residuals)
    value.backward()
    assert value.dtype == parameters.grad.dtype == dtype
    assert value.shape == ()
    core = _core.WidthObjective("narrow", "auto", False, None)
    expected, gradient, _ = core.evaluate(
        residuals.double().numpy(), parameters.detach().double().numpy(), None, True, False
    )
    eps = torch.finfo(dtype).eps
    assert value.item() == pytest.approx(expected, rel=eps)
    np.testing.assert_allclose(parameters.grad.double().numpy(), gradient, rtol=eps, atol=1e-7)


def test_gradients_pass_through_a_net_and_follow_the_chain_rule() -> None:
    loss = WidthLoss()
    net = torch.nn.Linear(3, 1).double()
    x, residuals = torch.randn(20, 3, dtype=torch.float64), torch.randn(20, dtype=torch.float64)
    (3 * loss(net(x), residuals) + 1).backward()
    tripled = net.weight.grad.clone()
    net.zero_grad()
    loss(net(x), residuals).backward()
    torch.testing.assert_close(tripled, 3 * net.weight.grad)
    with torch.no_grad():
        assert not loss(net(x), residuals).requires_grad


def test_a_loss_cannot_be_differentiated_twice() -> None:
    loss = WidthLoss()
    parameters, residuals = batch(loss)
    (gradient,) = torch.autograd.grad(loss(parameters, residuals), parameters, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.sum().backward()


@pytest.mark.parametrize(("goal", "two_sided"), [("even", False), ("even", True), ("narrow", False)])
def test_a_net_learns_where_errors_are_large_and_intervals_are_valid(goal: str, two_sided: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    x = 4 * torch.rand(6000, 1, generator=generator)
    noise = torch.randn(6000, generator=generator)
    residuals = (0.1 + x[:, 0]) * torch.where(noise > 0, noise, 0.3 * noise) * 20
    fit, calibrate, new = slice(0, 1500), slice(1500, 2500), slice(2500, 6000)
    loss = WidthLoss(goal, two_sided=two_sided, unit=residuals[fit].abs().mean())
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, loss.parameter_count))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    first = loss(net(x[fit]), residuals[fit]).item()
    for _ in range(150):
        optimiser.zero_grad()
        loss(net(x[fit]), residuals[fit]).backward()
        optimiser.step()
    with torch.no_grad():
        assert loss(net(x[fit]), residuals[fit]).item() < first - 0.1
        calibration = Calibration().add(
            loss.scores(net(x[calibrate]), residuals[calibrate]), above=residuals[calibrate] > 0
        )
        lower, upper = loss.half_widths(net(x[new]), [calibration.quantile(0.8), calibration.quantile(0.9)])
    assert lower.shape == upper.shape == (3500, 2)
    inside = (-lower <= residuals[new, None]) & (residuals[new, None] <= upper)
    # 1000 and 3500 rows: five standard deviations.
    for covered, level in zip(inside.double().mean(0), [0.8, 0.9], strict=True):
        assert abs(covered - level) < 5 * np.sqrt(level * (1 - level) * (1 / 1000 + 1 / 3500))
    hard = x[new, 0] > 3
    assert upper[hard, 1].mean() > 2 * upper[x[new, 0] < 1, 1].mean()
    if two_sided:
        assert upper[hard, 1].mean() > 2 * lower[hard, 1].mean()
    else:
        assert torch.equal(lower, upper)


@pytest.mark.parametrize(("goal", "two_sided"), [("even", False), ("even", True), ("narrow", False), ("narrow", True)])
def test_scores_and_half_widths_are_those_of_a_localizer(goal: str, two_sided: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (400, 2))
    y_pred = X[:, 0]
    y = y_pred + 50 * X[:, 0] * rng.normal(size=400)
    transform = "exp" if goal == "even" else "auto"
    localizer = Localizer(goal=goal, score_transform=transform, two_sided=two_sided, n_jobs=1)
    localizer.fit(X[:200], y[:200], y_pred[:200])
    parameters = localizer.parameters(X, y_pred)
    loss = WidthLoss(goal, two_sided=two_sided, unit=localizer._model.unit)
    scores = loss.scores(parameters, y - y_pred)
    assert isinstance(scores, np.ndarray)
    np.testing.assert_array_equal(scores, localizer.scores(X, y, y_pred))
    q = np.quantile(scores, [0.5, 0.9])
    lower, upper = loss.half_widths(parameters, q)
    for ours, theirs in zip((lower, upper), localizer.half_widths(X, y_pred, q), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # The inverse of a score is at least its residual.
    lower, upper = loss.half_widths(parameters, scores[:, None])
    assert ((-lower[:, 0] <= y - y_pred) & (y - y_pred <= upper[:, 0])).all()


def test_tensors_in_tensors_out() -> None:
    loss = WidthLoss(two_sided=True)
    parameters, residuals = batch(loss, 9, dtype=torch.float32)
    scores = loss.scores(parameters, residuals)
    assert isinstance(scores, torch.Tensor)
    assert scores.dtype == torch.float64
    assert scores.shape == (9,)
    assert not scores.requires_grad
    for q, shape in ((1.5, (9,)), ([1.0, 2.0], (9, 2)), (torch.ones(9, 3), (9, 3)), (torch.tensor(2.0), (9,))):
        lower, upper = loss.half_widths(parameters, q)
        assert lower.shape == upper.shape == shape
        assert isinstance(lower, torch.Tensor)
        assert isinstance(upper, torch.Tensor)


@pytest.mark.parametrize("transform", ["exp", "linear", "affine", "density", "spline", "mixture"])
def test_rows_without_a_finite_bound_have_infinite_intervals(transform: str) -> None:
    loss = WidthLoss(None, transform)
    parameters, _ = batch(loss, 4)
    parameters = parameters.detach()
    lower, upper = loss.half_widths(parameters, Calibration().add([1.0, 2.0]).quantile(0.9))
    assert torch.isinf(lower).all()
    assert torch.isinf(upper).all()
    parameters[1, 0] = torch.nan
    lower, _ = loss.half_widths(parameters, 1.0)
    assert torch.isinf(lower[1])
    assert torch.isfinite(lower[[0, 2, 3]]).all()
    residuals = torch.tensor([1.0, 1.0, torch.nan, 1.0])
    assert torch.isnan(loss.scores(parameters, residuals)).tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match="NaN|nan|finite"):
        Calibration().add(loss.scores(parameters, residuals))


def test_a_unit_divides_residuals_by_a_power_of_two() -> None:
    loss, plain = WidthLoss("narrow", unit=100.0), WidthLoss("narrow")
    assert loss.unit == 128
    parameters, residuals = batch(loss)
    assert loss(parameters, residuals).item() == plain(parameters, residuals / 128).item()
    assert torch.equal(loss.scores(parameters, residuals), plain.scores(parameters, residuals / 128))
    lower, _ = loss.half_widths(parameters, 2.0)
    assert torch.equal(lower, 128 * plain.half_widths(parameters, 2.0)[0])


def test_a_loss_can_be_pickled_copied_and_saved() -> None:
    loss = WidthLoss(0.5, two_sided=True, level_window=(0.8, 0.95), unit=4)
    parameters, residuals = batch(loss)
    file = io.BytesIO()
    torch.save(loss, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss), torch.load(file, weights_only=False)):
        assert repr(other) == repr(loss)
        assert other(parameters, residuals).item() == loss(parameters, residuals).item()
    assert not loss.state_dict()


def test_errors_of_invalid_input_state_the_expected_shape() -> None:
    loss = WidthLoss("narrow", two_sided=True)
    parameters, residuals = batch(loss)
    with pytest.raises(ValueError, match=r"parameters are of shape \(7, 3\); expected \(n, 4\).*affine, two-sided"):
        loss(parameters[:, :3], residuals)
    with pytest.raises(ValueError, match=r"parameters are of shape \(7,\)"):
        loss.scores(parameters[:, 0], residuals)
    with pytest.raises(ValueError, match="parameters have 7 rows, residuals have 6"):
        loss(parameters, residuals[:6])
    with pytest.raises(ValueError, match="residuals has 2 dimensions"):
        loss(parameters, residuals - residuals[:, None])
    with pytest.raises(ValueError, match="parameters have 7 rows, weights have 3"):
        loss(parameters, residuals, torch.ones(3))
    with pytest.raises(ValueError, match=r"residuals require a gradient.*residuals.detach\(\)"):
        loss(parameters, residuals.requires_grad_())
    with pytest.raises(ValueError, match="unit is -1"):
        WidthLoss(unit=-1)
    with pytest.raises(ValueError, match="identity has no parameters"):
        WidthLoss(score_transform="identity")


def test_the_package_finds_the_module() -> None:
    assert widthwise.torch.WidthLoss is WidthLoss
