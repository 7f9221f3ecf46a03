"""Adam, Muon, the learning rate of Vaswani et al. 2017, section 5.3, and the average of weights.

The rate is a function of the step, not a scheduler with a state to save.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import TrainConfig

PAPER_WARMUP = 4000  # steps


def learning_rate(step: int, d_model: int, config: TrainConfig) -> float:
    """Return the learning rate of a step; steps count from 1.

    It is lr_scale x d_model^-0.5 x min(step^-0.5, step x warmup^-1.5) (eq. 3). A `learning_rate`
    other than 0 replaces the paper's rate at the end of the warm-up; with the schedules "constant"
    and "wsd" the rate then stays the same, with "paper" it decays. In the last `cooldown` steps of
    `max_steps`, if set, it falls linearly, so that it would be zero one step after the last.
    """
    warmup, cooldown = config.warmup or PAPER_WARMUP, config.cooldown
    left = max(0.0, min(1.0, (config.max_steps + 1 - step) / cooldown)) if cooldown else 1.0
    factor = config.learning_rate * warmup**0.5 or d_model**-0.5
    later = warmup**-0.5 if config.schedule in ("constant", "wsd") else step**-0.5
    return float(config.lr_scale * left * factor * min(later, step * warmup**-1.5))


def adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Adam:
    """Return Adam with betas 0.9 and 0.98 and epsilon 1e-9; the rate is set before each step."""
    return torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)


# The odd polynomial a x + b x^3 + c x^5 of each step is the one nearest to 1 on the interval
# that the previous step leaves: [0.003, 1] at first, [0.80, 1.20] at the end (Amsel et al. 2025,
# "The Polar Express").
POLYNOMIALS = (
    (8.3837, -24.7659, 18.3571),
    (4.0434, -3.0114, 0.5695),
    (3.5056, -2.6267, 0.5257),
    (2.4901, -1.8343, 0.4368),
)


def orthogonalize(matrices: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return approximately U V^T for each matrix U S V^T: (..., M, N) -> (..., M, N).

    Newton-Schulz iteration (Jordan et al. 2024, "Muon"). The original takes five steps with one
    polynomial; a polynomial of its own for each step makes four enough. `dtype` is the type of the
    matrix products; the rounding of bfloat16 does no harm.
    """
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = (x * (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7).reciprocal()).to(dtype)
    x = x.reshape(-1, *x.shape[-2:])
    for a, b, c in POLYNOMIALS:
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(matrices.dtype).view_as(matrices)


class Muon(torch.optim.Adam):
    """Muon (Jordan et al. 2024) for the matrices of linear layers, Adam for everything else.

    A matrix moves along its orthogonalized momentum, by the same amount in all directions, even
    those that are rare in its gradient. The factor 0.2 sqrt(max(M, N)) makes the steps as large as
    Adam's, so that both share one learning rate (Liu et al. 2025, section 2.2). The moments have
    the same names as Adam's; a matrix has only the first moment.
    """

    MOMENTUM = 0.95

    def __init__(self, model: nn.Module, dtype: torch.dtype = torch.float32) -> None:
        """Optimise a model; `dtype` is that of the matrix products that orthogonalize momenta."""
        super().__init__(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self._dtype = dtype
        self._matrices: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for module in model.modules():
            if isinstance(module, nn.Linear):
                self._matrices[module.weight.shape].append(module.weight)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Update all parameters; the gradients of the matrices are None afterwards."""
        rate = self.param_groups[0]["lr"]
        for shape, matrices in self._matrices.items():
            moved = [matrix for matrix in matrices if matrix.grad is not None]
            if not moved:
                continue
            gradients = torch.stack([matrix.grad for matrix in moved if matrix.grad is not None])
            momenta = [
                self.state[matrix].setdefault("exp_avg", torch.zeros_like(matrix))
                for matrix in moved
            ]
            torch._foreach_lerp_(momenta, list(gradients), 1 - self.MOMENTUM)
            ahead = torch.stack(momenta).lerp_(gradients, 1 - self.MOMENTUM)  # Nesterov's
            change = orthogonalize(ahead, dtype=self._dtype)
            torch._foreach_add_(moved, list(change), alpha=-rate * 0.2 * math.sqrt(max(shape)))
            for matrix in moved:
                matrix.grad = None  # so that Adam skips them
        return super().step(closure)


def make_optimizer(name: str, model: nn.Module, precision: str = "no") -> torch.optim.Optimizer:
    """Return the optimiser "adam" or "muon" of a model trained in precision "no" or "bf16"."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    return Muon(model, dtype) if name == "muon" else adam(model.parameters())


@torch.no_grad()
def update_average(averaged: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Update the exponential moving average of the weights; with decay 0 it is a copy of them.

    In the first steps the decay is only step / (step + 9), so that the initial weights count less.
    """
    decay = min(decay, step / (step + 9))
    old: list[Tensor] = list(averaged.parameters())
    new: list[Tensor] = list(model.parameters())
    torch._foreach_lerp_(old, new, 1.0 - decay)
