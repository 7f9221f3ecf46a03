"""Decide which sentence pairs to train on: one rule for each reason to drop a pair.

`prepare`, which sees all pairs, finds duplicates by the hashes computed here.
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
    """Why a pair is dropped, by the first rule that it breaks, or KEPT."""

    label: str  # in reports

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


# The origin of a pair: bits of its column `made`.
SYNTHETIC_SOURCE, SYNTHETIC_TARGET, TAGGED = 1, 2, 4
BAD_ROW = 8  # a row that was skipped; what is wrong with it stands in the place of its source
LATIN_LANGUAGES = frozenset({"en", "es"})  # whose letters are all Latin
MIN_LENGTH_DIFFERENCE = 15  # characters by which short texts may differ whatever the ratio


def normalize(text: str) -> str:
    """Return a text in Unicode's composed form (NFC), with single spaces and none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def dedup_text(text: str) -> str:
    """Return the letters and digits of a text, case-folded: equal texts count as duplicates."""
    return "".join(c for c in text.casefold() if c.isalnum())


def text_hash(text: str) -> int:
    """Return the 64-bit BLAKE2 hash of a text, as a signed number."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _is_text(text: str) -> bool:
    """Whether a text is mostly letters and digits, without signs of a broken encoding."""
    if any(c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return False
    visible = [c for c in text if not c.isspace()]
    return 0 < len(visible) <= 2 * sum(c.isalnum() for c in visible)


def _has_words(src: str, tgt: str) -> bool:
    """Whether both sides have letters; or neither, but they differ, as 2,50 € and €2.50."""
    has_letters = [any(c.isalpha() for c in text) for text in (src, tgt)]
    return all(has_letters) or (not any(has_letters) and src != tgt)


def _is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin (up to U+024F, and U+1E00 to U+1EFF)."""
    letters = [c for c in text if c.isalpha()]
    latin = sum(c < "\u0250" or "\u1e00" <= c <= "\u1eff" for c in letters)
    return 2 * latin >= len(letters)


def drop_reason(src: str, tgt: str, langs: Direction, config: CorpusConfig) -> DropReason:
    """Return the first rule that a normalized pair breaks, or KEPT."""
    if not src or not tgt:
        return DropReason.EMPTY
    if max(src.count(" "), tgt.count(" ")) >= config.max_words:
        return DropReason.TOO_LONG
    shorter, longer = sorted((len(src), len(tgt)))
    if longer > config.max_ratio * shorter + MIN_LENGTH_DIFFERENCE:
        return DropReason.LENGTH_RATIO
    if not (_is_text(src) and _is_text(tgt) and _has_words(src, tgt)):
        return DropReason.NOT_TEXT
    texts = zip((src, tgt), langs, strict=True)
    if any(lang in LATIN_LANGUAGES and not _is_latin(text) for text, lang in texts):
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
    """Return lists: the `reason` of each pair, not yet DUPLICATE, and `key`, a hash of its texts.

    `rows` are columns: `src`, `tgt` and `made`, bits that say which side is synthetic. `held_out`
    are hashes of `dedup_text`. With `both` directions a pair with a synthetic target is kept for
    the reverse one, unless its source is synthetic, too.
    """
    reasons: list[int] = []
    for src, tgt, made in zip(rows["src"], rows["tgt"], rows["made"], strict=True):
        reason = drop_reason(src, tgt, langs, config)
        if made & BAD_ROW:
            reason = DropReason.MALFORMED
        elif made & SYNTHETIC_TARGET and (made & SYNTHETIC_SOURCE or not both):
            reason = DropReason.MACHINE_MADE
        elif made and reason == DropReason.COPY:  # on purpose
            reason = DropReason.KEPT
        if reason == DropReason.KEPT and not held_out.isdisjoint(
            text_hash(dedup_text(text)) for text in (src, tgt)
        ):
            reason = DropReason.HELD_OUT
        reasons.append(reason)
    pairs = zip(rows["src"], rows["tgt"], strict=True)
    return {"reason": reasons, "key": [text_hash(f"{src}\t{tgt}") for src, tgt in pairs]}


def count_reasons(reasons: NDArray[np.int8]) -> dict[str, int]:
    """Return the number of pairs by the label of each reason that occurs."""
    totals = np.bincount(reasons, minlength=len(DropReason))
    return {reason.label: int(totals[reason]) for reason in DropReason if totals[reason]}


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the counts of drop reasons as text: 599 kept, 1 not text."""
    return ", ".join(f"{n:,} {label}" for label, n in counts.items())


def make_report(
    specs: Sequence[str],
    reasons: NDArray[np.int8],
    source: NDArray[np.int64],
    examples: Mapping[str, Sequence[SentencePair]],
) -> dict[str, Any]:
    """Return how many pairs of each source were kept and dropped, with examples of each reason.

    `reasons` and `source`, an index of `specs`, have one entry for each pair; `examples` are by
    label of the reason. The keys: `read`, the number of pairs; `counts`, as `count_reasons`;
    `sources`, a list of {spec, counts}; `dropped_examples`, `examples` less those of label "kept".
    """
    return {
        "read": len(reasons),
        "counts": count_reasons(reasons),
        "sources": [
            {"spec": spec, "counts": count_reasons(reasons[source == number])}
            for number, spec in enumerate(specs)
        ],
        "dropped_examples": {
            reason: pairs for reason, pairs in examples.items() if pairs and reason != "kept"
        },
    }
