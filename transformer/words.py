"""Pieces of the vocabulary grouped into the words that a person sees. Knows strings only."""

import dataclasses
import re
from collections.abc import Sequence
from itertools import accumulate

BOUNDARY = "▁"  # SentencePiece writes it for the space before a word
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]+")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_TAG = re.compile(r"<2\w+>")  # names the language to write; nobody's word
_CODEC = ("utf-8", "surrogateescape")  # a translation may hold half a character


@dataclasses.dataclass(frozen=True, slots=True)
class Word:
    """A word or a run of marks, and the pieces first to last (not included) that write it."""

    text: str
    first: int
    last: int


def words(pieces: Sequence[str]) -> tuple[Word, ...]:
    """The words in order; a lone word boundary goes with the word that it opens.

    A piece that writes parts of two words belongs to both, one of white space alone to none.
    """
    raw = [_bytes_of(piece) for piece in pieces]
    ends = list(accumulate(map(len, raw)))
    text = b"".join(raw).decode(*_CODEC)
    found = []
    for match in _WORD.finditer(text):
        start, end = (len(text[:at].encode(*_CODEC)) for at in match.span())
        inside = [
            i for i, one in enumerate(raw) if one and ends[i] > start and ends[i] - len(one) < end
        ]
        first = inside[0]
        while first and pieces[first - 1] == BOUNDARY:
            first -= 1
        shown = match[0].encode(*_CODEC).decode("utf-8", "replace")
        found.append(Word(shown, first, inside[-1] + 1))
    return tuple(found)


def _bytes_of(piece: str) -> bytes:
    if _TAG.fullmatch(piece):
        return b""
    byte = _BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace(BOUNDARY, " ").encode()
