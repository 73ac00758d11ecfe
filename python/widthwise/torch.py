"""Train a PyTorch network as a localizer.

The network outputs the parameters of a score transform for each row. `WidthLoss` computes from these and the residuals
of a model the log of the mean width of the resulting intervals, with exact gradients. After training it converts
parameters to scores for calibration, and calibrated scores to half-widths:

>>> import torch
>>> from widthwise import Calibration
>>> from widthwise.torch import WidthLoss
>>> _ = torch.manual_seed(0)
>>> x = 4 * torch.rand(3000, 1)
>>> y = x[:, 0] + 0.2 * x[:, 0] * torch.randn(3000)
>>> y_pred = x[:, 0]                                        # of a model that has not seen these rows
>>> residuals = y - y_pred
>>> fit, calibrate, new = slice(0, 1500), slice(1500, 2000), slice(2000, 3000)
>>> loss = WidthLoss("even", unit=residuals[fit].abs().mean())
>>> net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, loss.parameter_count))
>>> optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
>>> for _ in range(100):
...     optimiser.zero_grad()
...     loss(net(x[fit]), residuals[fit]).backward()
...     _ = optimiser.step()

Calibrate with rows that neither the model nor the network has seen, and predict:

>>> with torch.no_grad():
...     calibration = Calibration().add(loss.scores(net(x[calibrate]), residuals[calibrate]))
...     lower, upper = loss.half_widths(net(x[new]), calibration.quantile(0.9))
>>> inside = (y_pred[new] - lower <= y[new]) & (y[new] <= y_pred[new] + upper)
>>> bool(0.87 < inside.double().mean() < 0.93)
True
>>> bool(2 < upper[x[new, 0] > 3.5].mean() / upper[(x[new, 0] - 1).abs() < 0.5].mean() < 5)
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as error:
    raise ImportError("widthwise.torch needs PyTorch: pip install torch") from error

from . import _core, _tables
from ._docs import with_shared
from ._objective import HasObjective
from ._tables import Floats

__all__ = ["ErrorLoss", "WidthLoss"]

Numbers: TypeAlias = "torch.Tensor | NDArray[Any]"


@with_shared
class WidthLoss(HasObjective, torch.nn.Module):
    """Log of the mean half-width of the intervals, as a loss for a network that outputs transform parameters.

    The loss depends on all rows of a batch together, as calibration does: use batches of at least some hundred rows.
    Gradients are computed in double precision on the CPU for parameters of any dtype and device, and cannot be
    differentiated again.

    Parameters
    ----------
    {objective}
    unit : float, optional
        Scale of the residuals, such as their mean absolute value; residuals are divided by the nearest power of two.
        Networks train best with residuals of about 1. By default residuals are not scaled.

    Attributes
    ----------
    goal, score_transform : str
        Names, "auto" resolved.
    two_sided : bool
    parameter_count : int
        P, the number of outputs of the network.
    unit : float

    Examples
    --------
    >>> import torch
    >>> from widthwise.torch import WidthLoss
    >>> loss = WidthLoss("narrow")
    >>> loss
    WidthLoss(goal='narrow', score_transform='affine', two_sided=False, unit=1)
    >>> parameters = torch.zeros(5, loss.parameter_count, requires_grad=True)
    >>> value = loss(parameters, torch.tensor([-2.0, -1.0, 0.5, 1.0, 3.0]))
    >>> value.backward()
    >>> f"{value:.4f}", tuple(parameters.grad.shape)            # log of the mean residual: constant width so far
    ('0.4055', (5, 2))
    """

    unit: float
    _default_unit = 1.0

    def forward(self, parameters: torch.Tensor, residuals: Numbers, weights: Numbers | None = None) -> torch.Tensor:
        """Compute the loss of a batch.

        Parameters
        ----------
        parameters : tensor of shape (n, P)
            Outputs of the network, of any float dtype and on any device.
        residuals : tensor or array of shape (n,)
            y - f(x) of a model that was not trained on the rows.
        weights : tensor or array of shape (n,), optional
            Weight of each row.

        Returns
        -------
        tensor of shape ()
            Of the dtype and on the device of `parameters`.
        """
        for name, values in (("residuals", residuals), ("weights", weights)):
            if isinstance(values, torch.Tensor) and values.requires_grad:
                raise ValueError(f"{name} require a gradient, which this loss does not provide; pass {name}.detach()")
        n = self._checked(parameters).shape[0]
        loss: torch.Tensor = _Width.apply(  # type: ignore[no-untyped-call]
            parameters,
            _column(residuals, "residuals", n) / self.unit,
            None if weights is None else _column(weights, "weights", n),
            self._objective.core,
        )
        return loss

    def scores(self, parameters: Numbers, residuals: Numbers) -> Any:
        """Compute the transformed scores of rows, for a `widthwise.Calibration`.

        Parameters
        ----------
        parameters : tensor or array of shape (n, P)
        residuals : tensor or array of shape (n,)
            y - f(x) of rows that no model was fitted on.

        Returns
        -------
        tensor or array of shape (n,)
            In double precision; a tensor on the same device if `parameters` is a tensor.
        """
        p = _array(self._checked(parameters))
        return _like(parameters, self._objective.core.scores(_column(residuals, "residuals", len(p)) / self.unit, p))

    def half_widths(self, parameters: Numbers, scores: ArrayLike) -> tuple[Any, Any]:
        """Compute the distances from the prediction to the lower and upper bounds for calibrated scores.

        Parameters
        ----------
        parameters : tensor or array of shape (n, P)
        scores : float, or array-like of shape (m,) or (n, m)
            Result of `Calibration.quantile`: one score or m scores for all rows, or m scores per row.

        Returns
        -------
        lower, upper : tensors or arrays of shape (n,), or (n, m) for more than one score
            In double precision; tensors on the same device if `parameters` is a tensor. Non-negative; equal if the loss
            is symmetric; infinite for rows with a NaN parameter.
        """
        p = _array(self._checked(parameters))
        q = _array(scores)
        matrix = np.ascontiguousarray(np.broadcast_to(q, (len(p), q.shape[-1] if q.ndim else 1)))
        lower, upper = (self.unit * side for side in self._objective.core.half_widths(matrix, p))
        if not q.ndim:
            lower, upper = lower[:, 0], upper[:, 0]
        return _like(parameters, lower), _like(parameters, upper)

    def extra_repr(self) -> str:
        return f"{self._objective!r}, unit={self.unit:g}"

    def _checked(self, parameters: Numbers) -> Numbers:
        if parameters.ndim != 2 or parameters.shape[1] != self.parameter_count:
            raise ValueError(
                f"parameters are of shape {tuple(parameters.shape)}; expected (n, {self.parameter_count}) for the "
                f"transform {self.score_transform}{', two-sided' if self.two_sided else ''}"
            )
        return parameters


class ErrorLoss(WidthLoss):
    """Mean of (g(x)² - r²)², as a loss for a network with one output g(x) that is fitted to the errors themselves.

    This is the error fit of locally adaptive conformal prediction (error re-weighted conformal prediction, ERC), to
    compare `WidthLoss` with. The network is used with the transform erc, which divides the squared error by
    g(x)² + gamma. At g(x) = 0 the gradient is 0: let the network start near 1, with residuals of about 1.

    Parameters
    ----------
    unit : float, optional
        Scale of the residuals, as in `WidthLoss`.
    score_options : dict, optional
        ``gamma`` of the transform; docs/options.md describes it.

    Examples
    --------
    >>> import torch
    >>> from widthwise.torch import ErrorLoss
    >>> loss = ErrorLoss()
    >>> float(loss(torch.tensor([[1.0], [2.0]]), torch.tensor([-1.0, 1.0])))        # the mean of 0 and (4 - 1)²
    4.5
    >>> loss.score_transform
    'erc'
    """

    def __init__(self, *, unit: float | None = None, score_options: Mapping[str, Any] | None = None) -> None:
        super().__init__(0.0, "erc", unit=unit, score_options=score_options)

    def forward(self, parameters: torch.Tensor, residuals: Numbers, weights: Numbers | None = None) -> torch.Tensor:
        """Compute the loss of a batch; the parameters are those of `WidthLoss`."""
        self._checked(parameters)
        g = parameters[:, 0]
        r = torch.as_tensor(_column(residuals, "residuals", len(g)) / self.unit).to(g)
        errors = (g**2 - r**2) ** 2
        if weights is None:
            return errors.mean()
        shares = torch.as_tensor(_column(weights, "weights", len(g))).to(g)
        return (shares * errors).sum() / shares.sum()


class _Width(torch.autograd.Function):
    """Loss and gradient, computed by C++."""

    @staticmethod
    def forward(
        ctx: Any, parameters: torch.Tensor, residuals: Floats, weights: Floats | None, core: _core.WidthObjective
    ) -> torch.Tensor:
        wanted = bool(ctx.needs_input_grad[0])
        loss, gradient, _ = core.evaluate(residuals, _array(parameters), weights, wanted, False)
        if wanted:
            ctx.save_for_backward(torch.from_numpy(gradient).to(parameters))
        return parameters.new_tensor(loss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return outer * gradient, None, None, None


def _array(values: Any) -> Floats:
    """Double-precision array that C++ can read."""
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    return np.asarray(values, dtype=np.float64, order="C")


def _column(values: Any, name: str, rows: int) -> Floats:
    column = _tables.numbers(_array(values), name)
    if len(column) != rows:
        raise ValueError(f"parameters have {_core.count_of(rows, 'row')}, {name} have {len(column)}")
    return column


def _like(parameters: Numbers, values: Floats) -> Any:
    """Return the array, or a tensor on the device of the parameters."""
    return torch.from_numpy(values).to(parameters.device) if isinstance(parameters, torch.Tensor) else values
