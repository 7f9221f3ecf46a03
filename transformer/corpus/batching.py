"""Which pairs make a batch: token budget, length buckets, shuffled, dealt to the processes.

A plan is a pure function of (lengths, seed, epoch, rank, world size), so the place to resume
from is two integers.

Shapes: B batch, S source, T target. A batch costs B x (S + T) tokens, padding counted.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.model import pad, source_batch

Indices = NDArray[np.int64]
Chunks = Sequence[tuple[NDArray[Any], NDArray[Any]]]


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Padded ids: source with its end mark, target after the start mark, target to predict."""

    src: Tensor  # (B, S)
    tgt_in: Tensor  # (B, T)
    tgt_out: Tensor  # (B, T)
    real: Tensor  # (N,), where in the flattened `tgt_out` no padding stands
    n_source: int  # tokens of the sources, padding not counted

    @property
    def n_target(self) -> int:
        """Tokens to predict, padding not counted; known without asking a GPU."""
        return self.real.numel()

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        src, tgt_in, tgt_out = change(self.src), change(self.tgt_in), change(self.tgt_out)
        return Batch(src, tgt_in, tgt_out, change(self.real), self.n_source)

    def to(self, device: torch.device) -> "Batch":
        """Copies to a device; from pinned memory without waiting for it."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> "Batch":
        """Copies to memory that a GPU reads by itself (the name that DataLoader looks for)."""
        return self._each(Tensor.pin_memory)


class TokenPairs:
    """Source and target ids of each pair, as views of arrays that may be memory-mapped.

    Each side comes in chunks of (offsets, values), the layout of an Arrow list column; row i of
    a chunk is values[offsets[i] : offsets[i + 1]].
    """

    def __init__(self, src: Chunks, tgt: Chunks) -> None:
        self._chunks = list(zip(src, tgt, strict=True))
        counts = [len(offsets) - 1 for offsets, _ in src]
        self._starts = np.cumsum([0, *counts])
        self.lengths: tuple[Indices, Indices] = (_sizes(src), _sizes(tgt))
        """Tokens of each source and of each target, its special id included."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        chunk = int(np.searchsorted(self._starts, index, side="right")) - 1
        row = index - int(self._starts[chunk])
        src, tgt = (
            values[offsets[row] : offsets[row + 1]].tolist()
            for offsets, values in self._chunks[chunk]
        )
        return src, tgt


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """Some of the pairs in one direction: which, whether their sides change places, their tag."""

    rows: Indices
    swapped: bool
    tag: int


class TaggedPairs:
    """Pairs read in several directions, one after the other, each source behind its tag."""

    def __init__(self, pairs: TokenPairs, readings: Sequence[Reading]) -> None:
        self._pairs, self._readings = pairs, readings
        self._starts = np.cumsum([0, *(len(reading.rows) for reading in readings)])
        sides = [
            [pairs.lengths[side != reading.swapped][reading.rows] + (not side) for side in (0, 1)]
            for reading in readings
        ]
        src, tgt = (np.concatenate(side) for side in zip(*sides, strict=True))
        self.lengths: tuple[Indices, Indices] = src, tgt
        """Tokens of each source, its tag and end mark included, and of each target."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        number = int(np.searchsorted(self._starts, index, side="right")) - 1
        reading = self._readings[number]
        src, tgt = self._pairs[int(reading.rows[index - self._starts[number]])]
        if reading.swapped:
            src, tgt = tgt, src
        return [reading.tag, *src], tgt


def _sizes(chunks: Chunks) -> Indices:
    return np.concatenate([np.empty(0, np.int64), *(np.diff(offsets) for offsets, _ in chunks)]) + 1


def collate(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], multiple: int = 1) -> Batch:
    """Makes a batch of (source ids, target ids) without special ids."""
    tgt_out = pad([[*tgt, EOS_ID] for _, tgt in pairs], multiple)
    return Batch(
        src=source_batch([src for src, _ in pairs], multiple),
        tgt_in=pad([[BOS_ID, *tgt] for _, tgt in pairs], multiple),
        tgt_out=tgt_out,
        real=(tgt_out.flatten() != PAD_ID).nonzero()[:, 0],
        n_source=sum(len(src) + 1 for src, _ in pairs),
    )


def epoch_indices(weights: Sequence[tuple[int, float]], seed: int, epoch: int) -> Indices:
    """The examples of an epoch, in source order, from (number of pairs, weight) of each source.

    Weight 1 gives each pair once; 2.5 twice and half of them, drawn anew each epoch, a third time.
    """
    rng = np.random.default_rng([seed, epoch, 1])
    chosen: list[Indices] = []
    start = 0
    for size, weight in weights:
        whole = int(weight)
        chosen.extend([np.arange(start, start + size, dtype=np.int64)] * whole)
        extra = round((weight - whole) * size)
        if extra:
            chosen.append(start + np.sort(rng.permutation(size)[:extra]))
        start += size
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)


def _split_by_budget(order: Indices, src: Indices, tgt: Indices, budget: int) -> list[Indices]:
    """Consecutive runs of `order` whose padded cost stays within the budget."""
    batches: list[Indices] = []
    start, src, tgt = 0, src[order], tgt[order]
    while start < len(order):
        most = max(1, budget // int(src[start] + tgt[start]))  # pairs, if none were longer
        wide = [np.maximum.accumulate(side[start : start + most]) for side in (src, tgt)]
        costs = np.arange(1, len(wide[0]) + 1) * (wide[0] + wide[1])  # which rise
        end = start + max(1, int(np.searchsorted(costs, budget, side="right")))
        batches.append(order[start:end])
        start = end
    return batches


def _divisible(batches: list[Indices], multiple: int) -> list[Indices]:
    """Halves the largest batches until their number is a multiple."""
    while len(batches) % multiple:
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        batch = batches[largest]
        if len(batch) < 2:
            raise ValueError(
                f"expected examples enough for steps of {multiple} micro-batches, "
                f"got {len(batches)} batches of one example"
            )
        batches[largest : largest + 1] = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
    return batches


def plan(
    lengths: tuple[Indices, Indices],
    indices: Indices,
    budget: int,
    seed: int,
    epoch: int,
    group: int = 1,
    multiple: int = 1,
) -> list[Indices]:
    """The batches of one epoch, over all processes, their number a multiple of `group`.

    `lengths` are those of all sources and targets, special ids included, which are padded to a
    `multiple`; each of `indices` stands in exactly one batch. An example longer than the budget
    is a ValueError.
    """
    src, tgt = (-(-side // multiple) * multiple for side in lengths)
    if not len(indices):
        raise ValueError("expected at least one example, got none")
    longest = int((src[indices] + tgt[indices]).max())
    if longest > budget:
        raise ValueError(f"expected pairs within the budget of {budget} tokens, got {longest}")
    rng = np.random.default_rng([seed, epoch, 0])
    shuffled = indices[rng.permutation(len(indices))]
    order = shuffled[np.lexsort((src[shuffled], tgt[shuffled]))]
    batches = _divisible(_split_by_budget(order, src, tgt, budget), group)
    return [batches[i] for i in rng.permutation(len(batches))]


def steps(plan: Sequence[Indices], rank: int, world_size: int, accumulate: int) -> list[range]:
    """For each optimiser step, which batches of the plan this process takes.

    A step takes world_size x accumulate consecutive batches, whoever computes them: one
    process with two micro-batches and two with one see the same.
    """
    group = world_size * accumulate
    return [range(start + rank, start + group, world_size) for start in range(0, len(plan), group)]
