"""What a translation must not touch: found in a text, and put back where a slot stands for it.

A slot is one character of `SLOTS`, one piece of the vocabulary, which the model learns to copy
to its place.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from transformer.config import SLOTS
from transformer.text.patterns import PATTERNS

AnySpan = TypeVar("AnySpan", bound=tuple[int, int] | tuple[int, int, str])

# What is passed over at once is a word: a long search lets no other thread work.
_SCAN = re.compile(
    "|".join([*(f"(?P<{kind}>{p})" for kind, p in PATTERNS.items()), r"(?s:[^\W_]++[^\S\n]*+|.)"])
)
_MAX_LABEL = 48  # characters of a label, which may have an accelerator
_BRACKETS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class ProtectedSpan:
    """text[start:end] is to be copied as it is; the kind is one of `PATTERNS`."""

    start: int
    end: int
    kind: str


def slot(number: int) -> str:
    """The slot of this number; one beyond `SLOTS` is no piece, and no model writes it."""
    return chr(ord(SLOTS[0]) + number)


def find_protected(text: str) -> tuple[ProtectedSpan, ...]:
    """What is to be copied, in order, without overlap: a number in an address is no number."""
    spans = list[ProtectedSpan]()
    closing: dict[int, int] = {}  # where the signs that end an emphasis are
    for match in _SCAN.finditer(text):
        kind, (start, end) = match.lastgroup, match.span()
        if start in closing:
            kind, end = "emphasis", closing.pop(start)
        elif kind is None or (kind == "accelerator" and len(text) > _MAX_LABEL):
            continue
        elif kind == "emphasis":
            closing[match.start("end")] = match.end("end")
        elif kind in ("url", "doi"):
            end = _trim_url(text, start, end)
        spans.append(ProtectedSpan(start, end, kind))
    return tuple(spans)


def overlapping(start: int, end: int, spans: Sequence[AnySpan]) -> Sequence[AnySpan]:
    """Those of some spans, in order and apart, that share a character with text[start:end]."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    return spans[first : bisect_left(spans, end, lo=first, key=lambda span: span[0])]


def restore_slots(text: str, originals: Sequence[str]) -> str:
    """The text with what its slots stand for; a slot that stands for nothing is left out."""
    number = {slot(i): original for i, original in enumerate(originals)}
    known = re.compile(f"[{SLOTS[0]}-{slot(max(len(SLOTS), len(originals)) - 1)}]")
    return known.sub(lambda found: number.get(found.group(), ""), text)


def _trim_url(text: str, start: int, end: int) -> int:
    """Without the punctuation of the sentence, and without a bracket that it did not open."""
    opened = {
        c: text.count(o, start, end) - text.count(c, start, end) for c, o in _BRACKETS.items()
    }
    while True:
        last = text[end - 1]
        if last in _BRACKETS:
            if opened[last] >= 0:
                return end
            opened[last] += 1
        elif last not in ".,;:!?…'’”»*_":
            return end
        end -= 1
