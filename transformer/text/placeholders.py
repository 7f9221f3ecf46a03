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
from transformer.text.addresses import MAILBOX, POSTAL, STAMP

AnySpan = TypeVar("AnySpan", bound=tuple[int, int] | tuple[int, int, str])

UNBROKEN = 64  # characters of what is no word in any language: encoded bytes, a key held down
_TOKEN = r"A-Za-zÀ-ɏ\u0300-\u036f0-9_+/=-"
_FILE = (  # what its name ends in
    "avif|bat|bmp|cfg|conf|cpp|css|csv|dll|docx?|epub|exe|flac|gif|gz|html?|ics|ini|ipynb|jpe?g|jsonl?"
    "|js|log|md|mkv|mov|mp[34]|od[pst]|pdf|php|png|po|pptx?|py|rar|rtf|sh|sql|srt|svg|tar|tex|txt|tiff?"
    "|tsv|vtt|wav|webp|xlsx?|xml|ya?ml|zip"
)
# A hash, a UUID, the number of an account: they change between letters and digits three times,
# more than `B2B-Marketing` does, or are letters and ten digits.
_MIXED = (
    rf"(?=(?:(?:(?![A-Za-z]\d|\d[A-Za-z])[{_TOKEN}])*+[{_TOKEN}]){{3}})"
    rf"|(?=[0-9_+/=-]*+[A-Za-z])(?=(?:(?:(?!\d)[{_TOKEN}])*+\d){{10}})"
)

# Possessive repeats, and lookbehinds that let a search begin at one place of a run only, keep
# it linear in the length of the text. At one place the first alternative that fits is taken.
_FIND = re.compile(
    r"""(?P<code>`[^`\n]++`|\x1b\[[\d;]*+[A-Za-z])"""
    r"""|(?P<tag><(?:/?[A-Za-z][\w:.-]*+(?:/|\s[^<>\n]*+)?|/?\d{1,2}/?)>)"""
    r"""|(?P<placeholder>\{\{[^{}\n]{1,80}+\}\}|[$\#]\{[^{}\n]{1,80}+\}"""
    r"""|\{[\w.:,!\[\]%+-]{0,40}+\}"""
    r"""|(?<![\d%])%(?:\(\w{1,60}+\)|\d{1,2}\$)?[-+0\#]{0,2}\d{0,3}(?:\.\d{1,2})?l{0,2}"""
    r"""[sdiufgxXc@](?!\w)"""
    r"""|(?<!\w)(?:Ctrl|Alt|Cmd|Shift|Mayús|Win|Fn)(?:\s?\+\s?\w{1,10}+)++"""
    r"""|(?<![\w$])\$[a-z_]\w*+|(?<![\w:]):[a-z]{1,40}+_\w++)"""
    rf"""|(?P<stamp>{STAMP})|(?P<address>{POSTAL})|(?P<mailbox>{MAILBOX})"""
    r"""|(?P<email>(?<![\w.+-])[\w.+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}+)"""
    r"""|(?P<doi>(?<![\w.])10\.\d{4,9}+/[^\s"<>]++)"""
    r"""|(?P<host>(?<![\w:.])(?:(?:[\da-fA-F]{1,4}:){7}[\da-fA-F]{1,4}"""
    r"""|(?:[\da-fA-F]{1,4}:){1,7}(?::[\da-fA-F]{1,4}){1,6}|::[\da-fA-F]{1,4})(?:/\d{1,3})?(?![\w:]))"""
    r"""|(?P<url>(?<!\w)(?:(?i:https?|ftp)://|(?i:www)\.)(?=[\w\[])[^\s<>"`]++"""
    r"""|(?<![\w@./-])(?:[\w-]++\.)+"""
    rf"""(?:[a-z]{{2,12}}+(?::\d{{1,5}}+)?/[^\s<>"`]*+|(?i:com|org|net|edu|gov|{_FILE})(?![\w@-]))"""
    r"""|(?<![\w/.~])~?(?:/[\w.@+-]++){2,}+/?|(?<!\w)[A-Za-z]:\\[^\s<>"|]*+)"""
    rf"""|(?P<token>(?<![{_TOKEN}])(?=[{_TOKEN}]{{16}})(?:[{_TOKEN}]{{{UNBROKEN},}}+"""
    rf"""|(?:{_MIXED})[{_TOKEN}]++)"""
    r"""|(?<!\w)(?:[A-Z]{2}\d{2}\s)?\d{4}(?:\s\d{4}){2,}+(?:\s\d{1,4}+)?(?!\w))"""
    r"""|(?P<blank>_{2,}+(?:[/. -]?_{2,}+)*+|\.{5,}+)"""  # to fill in
    r"""|(?P<number>(?<!\w)(?<![0-9][.,:/'’-])[0-9]++(?:[.,:/'’-][0-9]++)*+%?(?!\w))"""
    r"""|(?s:[^\W_]++\s*+|.)"""  # passed over at once: a long search lets no other thread work
)
_CLOSES = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Span:
    """text[start:end] is to be copied as it is; the kind is a group of `_FIND`."""

    start: int
    end: int
    kind: str


def slot(number: int) -> str:
    """The slot of this number; one beyond `SLOTS` is no piece, and no model writes it."""
    return chr(ord(SLOTS[0]) + number)


def find(text: str) -> tuple[Span, ...]:
    """What is to be copied, in order, without overlap: a number in an address is no number."""
    spans = []
    for match in _FIND.finditer(text):
        if kind := match.lastgroup:
            start, end = match.span()
            end = _end_of_address(text, start, end) if kind in ("url", "doi") else end
            spans.append(Span(start, end, kind))
    return tuple(spans)


def overlapping(start: int, end: int, spans: Sequence[AnySpan]) -> Sequence[AnySpan]:
    """Those of some spans, in order and apart, that share a character with text[start:end]."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    return spans[first : bisect_left(spans, end, lo=first, key=lambda span: span[0])]


def restore(text: str, originals: Sequence[str]) -> str:
    """The text with what its slots stand for; a slot that stands for nothing is left out."""
    number = {slot(i): original for i, original in enumerate(originals)}
    known = re.compile(f"[{SLOTS[0]}-{slot(max(len(SLOTS), len(originals)) - 1)}]")
    return known.sub(lambda found: number.get(found.group(), ""), text)


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
