"""Adam, Muon, and the learning rate of Vaswani et al. 2017, section 5.3; the average of weights.

The rate is a function of the step: nothing to save, prepare or tick.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import TrainConfig

PAPERS_WARMUP = 4000  # steps


def learning_rate(step: int, d_model: int, config: TrainConfig) -> float:
    """lr_scale x d_model^-0.5 x min(step^-0.5, step x warmup^-1.5); steps count from 1 (eq. 3).

    `learning_rate`, where it is not 0, is the rate at the end of the warm-up in the place of the
    paper's; with the other schedules it stays there. Over the last `cooldown` of `max_steps` it
    falls on a straight line towards zero, which it would reach one step after the last.
    """
    warmup, cooldown = config.warmup or PAPERS_WARMUP, config.cooldown
    left = max(0.0, min(1.0, (config.max_steps + 1 - step) / cooldown)) if cooldown else 1.0
    factor = config.learning_rate * warmup**0.5 or d_model**-0.5
    later = warmup**-0.5 if config.schedule in ("constant", "wsd") else step**-0.5
    return float(config.lr_scale * left * factor * min(later, step * warmup**-1.5))


def adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Adam:
    """Adam with beta 0.9 and 0.98 and epsilon 1e-9; the rate is set before each step."""
    return torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)


def orthogonal(matrices: Tensor, steps: int = 5, products: torch.dtype = torch.float32) -> Tensor:
    """About U V^T of each matrix U S V^T: (..., M, N) -> (..., M, N), singular values near 1.

    An iteration of Newton and Schulz with the coefficients of Jordan et al. 2024 ("Muon"), with
    matrix products in a type that the machine is fast in: it bears the rounding of bfloat16.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = (x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)).to(products)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if tall else x).to(matrices.dtype)


class Muon(torch.optim.Adam):
    """Muon (Jordan et al. 2024) for the matrices of linear layers, Adam for everything else.

    A matrix moves along its momentum made orthogonal: all directions by the same amount, those
    too that its gradient seldom shows. The factor 0.2 sqrt(max(M, N)) gives it steps as large
    as Adam's, so that both share one rate (Liu et al. 2025, section 2.2). Same moments, by the
    same names, as Adam; a matrix has only the first.
    """

    MOMENTUM = 0.95

    def __init__(self, model: nn.Module, products: torch.dtype = torch.float32) -> None:
        """`products`: the type of the matrix products that make a momentum orthogonal."""
        super().__init__(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self._products = products
        self._matrices: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for module in model.modules():
            if isinstance(module, nn.Linear):
                self._matrices[module.weight.shape].append(module.weight)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """One step; afterwards the gradients of the matrices are gone."""
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
            change = orthogonal(ahead, products=self._products)
            torch._foreach_add_(moved, list(change), alpha=-rate * 0.2 * math.sqrt(max(shape)))
            for matrix in moved:
                matrix.grad = None  # Adam passes them over
        return super().step(closure)


def optimizer(name: str, model: nn.Module, precision: str = "no") -> torch.optim.Optimizer:
    """ "adam" or "muon" over a model's parameters, "bf16" where products are bfloat16's."""
    products = torch.bfloat16 if precision == "bf16" else torch.float32
    return Muon(model, products) if name == "muon" else adam(model.parameters())


@torch.no_grad()
def move_average(averaged: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Moves an exponential average on to the weights of a step; 0 follows them at once.

    At the start the decay is smaller, step / (step + 9): the first weights are soon forgotten.
    """
    decay = min(decay, step / (step + 9))
    old: list[Tensor] = list(averaged.parameters())
    new: list[Tensor] = list(model.parameters())
    torch._foreach_lerp_(old, new, 1.0 - decay)
