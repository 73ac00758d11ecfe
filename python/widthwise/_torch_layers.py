"""Read the layers of a PyTorch network as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from . import _tables
from ._tables import Floats

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weights (outputs, inputs), biases (outputs,)

_MAX_INPUT = 1e6  # the largest bound on inputs that a dense net takes

_IGNORED = (torch.nn.Identity, torch.nn.Dropout, torch.nn.AlphaDropout)
_SUPPORTED = "Linear, ReLU, BatchNorm1d, Dropout and Identity"


class _Affine:
    """Composition of the affine maps since the last ReLU, in double precision."""

    def __init__(self, weights: Floats, biases: Floats) -> None:
        self.weights, self.biases = weights, biases

    @property
    def outputs(self) -> int:
        return len(self.biases)

    def then(self, weights: Floats, biases: Floats) -> _Affine:
        return _Affine(weights @ self.weights, weights @ self.biases + biases)

    def layer(self) -> Layer:
        return self.weights.astype(np.float32, order="C"), self.biases.astype(np.float32)


class Net(NamedTuple):
    """A network with the standardisation of its inputs, as `_core.Model.from_net` takes them."""

    layers: list[Layer]
    centre: Floats
    scale: Floats
    bound: float


def net_of(
    module: torch.nn.Module, centre: ArrayLike | None, scale: ArrayLike | None, *, inputs: int, outputs: int
) -> Net:
    """Read a network of `inputs` inputs, or one more if the prediction is the last.

    Raise ValueError for a network of another kind or shape.
    """
    layers = _layers_of(module)
    _check(layers, inputs, outputs)
    taken = layers[0][0].shape[1]
    centres = _standardisation("centre", centre, 0.0, taken)
    scales = _standardisation("scale", scale, 1.0, taken)
    if not (scales > 0).all():
        raise ValueError("scale contains a number that is not positive")
    if taken == inputs:  # the weights of the prediction are 0
        layers[0] = (np.pad(layers[0][0], ((0, 0), (0, 1))), layers[0][1])
        centres, scales = np.append(centres, 0.0), np.append(scales, 1.0)
    return Net(layers, centres, scales, _MAX_INPUT)


def _standardisation(name: str, values: ArrayLike | None, neutral: float, inputs: int) -> Floats:
    if values is None:
        return np.full(inputs, neutral)
    numbers = _tables.floats(values, name)
    if numbers.shape != (inputs,) or not np.isfinite(numbers).all():
        raise ValueError(f"{name} is of shape {numbers.shape}; expected {inputs} finite numbers, one per input")
    return numbers


def _layers_of(module: torch.nn.Module) -> list[Layer]:
    """The layers of a sequential network, with ReLU between them."""
    layers: list[Layer] = []
    pending: _Affine | None = None
    for name, part in _parts(module):
        if isinstance(part, torch.nn.ReLU):
            if pending is None:
                raise ValueError(f"{name} follows no Linear layer")
            layers.append(pending.layer())
            pending = None
            continue
        weights, biases = _affine_of(name, part)
        before = pending.outputs if pending else len(layers[-1][1]) if layers else weights.shape[1]
        if weights.shape[1] != before:
            raise ValueError(f"{name} has {weights.shape[1]} inputs; the layer before it has {before} outputs")
        pending = pending.then(weights, biases) if pending else _Affine(weights, biases)
    if pending is None:
        raise ValueError("module does not end with a Linear layer; parameters of a transform may be negative")
    return [*layers, pending.layer()]


def _parts(module: torch.nn.Module, name: str = "module") -> Iterator[tuple[str, torch.nn.Module]]:
    """The layers of a network in order, with names for messages."""
    if isinstance(module, torch.nn.Sequential):
        for number, child in module.named_children():
            yield from _parts(child, f"{name}[{number}]")
    elif not isinstance(module, _IGNORED):
        yield f"{name} ({type(module).__name__})", module


def _affine_of(name: str, part: torch.nn.Module) -> tuple[Floats, Floats]:
    """Weights and biases of a layer that evaluates an affine map."""
    if type(part) is torch.nn.Linear:
        weights = _doubles(part.weight)
        return weights, np.zeros(len(weights)) if part.bias is None else _doubles(part.bias)
    if type(part) is torch.nn.BatchNorm1d:
        if part.running_mean is None or part.running_var is None:
            raise ValueError(f"{name} has no running statistics; train with track_running_stats=True")
        factor = 1 / np.sqrt(_doubles(part.running_var) + part.eps)
        factor *= 1 if part.weight is None else _doubles(part.weight)
        shift = -_doubles(part.running_mean) * factor
        return np.diag(factor), shift if part.bias is None else shift + _doubles(part.bias)
    raise ValueError(f"{name} is not supported; expected a Sequential of {_SUPPORTED}")


def _doubles(tensor: torch.Tensor) -> Floats:
    return tensor.detach().to("cpu", torch.float64).numpy()


def _check(layers: list[Layer], inputs: int, outputs: int) -> None:
    found = layers[0][0].shape[1]
    if found not in (inputs, inputs + 1):
        raise ValueError(
            f"module has {found} inputs; expected {inputs}, the numbers of X, or {inputs + 1} with the prediction last"
        )
    if len(layers[-1][1]) != outputs:
        raise ValueError(
            f"module has {len(layers[-1][1])} outputs; expected {outputs}, one per parameter of the transform of the loss"
        )
    if not all(np.isfinite(numbers).all() for layer in layers for numbers in layer):
        raise ValueError("module has weights that are not finite")
