"""Plan the batches of an epoch: a token budget, length buckets, a shuffle, shares of processes.

A plan is a pure function of (lengths, seed, epoch), and which process takes which batch a
function of (rank, world size), so the position to resume from is two integers.

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
    """Padded ids: source with its end mark, target after the start mark, target to predict.

    `real` are indices of the flattened `tgt_out` without padding, `n_source` the number of source
    tokens without padding.
    """

    src: Tensor  # (B, S)
    tgt_in: Tensor  # (B, T)
    tgt_out: Tensor  # (B, T)
    real: Tensor  # (N,)
    n_source: int

    @property
    def n_target(self) -> int:
        """The number of tokens to predict, padding not counted; known without asking a GPU."""
        return self.real.numel()

    def _map(self, function: Callable[[Tensor], Tensor]) -> "Batch":
        src, tgt_in, tgt_out = map(function, (self.src, self.tgt_in, self.tgt_out))
        return Batch(src, tgt_in, tgt_out, function(self.real), self.n_source)

    def to(self, device: torch.device) -> "Batch":
        """Copy the batch to a device; from pinned memory without waiting for the copy."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> "Batch":
        """Copy the batch to pinned memory; DataLoader calls this method if `pin_memory` is set."""
        return self._map(Tensor.pin_memory)


class TokenPairs:
    """Source and target ids of each pair, as views of arrays that may be memory-mapped.

    Each side comes in chunks of (offsets, values), the layout of an Arrow list column; row i of
    a chunk is values[offsets[i] : offsets[i + 1]].
    """

    def __init__(self, src: Chunks, tgt: Chunks) -> None:
        self._chunks = list(zip(src, tgt, strict=True))
        self._starts = np.cumsum([0, *(len(offsets) - 1 for offsets, _ in src)])
        self.lengths: tuple[Indices, Indices] = (_lengths(src), _lengths(tgt))
        """Tokens of each source and of each target, the end mark included."""

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


def _lengths(chunks: Chunks) -> Indices:
    return np.concatenate([np.empty(0, np.int64), *(np.diff(offsets) for offsets, _ in chunks)]) + 1


@dataclasses.dataclass(frozen=True, slots=True)
class DirectionView:
    """Pairs read in one direction: their rows, whether sides are swapped, the id of their tag."""

    rows: Indices
    swapped: bool
    tag: int


class TaggedPairs:
    """Pairs in several directions, one after the other, each source behind its direction's tag."""

    def __init__(self, pairs: TokenPairs, views: Sequence[DirectionView]) -> None:
        self._pairs, self._views = pairs, views
        self._starts = np.cumsum([0, *(len(view.rows) for view in views)])
        sides = [
            [pairs.lengths[side != view.swapped][view.rows] + (not side) for side in (0, 1)]
            for view in views
        ]
        src, tgt = (np.concatenate(side) for side in zip(*sides, strict=True))
        self.lengths: tuple[Indices, Indices] = src, tgt
        """Tokens of each source, its tag and end mark included, and of each target."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        number = int(np.searchsorted(self._starts, index, side="right")) - 1
        view = self._views[number]
        src, tgt = self._pairs[int(view.rows[index - self._starts[number]])]
        if view.swapped:
            src, tgt = tgt, src
        return [view.tag, *src], tgt


def collate(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], multiple: int = 1) -> Batch:
    """Make a batch of (source ids, target ids) without special ids, padded to a `multiple`."""
    tgt_out = pad([[*tgt, EOS_ID] for _, tgt in pairs], multiple)
    return Batch(
        src=source_batch([src for src, _ in pairs], multiple),
        tgt_in=pad([[BOS_ID, *tgt] for _, tgt in pairs], multiple),
        tgt_out=tgt_out,
        real=(tgt_out.flatten() != PAD_ID).nonzero()[:, 0],
        n_source=sum(len(src) + 1 for src, _ in pairs),
    )


def epoch_indices(weights: Sequence[tuple[int, float]], seed: int, epoch: int) -> Indices:
    """Return the rows of an epoch; `weights` are (number of pairs, weight) of each source in order.

    Rows count the pairs of all sources, and come source by source. Weight 1 takes each pair once;
    2.5 takes it twice, and half of the pairs, sampled anew in each epoch, a third time.
    """
    rng = np.random.default_rng([seed, epoch, 1])
    chosen = [np.empty(0, dtype=np.int64)]
    start = 0
    for size, weight in weights:
        whole = int(weight)
        chosen.extend([np.arange(start, start + size, dtype=np.int64)] * whole)
        if extra := round((weight - whole) * size):
            chosen.append(start + np.sort(rng.permutation(size)[:extra]))
        start += size
    return np.concatenate(chosen)


def plan(
    lengths: tuple[Indices, Indices],
    indices: Indices,
    budget: int,
    seed: int,
    epoch: int,
    group: int = 1,
    multiple: int = 1,
) -> list[Indices]:
    """Return the batches of one epoch, over all processes; their number is a multiple of `group`.

    `lengths` are those of all sources and targets, special ids included, which are padded to a
    `multiple`; each of `indices` is in exactly one batch, of at most `budget` padded tokens. Raises
    ValueError for an example longer than the budget and for too few examples.
    """
    src, tgt = (-(-side // multiple) * multiple for side in lengths)
    if not len(indices):
        raise ValueError("expected at least one example, got none")
    longest = int((src[indices] + tgt[indices]).max())
    if longest > budget:
        raise ValueError(f"expected pairs within the budget of {budget} tokens, got {longest}")
    rng = np.random.default_rng([seed, epoch, 0])
    shuffled = indices[rng.permutation(len(indices))]
    bucket = (10 * np.log(tgt[shuffled])).astype(np.int64)  # targets alike by a tenth
    turning = np.where(bucket % 2, -src[shuffled], src[shuffled])  # up, then down: no jumps
    order = shuffled[np.lexsort((turning, bucket))]
    batches = _split_by_budget(order, src, tgt, budget)
    _split_to_multiple(batches, group)
    return [batches[i] for i in rng.permutation(len(batches))]


def _split_by_budget(order: Indices, src: Indices, tgt: Indices, budget: int) -> list[Indices]:
    """Split the rows `order` into consecutive batches of at most `budget` tokens with padding.

    `src` and `tgt` are the padded lengths of all rows, by row.
    """
    batches: list[Indices] = []
    start, src, tgt = 0, src[order], tgt[order]
    while start < len(order):
        most = max(1, budget // int(src[start] + tgt[start]))  # pairs, if none were longer
        longest = [np.maximum.accumulate(side[start : start + most]) for side in (src, tgt)]
        costs = np.arange(1, len(longest[0]) + 1) * (longest[0] + longest[1])  # which rise
        end = start + max(1, int(np.searchsorted(costs, budget, side="right")))
        batches.append(order[start:end])
        start = end
    return batches


def _split_to_multiple(batches: list[Indices], multiple: int) -> None:
    """Halve the largest batches, in place, up to a `multiple` of them; ValueError if too few."""
    while len(batches) % multiple:
        i = max(range(len(batches)), key=lambda i: len(batches[i]))
        if len(batches[i]) < 2:
            raise ValueError(
                f"expected examples enough for steps of {multiple} micro-batches, "
                f"got {len(batches)} batches of one example"
            )
        batches[i : i + 1] = np.split(batches[i], [len(batches[i]) // 2])


def steps(plan: Sequence[Indices], rank: int, world_size: int, accumulate: int) -> list[range]:
    """Return for each optimiser step which batches of the plan the process `rank` takes.

    A step takes world_size x accumulate consecutive batches, whichever process computes them: one
    process with two micro-batches and two processes with one see the same. The number of batches
    must be a multiple of that (see `plan`): an incomplete last step would name some beyond the end.
    """
    group = world_size * accumulate
    return [range(start + rank, start + group, world_size) for start in range(0, len(plan), group)]
