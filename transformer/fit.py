"""`--batch-tokens auto`: how large a micro-batch is to be, found by trial steps on the device.

On a GPU it is the largest that fits: doubled until memory runs out, then halved in between, less
a margin. On a CPU larger is of no use beyond some size: it is the smallest that is about as fast
as the fastest, among those that fit into a share of the memory that is free. Nowhere does an
epoch get fewer than 100 steps. Knows batches and memory; not how a run goes on.
"""

import argparse
import copy
import dataclasses
import gc
import logging
import statistics
import time
from typing import Protocol

import numpy as np
import torch
from torch import nn

from transformer import optim
from transformer.batching import Indices
from transformer.config import ModelConfig, TrainConfig, UserError
from transformer.corpus import Prepared
from transformer.examples import micro_batch, seed_of
from transformer.launch import (
    Accelerator,
    attention_kernel,
    available_memory,
    keep_freed_memory,
    resident_memory,
)
from transformer.model import Transformer
from transformer.objective import LossModel

AUTO = "auto"
LEAST = 1024  # tokens of a micro-batch that are worth a trial
MOST_ON_CPU, MOST_ON_GPU = 2**15, 2**19  # the latter: Ott et al. 2018 train well with as many
STEPS_OF_EPOCH = 100  # that it should have at least
SHARE = 0.7  # of the free memory of a CPU that may be used
MARGIN = 0.9  # of what just fitted on a GPU, for what trials do not show: fragments, validation
ENOUGH = 0.97  # of the best speed
UNIT = 256  # tokens that the number found is a multiple of

logger = logging.getLogger(__name__)


class Tries(Protocol):
    """What tries a budget out."""

    def fits(self, budget: int) -> bool:
        """Whether steps with the most demanding batches of this budget stay within memory."""

    def speed(self, budget: int) -> float:
        """Target tokens a second with usual batches."""


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """Between which numbers of tokens to look; the least is that of the longest pair."""

    least: int
    most: int


def budget(text: str) -> int | None:
    """The value of the flag: a number, or None for `auto`."""
    return None if text == AUTO else int(text)


def add_flag(parser: argparse.ArgumentParser) -> None:
    """--batch-tokens with its own default and help, and the word auto."""
    field = next(f for f in dataclasses.fields(TrainConfig) if f.name == "batch_tokens")
    shown = f"{field.metadata['help']}, or auto: found by trial steps (default: {field.default})"
    parser.add_argument("--batch-tokens", type=budget, default=field.default, metavar="N|auto",
                        help=shown)  # fmt: skip


def range_of(lengths: tuple[Indices, Indices], n_epoch: float, most: int, group: int) -> Range:
    """What may be tried: pairs of `lengths`, so many in an epoch, `group` batches in a step."""
    totals = lengths[0] + lengths[1]
    longest = int(totals.max())
    of_corpus = float(totals.mean()) * n_epoch / (STEPS_OF_EPOCH * group)
    least = _up(max(longest, min(LEAST, int(of_corpus))))
    return Range(least, max(least, min(most, int(of_corpus) // UNIT * UNIT)))


def _up(number: int) -> int:
    return -(-number // UNIT) * UNIT


def largest(trial: Tries, limits: Range) -> int:
    """The largest budget that fits, less the margin; 0 where none does."""
    if not trial.fits(limits.least):
        return 0
    good, bad = limits.least, 0
    while not bad and good < limits.most:
        following = min(2 * good, limits.most)
        if trial.fits(following):
            good = following
        else:
            bad = following
    while bad - good > max(UNIT, good // 16):
        middle = (good + bad) // 2 // UNIT * UNIT
        if middle <= good:
            break
        if trial.fits(middle):
            good = middle
        else:
            bad = middle
    return max(limits.least, int(MARGIN * good) // UNIT * UNIT) if bad else good


def fastest(trial: Tries, limits: Range) -> int:
    """The smallest budget that is about as fast as the best of those that fit; 0: none fits.

    Doubles, and ends where two sizes in a row were no faster than the best before.
    """
    speeds: dict[int, float] = {}
    size, idle = limits.least, 0
    while idle < 2 and size not in speeds and trial.fits(size):
        best = max(speeds.values(), default=0.0)
        speeds[size] = trial.speed(size)
        idle = idle + 1 if speeds[size] * ENOUGH <= best else 0
        size = min(2 * size, limits.most)
    if not speeds:
        return 0
    enough = ENOUGH * max(speeds.values())
    return min(size for size, speed in speeds.items() if speed >= enough)


class Trial:
    """Steps of a model that is thrown away, on real batches, with all that training holds."""

    def __init__(
        self,
        model: ModelConfig,
        config: TrainConfig,
        data: Prepared,
        accelerator: Accelerator,
        limit: float | None = None,
    ) -> None:
        """`limit`: bytes that may be added to what is in use; None: until the device refuses."""
        self.config, self.data, self.accelerator, self.limit = config, data, accelerator, limit
        self.device, self.max_len = accelerator.device, model.max_len
        self._before = resident_memory()
        self._used: dict[int, int] = {}  # bytes more than before, by the budget
        network = Transformer(model).to(self.device)
        self.loss_model = LossModel(network, config)
        self.optimizer = optim.optimizer(config.optimizer, network, accelerator.mixed_precision)
        self._averaged = copy.deepcopy(network)
        # The processes' exchange holds a copy of the gradients.
        n_copies = int(accelerator.num_processes > 1)
        self._held = [torch.zeros_like(p) for p in network.parameters() for _ in range(n_copies)]
        src, tgt = data.pairs.lengths
        self._orders = {
            "longest": np.argsort(-(src + tgt), kind="stable"),
            "source": np.lexsort((-tgt, -src)),
            "target": np.lexsort((-src, -tgt)),
            "usual": np.lexsort((src, tgt)),
        }

    def rows(self, kind: str, size: int, start: float = 0.0) -> Indices:
        """Consecutive pairs of an order that fill a budget, from a part of the way on."""
        src, tgt = self.data.pairs.lengths
        order = self._orders[kind]
        order = order[int(start * len(order)) :]
        wide = np.maximum.accumulate(src[order[:size]]) + np.maximum.accumulate(tgt[order[:size]])
        fitting = np.flatnonzero(wide * np.arange(1, len(wide) + 1) <= size)
        return order[: max(1, len(fitting))]

    def step(self, rows: Indices, size: int) -> int:
        """One optimiser step of rate 0, of two micro-batches where steps have several.

        Gives the bytes in use.
        """
        config = dataclasses.replace(self.config, batch_tokens=size)
        seed = seed_of(config.seed, 0)
        batch = micro_batch(self.data, rows.tolist(), config, self.max_len, seed).to(self.device)
        used = 0
        for _ in range(min(2, config.accumulate)):
            kernel = attention_kernel(self.device, self.accelerator.mixed_precision)
            with self.accelerator.autocast(), kernel:
                loss = self.loss_model(batch.src, batch.tgt_in, batch.tgt_out)
                used = max(used, resident_memory())
                (loss / batch.tgt_out.numel()).backward()
            used = max(used, resident_memory())
        nn.utils.clip_grad_norm_(self.loss_model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        float(loss.detach())  # a GPU is waited for
        return max(used, resident_memory())

    def fits(self, budget: int) -> bool:
        """Steps with the longest pairs, sources and targets, and with usual ones."""
        if self.limit is not None and self._expected(budget) > self.limit:
            return False
        used = 0
        try:
            for kind in self._orders:
                used = max(
                    used, self.step(self.rows(kind, budget, 0.5 * (kind == "usual")), budget)
                )
        except torch.OutOfMemoryError:
            self.optimizer.zero_grad()
            return False
        finally:
            if self.device.type == "cuda":
                gc.collect()
                torch.cuda.empty_cache()
        self._used[budget] = used - self._before
        logger.info("batches of %d tokens: %.1f GiB", budget, self._used[budget] / 2**30)
        return self.limit is None or self._used[budget] <= self.limit

    def _expected(self, budget: int) -> float:
        """Bytes, on the straight line through the last two sizes; a CPU must not run out."""
        *before, last = sorted(self._used) or [0]
        if not last:
            return 0.0
        least = (before[-1], self._used[before[-1]]) if before else (0, 0)
        slope = max(0, self._used[last] - least[1]) / (last - least[0])
        return self._used[last] + slope * (budget - last)

    def speed(self, budget: int) -> float:
        """Of the better of two steps on each of two batches."""
        found = []
        for start in (1 / 3, 2 / 3):
            rows = self.rows("usual", budget, start)
            n_tokens, seconds = int(self.data.pairs.lengths[1][rows].sum()), []
            for _ in range(2):
                begun = time.perf_counter()
                self.step(rows, budget)
                seconds.append(time.perf_counter() - begun)
            found.append(n_tokens / min(seconds))
        logger.info("batches of %d tokens: %.0f tokens/s", budget, statistics.mean(found))
        return statistics.mean(found)


def choose(
    model: ModelConfig,
    config: TrainConfig,
    data: Prepared,
    accelerator: Accelerator,
    noted: int | None = None,
) -> int:
    """The budget for all processes: `noted` where the run has begun, else the smallest they found.

    Every process must call it; what the main one noted counts. UserError where not even the
    longest pair fits.
    """
    known = _of_all(accelerator, noted or 0)[0]
    if known:
        logger.info("batches of %d tokens, as this run began", known)
        return known
    found = min(_of_all(accelerator, _try(model, config, data, accelerator)))
    if not found:
        raise UserError(
            "expected memory for one step with the longest pair; there is too little on "
            f"{accelerator.device}. Choose a smaller --preset, or --max-len with --drop-long"
        )
    logger.info("--batch-tokens auto: %d", found)
    return found


def _of_all(accelerator: Accelerator, number: int) -> list[int]:
    """The numbers of all processes, that of the main one first."""
    mine = torch.tensor([number], device=accelerator.device)
    return [int(one) for one in accelerator.gather(mine)]


def _try(model: ModelConfig, config: TrainConfig, data: Prepared, accelerator: Accelerator) -> int:
    """What this process finds; 0 where nothing fits."""
    keep_freed_memory()
    on_gpu = accelerator.device.type == "cuda"
    n_processes = accelerator.num_processes
    n_epoch = sum(n * weight for n, weight in data.sizes)
    most = MOST_ON_GPU if on_gpu else MOST_ON_CPU
    limits = range_of(data.pairs.lengths, n_epoch, most, n_processes * config.accumulate)
    # As if all processes shared one machine; none begins before all have looked.
    limit = None if on_gpu else SHARE * available_memory() / n_processes
    accelerator.wait_for_everyone()
    trial = Trial(model, config, data, accelerator, limit)
    return largest(trial, limits) if on_gpu else fastest(trial, limits)
