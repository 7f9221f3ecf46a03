"""Adam, Muon, the average of weights; the learning rate, and what a run settles for itself.

The rate (Vaswani et al. 2017, section 5.3) is a function of the step: nothing to save or tick.
Settings that were left open are noted in `run.json`, what depends on the pace of the machine in
the state of the run: decided once, so that a run goes on exactly as it would have.
"""

import dataclasses
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer.config import ModelConfig, TrainConfig
from transformer.corpus.prepare import PreparedCorpus
from transformer.training.run import TrainingState, limits_of, share_done

PAPERS_WARMUP = 4000  # steps
PROBE = 20  # steps whose pace tells how many a time limit allows
STEPS_OF_EPOCH = 600  # that batches of the automatic size make, within these sizes:
SMALLEST, LARGEST = 1024, 8192
BEFORE = {"schedule": "paper", "learning_rate": 0.0}  # of runs that do not note them
logger = logging.getLogger(__name__)


def papers_rate(d_model: int, warmup: int) -> float:
    """The highest rate of Vaswani et al. 2017, eq. 3: d_model^-0.5 x warmup^-0.5."""
    return float(d_model**-0.5 * warmup**-0.5)


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


def settled(
    config: TrainConfig,
    model: ModelConfig,
    data: PreparedCorpus,
    processes: int,
    noted: Mapping[str, Any] | None,
    goes_on: bool = False,
) -> TrainConfig:
    """The settings with those that were left open as the run noted them, or else by rule.

    The warm-up of a new run stays open: the limits and, maybe, the pace decide it. One that
    `goes_on` with a model has a lower rate.
    """
    values: Mapping[str, Any] = {**BEFORE, **(noted or {})}
    if noted is None:
        tokens = batch_tokens(data, processes * config.accumulate)
        values = {**_by_rule(config, model, 1 if goes_on else 3), "batch_tokens": tokens}
    changes: dict[str, Any] = {}
    for name in ("optimizer", "schedule", "learning_rate", "batch_tokens", "warmup"):
        given, value = getattr(config, name), values.get(name)
        if given in (0, "auto") and type(value) is type(given):
            changes[name] = value
    return dataclasses.replace(config, **changes)


def _by_rule(config: TrainConfig, model: ModelConfig, muons: int) -> dict[str, Any]:
    """Optimiser, schedule and highest rate, of Muon so many times that of the paper."""
    pre = model.norm == "pre"
    optimizer = {"auto": "muon" if pre else "adam"}.get(config.optimizer, config.optimizer)
    schedule = {"auto": "wsd" if pre else "paper"}.get(config.schedule, config.schedule)
    rate = papers_rate(model.d_model, PAPERS_WARMUP) * (muons if optimizer == "muon" else 1)
    rate = 0.0 if schedule == "paper" and config.warmup else float(f"{rate:.2g}")
    return {"optimizer": optimizer, "schedule": schedule, "learning_rate": rate}


def pieces_of_epoch(data: PreparedCorpus) -> int:
    """Source and target tokens of an epoch, special ones counted, padding not."""
    src, tgt = data.pairs.lengths
    counts, weights = zip(*data.sizes, strict=True)
    return round(float(np.repeat(weights, counts) @ (src + tgt)))


def batch_tokens(data: PreparedCorpus, group: int) -> int:
    """A budget that makes some hundred steps of an epoch even of a small corpus.

    Of a step's `group` micro-batches each; none below the longest pair.
    """
    wanted = pieces_of_epoch(data) // STEPS_OF_EPOCH // group // 256 * 256
    src, tgt = data.pairs.lengths
    return max(min(max(wanted, SMALLEST), LARGEST), int((src + tgt).max()))


def steps_allowed(state: TrainingState, config: TrainConfig, turns: int) -> int:
    """Optimiser steps that the nearest limit allows, by the pace so far; 0 for no limit.

    `turns`: the steps of an epoch.
    """
    counts = [float(config.max_steps), float(config.max_epochs * turns)]
    if config.max_minutes and state.step > 1:  # the time is that before the latest step
        counts.append(60 * config.max_minutes * (state.step - 1) / state.seconds)
    return round(min((count for count in counts if count), default=0))


def decided(state: TrainingState, config: TrainConfig, turns: int) -> TrainingState:
    """The state with what is to be decided before its next step, said as it is decided.

    The warm-up: before the first step or, of a time limit, after PROBE steps. Where the rate
    begins to fall, and ends: when the last `cooldown_ratio` of the nearest limit begins.
    """
    first = PROBE if config.max_minutes else 0
    is_open = not (config.warmup or state.warmup)
    if state.step == first or (state.step > first and is_open):
        state = _with_warmup(state, config, steps_allowed(state, config, turns))
    share, limits = share_done(state, config, turns), limits_of(config)
    ratio = config.cooldown_ratio if config.schedule == "wsd" and not config.cooldown else 0.0
    if ratio and state.step and share >= 1 - ratio and state.limits != limits:
        end = max(round(state.step / share), state.step + 1)
        state = dataclasses.replace(state, fall=state.step, end=end, limits=limits)
        logger.info("the rate falls to zero from step %d to %d", state.fall, end)
    return state


def _with_warmup(state: TrainingState, config: TrainConfig, allowed: int) -> TrainingState:
    warmup = config.warmup or state.warmup
    if not warmup:
        warmup = max(1, round(config.warmup_ratio * allowed)) if allowed else PAPERS_WARMUP
        state = dataclasses.replace(state, warmup=warmup)
    logger.info("warm-up: %s", f"{warmup:,} of {allowed:,} steps" if allowed else f"{warmup:,}")
    if 0 < allowed <= warmup:
        logger.warning(
            "this run would end inside its warm-up: the limits allow %d steps, the warm-up takes "
            "%d. Lower --warmup, or raise the limit", allowed, warmup
        )  # fmt: skip
    return state


def in_steps(state: TrainingState, config: TrainConfig, turns: int) -> TrainConfig:
    """The settings with warm-up and cooldown in steps, as they are decided.

    Until the pace is known the rate rises as if the warm-up were the shortest that fits PROBE.
    """
    warmup = config.warmup or state.warmup
    if not warmup:
        counted = steps_allowed(TrainingState(), config, turns)
        most = round(PROBE / config.warmup_ratio)
        warmup = max(1, min(most, round(config.warmup_ratio * counted) if counted else most))
    falls = config.schedule == "wsd" and not config.cooldown and state.limits == limits_of(config)
    changes: dict[str, Any] = {"warmup": warmup}
    if falls:
        changes |= {"max_steps": state.end, "cooldown": state.end - state.fall}
    return dataclasses.replace(config, **changes)
