"""What a prepared corpus is made of, what name that gives its cache, and what is told of it.

Knows the settings and the files' dates; opens no source and no cache (see `corpus`).
"""

import contextlib
import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.cleaning import REASONS, comparable, defect, key
from transformer.config import CorpusConfig
from transformer.sources import HUB, Languages, Pair, moses_files
from transformer.tokenizer import Tokenizer

CACHE_FORMAT = 1  # part of every digest: raise it when rules of cleaning or the files change
KEPT, DUPLICATE, HELD_OUT, LONG, COPY, MADE = (
    REASONS.index(reason)
    for reason in (
        "kept",
        "duplicate",
        "in the dev or test sets",
        "too many pieces",
        "copy of the source",
        "machine-made target",
    )
)
SOURCE_MADE, TARGET_MADE, TAGGED = 1, 2, 4  # what is known of a pair: bits of its `made`


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A named corpus, and how often each of its pairs is seen in an epoch."""

    spec: str
    weight: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Reads `SPEC` or `SPEC@WEIGHT`."""
        spec, mark, weight = text.rpartition("@")
        with contextlib.suppress(ValueError):
            if mark and 0 < float(weight) < math.inf:
                return cls(spec, float(weight))
        return cls(text)


@dataclasses.dataclass(frozen=True, slots=True)
class Recipe:
    """All that a cache depends on; its digest is the cache's name."""

    specs: tuple[str, ...]
    langs: Languages
    config: CorpusConfig
    vocab_size: int
    max_len: int
    held_out: frozenset[int]  # keys of the dev and test sides
    tokenizer: Tokenizer | None
    both: bool = False  # each pair is read in both directions

    def digest(self) -> str:
        """16 hexadecimal digits; a file counts by its size and date, not by its content."""
        files = []
        for spec in self.specs:
            for path in _files(spec, self.langs):
                status = path.stat() if path.is_file() else None
                files.append((spec, status and (status.st_size, status.st_mtime_ns)))
        model = hashlib.sha256(self.tokenizer.model).hexdigest() if self.tokenizer else None
        config = dataclasses.asdict(self.config) | {"workers": 0}
        parts = [CACHE_FORMAT, files, self.langs, config, self.vocab_size, self.max_len]
        parts += ["both"] if self.both else []
        text = json.dumps([*parts, sorted(self.held_out), model])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _files(spec: str, langs: Languages) -> Sequence[Path]:
    """What a source is read from; nothing where it lies on the hub."""
    if spec.startswith(HUB):
        folder = Path(spec.removeprefix(HUB).split(":")[0])
        return sorted(path for path in folder.rglob("*") if path.is_file())
    return moses_files(spec, langs) or (Path(spec),)


def judge(
    rows: Mapping[str, list[Any]],
    langs: Languages,
    config: CorpusConfig,
    held_out: frozenset[int],
    both: bool = False,
) -> dict[str, list[int]]:
    """The reason of each pair as far as the pair alone tells, and its key."""
    reasons, keys = [], []
    for src, tgt, made in zip(rows["src"], rows["tgt"], rows["made"], strict=True):
        reason = REASONS.index(defect(src, tgt, langs, config))
        if made:  # by intent it may be a copy, but nobody learns to write what a machine wrote
            reason = KEPT if reason == COPY else reason
            unwritten = made & TARGET_MADE and (made & SOURCE_MADE or not both)
            reason = MADE if unwritten else reason
        sides = [key(comparable(text)) for text in (src, tgt)] if reason == KEPT else []
        reasons.append(HELD_OUT if held_out.intersection(sides) else reason)
        keys.append(key(f"{src}\t{tgt}"))
    return {"reason": reasons, "key": keys}


def counts(reasons: NDArray[np.int8]) -> dict[str, int]:
    """How many pairs met each reason that occurs."""
    found = np.bincount(reasons, minlength=len(REASONS))
    return {name: int(count) for name, count in zip(REASONS, found, strict=True) if count}


def report(
    specs: Sequence[str],
    reasons: NDArray[np.int8],
    source: NDArray[np.int64],
    examples: Mapping[str, Sequence[Pair]],
) -> dict[str, Any]:
    """What was kept and dropped of each source, with examples of every reason."""
    return {
        "read": len(reasons),
        "counts": counts(reasons),
        "sources": [
            {"spec": spec, "counts": counts(reasons[source == number])}
            for number, spec in enumerate(specs)
        ],
        "dropped_examples": {
            reason: pairs for reason, pairs in examples.items() if pairs and reason != "kept"
        },
    }
