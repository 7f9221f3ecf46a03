"""Which sentence pairs are worth training on: one rule a reason, each with its count.

`prepare`, which sees all pairs, finds duplicates by the keys made here.
"""

import enum
import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.config import CorpusConfig, Direction, SentencePair


class DropReason(enum.IntEnum):
    """Why a pair is dropped, the first rule that it breaks; or that it is kept."""

    label: str  # as reports name it

    KEPT = 0, "kept"
    EMPTY = 1, "empty"
    TOO_LONG = 2, "too long"
    LENGTH_RATIO = 3, "length ratio"
    NOT_TEXT = 4, "not text"
    WRONG_SCRIPT = 5, "wrong script"
    COPY = 6, "copy of the source"
    DUPLICATE = 7, "duplicate"
    HELD_OUT = 8, "in the dev or test sets"
    TOO_MANY_PIECES = 9, "too many pieces"
    MACHINE_MADE = 10, "machine-made target"
    MALFORMED = 11, "malformed"

    def __new__(cls, number: int, label: str = "") -> "DropReason":
        reason = int.__new__(cls, number)
        reason._value_, reason.label = number, label
        return reason


SOURCE_MADE, TARGET_MADE, TAGGED = 1, 2, 4  # what is known of a pair: bits of its `made`
NO_PAIR = 8  # likewise: a row that was passed over; its source is what was said of it
LATIN = frozenset({"en", "es"})  # languages whose letters are all Latin
SLACK = 15  # characters by which short texts may differ whatever the ratio


def normalize(text: str) -> str:
    """Composed characters, single blanks, none at the ends: what training sees of a text."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def dedup_text(text: str) -> str:
    """Letters and digits only, without case: equal for texts that differ in punctuation."""
    return "".join(c for c in text.casefold() if c.isalnum())


def key(text: str) -> int:
    """64 bits that stand for a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _is_text(text: str) -> bool:
    """Mostly letters and digits, and nothing that only broken encodings hold."""
    if any(c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return False
    visible = [c for c in text if not c.isspace()]
    return 0 < len(visible) <= 2 * sum(c.isalnum() for c in visible)


def _says_something(src: str, tgt: str) -> bool:
    """Both sides have letters; or neither, and a number is written otherwise: 2,50 € and €2.50."""
    worded = [any(c.isalpha() for c in text) for text in (src, tgt)]
    return all(worded) or (not any(worded) and src != tgt)


def _is_latin(text: str) -> bool:
    """At least half of the letters are Latin (blocks up to U+024F, and U+1E00 ... U+1EFF)."""
    letters = [c for c in text if c.isalpha()]
    latin = sum(c < "\u0250" or "\u1e00" <= c <= "\u1eff" for c in letters)
    return 2 * latin >= len(letters)


def drop_reason(src: str, tgt: str, langs: Direction, config: CorpusConfig) -> DropReason:
    """The first rule that a normalized pair breaks, or KEPT. Cleaning twice is cleaning once."""
    if not src or not tgt:
        return DropReason.EMPTY
    if max(src.count(" "), tgt.count(" ")) >= config.max_words:
        return DropReason.TOO_LONG
    if max(len(src), len(tgt)) > config.max_ratio * min(len(src), len(tgt)) + SLACK:
        return DropReason.LENGTH_RATIO
    if not (_is_text(src) and _is_text(tgt) and _says_something(src, tgt)):
        return DropReason.NOT_TEXT
    if any(lang in LATIN and not _is_latin(t) for t, lang in zip((src, tgt), langs, strict=True)):
        return DropReason.WRONG_SCRIPT
    # One word may well be the same in both languages: "No.", "Madrid", "hotel".
    if " " in src and src.casefold() == tgt.casefold():
        return DropReason.COPY
    return DropReason.KEPT


def drop_reasons(
    rows: Mapping[str, list[Any]],
    langs: Direction,
    config: CorpusConfig,
    held_out: frozenset[int],
    both: bool = False,
) -> dict[str, list[int]]:
    """The reason of each pair as far as the pair alone tells, and its key."""
    reasons: list[int] = []
    keys: list[int] = []
    for src, tgt, made in zip(rows["src"], rows["tgt"], rows["made"], strict=True):
        reason = drop_reason(src, tgt, langs, config)
        if made:  # by intent it may be a copy, but nobody learns to write what a machine wrote
            unwritten = made & TARGET_MADE and (made & SOURCE_MADE or not both)
            reason = DropReason.KEPT if reason == DropReason.COPY else reason
            reason = DropReason.MACHINE_MADE if unwritten else reason
            reason = DropReason.MALFORMED if made & NO_PAIR else reason
        sides = [key(dedup_text(text)) for text in (src, tgt)] if reason == DropReason.KEPT else []
        reasons.append(DropReason.HELD_OUT if held_out.intersection(sides) else reason)
        keys.append(key(f"{src}\t{tgt}"))
    return {"reason": reasons, "key": keys}


def counts(reasons: NDArray[np.int8]) -> dict[str, int]:
    """How many pairs met each reason that occurs."""
    totals = np.bincount(reasons, minlength=len(DropReason))
    return {reason.label: int(totals[reason]) for reason in DropReason if totals[reason]}


def told(totals: Mapping[str, int]) -> str:
    """Such numbers in words: 599 kept, 1 not text."""
    return ", ".join(f"{n:,} {label}" for label, n in totals.items())


def report(
    specs: Sequence[str],
    reasons: NDArray[np.int8],
    source: NDArray[np.int64],
    examples: Mapping[str, Sequence[SentencePair]],
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
