"""Spans of a text, and searches among spans that are in order and do not overlap."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeVar

Span = tuple[int, int]  # text[start:end]
AnySpan = TypeVar("AnySpan", bound=tuple[int, int] | tuple[int, int, str])


def overlapping(start: int, end: int, spans: Sequence[AnySpan]) -> Sequence[AnySpan]:
    """Return those of the ordered `spans` that share a character with text[start:end]."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    return spans[first : bisect_left(spans, end, lo=first, key=lambda span: span[0])]


def mask(text: str, spans: Sequence[Span], cover: str = " ") -> str:
    """Return the text with `cover` instead of each character of the ordered `spans`."""
    parts, end = list[str](), 0
    for start, stop in spans:
        parts += [text[end:start], cover * (stop - start)]
        end = stop
    return "".join([*parts, text[end:]])
