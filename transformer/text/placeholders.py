"""What a translation must not touch: found in a text, put aside under slots, and put back.

A slot is one character of `SLOTS`, one piece of the vocabulary, which the model learns to copy
to its place.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from transformer.config import SLOTS

Kind = Literal["url", "email", "placeholder", "tag", "code", "number"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Possessive repeats, and lookbehinds that let a search begin at one place of a run only, keep
# it linear in the length of the text. At one place the first alternative that fits is taken.
_FIND = re.compile(
    r"""(?P<code>`[^`\n]++`)"""
    r"""|(?P<tag><(?:/?[A-Za-z][\w:.-]*+(?:/|\s[^<>\n]*+)?|/?\d{1,2}/?)>)"""
    r"""|(?P<placeholder>\{\{[^{}\n]{1,80}+\}\}|[$\#]\{[^{}\n]{1,80}+\}"""
    r"""|\{[\w.:,!\[\]%+-]{0,40}+\}"""
    r"""|(?<![\d%])%(?:\(\w{1,60}+\)|\d{1,2}\$)?[-+0\#]{0,2}\d{0,3}(?:\.\d{1,2})?l{0,2}"""
    r"""[sdiufgxXc@](?!\w)"""
    r"""|(?<![\w$])\$[a-z_]\w*+|(?<![\w:]):[a-z]{1,40}+_\w++)"""
    r"""|(?P<email>(?<![\w.+-])[\w.+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}+)"""
    r"""|(?P<url>(?<!\w)(?:(?i:https?|ftp)://|(?i:www)\.)(?=[\w\[])[^\s<>"`]++"""
    r"""|(?<![\w@./-])(?:[\w-]++\.)+"""
    r"""(?:[a-z]{2,12}+(?::\d{1,5}+)?/[^\s<>"`]*+|(?:com|org|net|edu|gov)(?![\w@-])))"""
    r"""|(?P<number>(?<!\w)(?<![0-9][.,:/'’-])[0-9]++(?:[.,:/'’-][0-9]++)*+%?(?!\w))"""
)
_SLOT = re.compile(f"[{SLOTS[0]}-{SLOTS[-1]}]")
_CLOSES = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Span:
    """text[start:end] is to be copied as it is."""

    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Missing:
    """The numbers of the slots that did not come out exactly once; false if there are none."""

    lost: tuple[int, ...]
    repeated: tuple[int, ...]
    invented: tuple[int, ...]  # that stood for nothing

    def __bool__(self) -> bool:
        return bool(self.lost or self.repeated or self.invented)


def slot(number: int) -> str:
    """The slot of this number; one beyond `SLOTS` is no piece, and no model writes it."""
    return chr(ord(SLOTS[0]) + number)


def find(text: str) -> tuple[Span, ...]:
    """What is to be copied, in order, without overlap: a number in an address is no number."""
    return tuple(_spans(text))


def mask(text: str, kinds: Collection[Kind]) -> tuple[str, tuple[str, ...]]:
    """The text with a slot for each span of these kinds, and what the slots stand for, in order.

    Spans beyond the number of slots stay as they are. A slot character that the text holds is
    put aside like a span, and left out once all slots are taken: none means two things.
    """
    parts: list[str] = []
    originals: list[str] = []
    end = 0
    for start, stop in _masked(text, kinds):
        if len(originals) == len(SLOTS):
            break
        parts += [text[end:start], SLOTS[len(originals)]]
        originals.append(text[start:stop])
        end = stop
    return "".join([*parts, _SLOT.sub("", text[end:])]), tuple(originals)


def restore(text: str, originals: Sequence[str]) -> str:
    """The text with what its slots stand for; a slot that stands for nothing is left out."""
    number = {slot(i): original for i, original in enumerate(originals)}
    known = re.compile(f"[{SLOTS[0]}-{slot(max(len(SLOTS), len(originals)) - 1)}]")
    return known.sub(lambda found: number.get(found.group(), ""), text)


def missing(text: str, originals: Sequence[str]) -> Missing:
    """What is wrong with the slots of a translation of a masked text."""
    counts = Counter(SLOTS.index(slot) for slot in _SLOT.findall(text))
    wanted = range(len(originals))
    return Missing(
        lost=tuple(i for i in wanted if not counts[i]),
        repeated=tuple(i for i in wanted if counts[i] > 1),
        invented=tuple(sorted(i for i in counts if i not in wanted)),
    )


def _spans(text: str) -> Iterator[Span]:
    for match in _FIND.finditer(text):
        for kind in KINDS:
            if match[kind] is not None:
                end = match.end() if kind != "url" else _end_of_address(text, *match.span())
                yield Span(match.start(), end, kind)


def _end_of_address(text: str, start: int, end: int) -> int:
    """Without the punctuation of the sentence, and without a bracket that it did not open."""
    opened = {c: text.count(o, start, end) - text.count(c, start, end) for c, o in _CLOSES.items()}
    while True:
        last = text[end - 1]
        if last in _CLOSES:
            if opened[last] >= 0:
                return end
            opened[last] += 1
        elif last not in ".,;:!?…'’”»*_":
            return end
        end -= 1


def _masked(text: str, kinds: Collection[Kind]) -> Iterator[tuple[int, int]]:
    """Where the spans of these kinds and the slot characters between them begin and end."""
    end = 0
    for span in find(text):
        if span.kind in kinds:
            yield from (slot.span() for slot in _SLOT.finditer(text, end, span.start))
            yield span.start, span.end
            end = span.end
    yield from (slot.span() for slot in _SLOT.finditer(text, end))
