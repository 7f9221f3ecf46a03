"""The result of a search."""

import dataclasses
from collections.abc import Sequence
from typing import Any

Ids = Sequence[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: its ids without special ones, and its score in nats.

    Greedy search scores with the sum of the log-probabilities, end mark included; beam search
    divides that by the length penalty.
    """

    ids: tuple[int, ...]
    score: float
    # Where asked for: how much each step, that of the end mark too, looked at each source token and
    # its end mark in the last layer, heads averaged: a NumPy array (T + 1, S); and the
    # log-probability of each token and the end mark.
    alignment: Any = dataclasses.field(default=None, compare=False, repr=False)
    log_probs: tuple[float, ...] = dataclasses.field(default=(), compare=False, repr=False)
