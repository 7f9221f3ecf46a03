"""Adam and the learning rate of Vaswani et al. 2017, section 5.3; the average of the weights.

The rate is a function of the step: nothing to save, prepare or tick.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def learning_rate(step: int, d_model: int, warmup: int, scale: float = 1.0) -> float:
    """scale x d_model^-0.5 x min(step^-0.5, step x warmup^-1.5); steps count from 1 (eq. 3)."""
    if step < 1:
        raise ValueError(f"expected a step >= 1, got {step}")
    return float(scale * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Adam:
    """Adam with beta 0.9 and 0.98 and epsilon 1e-9; the rate is set before each step."""
    return torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)


@torch.no_grad()
def move_average(averaged: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Moves an exponential average on to the weights of a step; 0 follows them at once.

    At the start the decay is smaller, step / (step + 9): the first weights are soon forgotten.
    """
    decay = min(decay, step / (step + 9))
    old: list[Tensor] = list(averaged.parameters())
    new: list[Tensor] = list(model.parameters())
    torch._foreach_lerp_(old, new, 1.0 - decay)
