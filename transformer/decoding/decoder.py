"""Source ids in, hypotheses out: what translation knows of a search, and which one it gets."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol
from transformer.config import DecodeConfig
Ids = Sequence[int]

@dataclasses.dataclass(frozen=True, slots=True)
class Hypothesis:
    ids: tuple[int, ...]
    score: float
    alignment: Any = None
