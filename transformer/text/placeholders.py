"""Find what a translation must not touch, and put it back where a slot stands for it.

A slot is one character of `SLOTS` and one piece of the vocabulary. The model learns to copy it to
its place.
"""

import re
import unicodedata
from collections.abc import Sequence, Set
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
_SIGNS = [  # beyond the ordinary ones, of which a corpus has a few: © ½ ‰ ₡
    c
    for a, b in ((0x5C, 0x7F), (0xA1, 0x250), (0x2010, 0x2070), (0x20A0, 0x20D0))
    for c in map(chr, range(a, b))
    if (unicodedata.category(c)[0] in "SP" or c.isnumeric()) and c not in "¡¿«»‘’“”‐‑‒–—―…€£°_`[]{}"
]
_RARE = {*"|\\^~§©®±¥¦′⁄"}  # the vocabulary has them, a corpus hardly: a model writes others
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


def unwritable(alphabet: Set[str]) -> re.Pattern[str]:
    """Return a pattern of runs that a model cannot write: emoji, other scripts, rare signs, slots.

    `alphabet` is the characters of its vocabulary. Other scripts are matched even if they are in
    it, as the training text may not have taught the model to use them.
    """
    alphabet -= _RARE | {*SLOTS}
    signs = "".join(sign for sign in _SIGNS if not _is_writable(sign, alphabet))
    return re.compile(
        f"(?:[^\\s\\x00-\\u024f\\u0300-\\u036f\\u1e00-\\u1eff\\u2000-\\u206f\\u20a0-\\u20cf\\ufb00-\\ufb06]"
        f"|[{re.escape(signs)}])"
        "[^\\s\\x00-\\u024f\\u2010-\\u2027]*"
    )


def _is_writable(sign: str, alphabet: Set[str]) -> bool:
    """Return whether an alphabet can write a sign, or its NFKC form: "..." for "…"."""
    normalized = unicodedata.normalize("NFKC", sign)
    return alphabet >= set(normalized) and not sign.isnumeric()  # ½ is no "1/2", x² no "x2"


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
