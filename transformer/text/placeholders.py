"""Find what a translation must not touch, and put it back where a slot stands for it.

A slot is one character of `SLOTS` and one piece of the vocabulary. The model learns to copy it to
its place.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from transformer.config import SLOTS
from transformer.text.patterns import PATTERNS

# Behind another word, a word in lower case begins none of the patterns but a street's address.
_PLAIN_WORD = (
    r"(?<=[^\W\d_][ ])(?!calle|avenida|plaza|paseo|carretera|camino|ronda)"
    r"[a-zß-öø-ÿ]{3,}+(?=[\s,;!?])[^\S\n]*+"
)
# What is passed over at once is a word: a long search lets no other thread work.
_SCAN = re.compile(
    "|".join([_PLAIN_WORD, *(f"(?P<{kind}>{p})" for kind, p in PATTERNS.items()),
              r"(?s:[^\W_]++[^\S\n]*+|.)"])
)  # fmt: skip
_MAX_LABEL = 48  # characters of a label, which may have an accelerator
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class ProtectedSpan(NamedTuple):
    """text[start:end] is to be copied as it is; the kind is one of `PATTERNS`."""

    start: int
    end: int
    kind: str


def slot(number: int) -> str:
    """Return the character for kept token `number`, from 0; past SLOTS, one no model writes."""
    return chr(ord(SLOTS[0]) + number)


def find_protected(text: str) -> tuple[ProtectedSpan, ...]:
    """Return the spans to copy unchanged, in order, without overlap.

    Numbers are among them, though they are translated, to tell them from digits in an address.
    """
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


def restore_slots(text: str, originals: Sequence[str]) -> str:
    """Replace the n-th character of `SLOTS` by the n-th original; remove those without one."""
    empty = dict.fromkeys(map(ord, SLOTS), "")
    return text.translate(empty | {ord(slot(i)): kept for i, kept in enumerate(originals)})


def _trim_url(text: str, start: int, end: int) -> int:
    """Return the end of the URL at start...end, less final punctuation and unopened brackets."""
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
