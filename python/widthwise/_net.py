"""PyTorch as the engine of nets. C++ runs the training procedure (src/train/engines/net) and calls this module."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

try:
    import torch
except ImportError as error:
    raise ImportError("training a net needs PyTorch: pip install torch; or use localizer='trees'") from error

Floats32 = NDArray[np.float32]


def version() -> str:
    """Name and version of the engine, for the notes of a model file."""
    return f"torch {torch.__version__}"


class NetEngine:
    """The layers of a net during training, as `internal::NetEngine` of C++ describes them.

    Parameters
    ----------
    tensors : list of arrays
        Weights and biases, layer by layer.
    learning_rate, weight_decay, clip : float
        Options of the net.
    threads : int
        Number of threads until `close`.
    """

    def __init__(
        self, tensors: list[Floats32], learning_rate: float, weight_decay: float, clip: float, threads: int
    ) -> None:
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)  # C++ restores the mode
        with torch.inference_mode(False):
            self._tensors = [torch.from_numpy(tensor).requires_grad_() for tensor in tensors]
        self._optimiser = torch.optim.AdamW(
            self._tensors, lr=learning_rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=weight_decay, fused=True
        )
        self._learning_rate = learning_rate
        self._clip = clip

    def close(self) -> None:
        """Restore the number of threads."""
        torch.set_num_threads(self._threads_before)

    def forward(self, x: Floats32) -> Floats32:
        """Outputs of standardised rows, for the next `step`."""
        with torch.inference_mode(False), torch.enable_grad():
            self._outputs = self._layers(torch.from_numpy(x))
        outputs: Floats32 = self._outputs.detach().numpy()
        return outputs

    def step(self, gradient: NDArray[np.float64], rate_share: float) -> bool:
        """Take one step from the gradient with respect to the outputs; False without a step if it is not finite."""
        with torch.inference_mode(False):
            gradients = torch.autograd.grad(self._outputs, self._tensors, torch.from_numpy(gradient).float())
            norm = math.sqrt(sum(size.item() ** 2 for size in torch._foreach_norm(gradients)))
            if not math.isfinite(norm):
                return False
            for tensor, slope in zip(self._tensors, gradients, strict=True):
                tensor.grad = slope.mul_(self._clip / norm) if norm > self._clip else slope
            self._optimiser.param_groups[0]["lr"] = self._learning_rate * rate_share
            self._optimiser.step()
        return True

    def evaluate(self, x: Floats32) -> Floats32:
        """Outputs of standardised rows."""
        with torch.no_grad():
            outputs: Floats32 = self._layers(torch.from_numpy(x)).numpy()
        return outputs

    def tensors(self) -> list[Floats32]:
        """Weights and biases, layer by layer."""
        return [tensor.detach().numpy() for tensor in self._tensors]

    def _layers(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(0, len(self._tensors), 2):
            x = torch.nn.functional.linear(x, self._tensors[i], self._tensors[i + 1])
            if i + 2 < len(self._tensors):
                x = torch.relu_(x)
        return x
