"""`Hypothesis`, the result of a search, which all decoders share."""

import dataclasses
from collections.abc import Sequence
from typing import Any

Ids = Sequence[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: its ids without special ids, and its score in nats.

    The score of greedy search is the sum of the log-probabilities, end mark included; beam search
    divides this sum by the length penalty. Only if requested (`aligned`): `alignment`, the
    cross-attention of the last layer, averaged over the heads, a NumPy array (T + 1, S) with both
    end marks; and `log_probs`, of each token and of the end mark.
    """

    ids: tuple[int, ...]
    score: float
    alignment: Any = dataclasses.field(default=None, compare=False, repr=False)
    log_probs: tuple[float, ...] = dataclasses.field(default=(), compare=False, repr=False)
