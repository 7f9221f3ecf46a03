"""Subtitles, SubRip and WebVTT: cues keep their times, speakers, tags and lines.

A sentence that goes on in the next cue is one passage; its translation is dealt out to the cues
and lines as the sentence was, and a line of more than 42 characters is set anew.
"""

import itertools
import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from transformer.config import UserError
from transformer.documents.passages import (
    Line,
    Options,
    Passage,
    Unit,
    Written,
    has_words,
    plain,
    unescape,
)
from transformer.text.markup import MarkedText, Span

MAX_LINE = 42  # characters, as the guides of broadcasters want it
MAX_SENTENCE = 300  # characters that are read as one sentence, at most
NEAR = 15  # characters to the place where a sentence would be cut by its length
_PAUSES = (",", ";", ":")
_TIMES = re.compile(r"[ \t]{0,9}-?[\d:.,]{4,16}[ \t]{0,9}-->[ \t]{0,9}-?[\d:.,]{4,16}(?!\S)")
_TAG = re.compile(r"(<[^<>]*>|\{\\[^{}]*\})")  # <i>, <v Ana>, {\an8}
_ENDED = re.compile(r"[.!?…♪:][\"'»”’)\]]{0,3}$")
_STAYS = re.compile(r"(?:<|&lt;)\d{1,5}/(?:>|&gt;)")
_UNSEEN = "\u200e\u200f\u202a\u202b\u202c\ufeff"
_SPEAKER = re.compile(rf"[\s{_UNSEEN}]*[-–—]")


@dataclass(frozen=True, slots=True)
class _Speech:
    """What one speaker says in a cue: lines with tags in them, and the tags around it all."""

    place: int  # among the parts of the file
    around: tuple[str, str]
    line: Line[tuple[str, str]]  # marks are pairs of tags; other tags stay

    @property
    def lines(self) -> list[str]:
        return self.line.passage.text.split("\n")

    @property
    def text(self) -> str:
        return " ".join(self.lines)

    def goes_on_in(self, other: "_Speech") -> bool:
        """Whether the sentence seems to be continued."""
        start = other.text.lstrip(f"¿¡\"'«“(… .{_UNSEEN}")
        return bool(
            self.text
            and not (self.line.kept or other.line.kept)
            and not _ENDED.search(self.text)
            and start
            and start[0].isalnum()
            and not start[0].isupper()
            and not _SPEAKER.match(other.text)
        )


def opened(text: str, options: Options, is_vtt: bool) -> Written:
    """The sentences of subtitles; UserError for a file without any times."""
    parts: list[str] = []
    cues: list[list[_Speech]] = []
    lines = text.splitlines(keepends=True)
    n_cues = 0
    following = itertools.groupby(lines, _Cues())
    for is_cue, group in following:
        if not is_cue:
            parts += group
            continue
        n_cues += 1
        speeches = []
        for speech in _speakers(list(group)):
            parts.append("".join(speech).rstrip("\r\n"))
            speeches.append(_speech(len(parts) - 1, speech, is_vtt))
            parts.append("".join(speech)[len(parts[-1]) :])
        cues.append(speeches)
    if lines and not n_cues:
        raise UserError("expected subtitles, with times as 00:00:01,000 --> 00:00:02,000")
    newline = "\r\n" if any(line.endswith("\r\n") for line in lines[:1]) else "\n"
    units = [unit for group in _sentences(cues) for unit in _unit(group, parts, newline, is_vtt)]
    return units, lambda: "".join(parts)


class _Cues:
    """Tells of line after line whether it is the text of a cue."""

    def __init__(self) -> None:
        self._is_cue = False
        self._number = 0

    def __call__(self, line: str) -> int:
        if _TIMES.match(line):
            self._is_cue = True
            self._number += 1
            return 0
        self._is_cue = self._is_cue and bool(line.strip())
        return self._number if self._is_cue else 0


def _speakers(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of each who speaks in a cue: the next one begins with a dash."""
    own: list[str] = []
    for line in lines:
        if own and _SPEAKER.match(unescape(_TAG.sub("", line))):
            yield own
            own = []
        own.append(line)
    yield own


def _speech(place: int, lines: Sequence[str], is_vtt: bool) -> _Speech:
    """Lines as text: tags around all of it, and pairs of tags around some of it as marks."""
    pieces = _TAG.split("\n".join(line.strip() for line in lines))
    opening: list[int] = []
    pairs: dict[int, int] = {}
    for i in range(1, len(pieces), 2):
        if pieces[i].startswith("</") and opening:
            pairs[opening.pop()] = i
        elif pieces[i].startswith("<") and not pieces[i].startswith("</"):
            opening.append(i)
    first, last = 0, len(pieces) - 1
    closing = {*pairs.values()}
    while first < last and not pieces[last].strip() and last - 1 not in closing:
        last -= 2
    while first < last and not pieces[first].strip():
        if first + 1 in pairs:
            if pairs[first + 1] != last - 1 or pieces[last].strip():
                break
            last -= 2
        first += 2
    parts: list[tuple[str | None, bool, tuple[str, str]]] = []
    for i in range(first, last + 1):
        if i % 2 == 0:
            is_marked = pairs.get(i - 1) == i + 1 and first < i < last
            own = (pieces[i - 1], pieces[i + 1]) if is_marked else ("", "")
            parts.append((unescape(pieces[i]) if is_vtt else pieces[i], is_marked, own))
        elif pairs.get(i) != i + 2 and pairs.get(i - 2) != i:
            parts.append((None, False, (pieces[i], "")))
    return _Speech(place, ("".join(pieces[:first]), "".join(pieces[last + 1 :])), Line(parts))


def _sentences(cues: Sequence[Sequence[_Speech]]) -> Iterator[list[_Speech]]:
    """Speeches that are one sentence."""
    group: list[_Speech] = []
    for speeches in cues:
        length = sum(len(speech.text) for speech in group)
        goes_on = len(speeches) == 1 and group and group[-1].goes_on_in(speeches[0])
        if goes_on and length < MAX_SENTENCE:
            group.append(speeches[0])
            continue
        if group:
            yield group
        yield from ([speech] for speech in speeches[:-1])
        group = [speeches[-1]]
    if group:
        yield group


def _unit(group: Sequence[_Speech], parts: list[str], newline: str, is_vtt: bool) -> Iterator[Unit]:
    text = " ".join(speech.text for speech in group)
    if not has_words(text):
        return
    starts = [0, *itertools.accumulate(len(speech.text) + 1 for speech in group)]
    marks = [
        (start + a, start + b)
        for start, speech in zip(starts, group, strict=False)
        for a, b in speech.line.passage.marks
    ]
    tags = [own for speech in group for own in speech.line.marked]
    kept = group[0].line.kept

    def put(marked: MarkedText) -> None:
        said = plain(marked)
        if said == text:
            return
        spans = iter(_dealt(said, [speech.lines for speech in group]))
        ends = [*itertools.accumulate(len(piece) for piece, _ in marked)]
        for speech in group:
            lines = _set(said, next(spans))
            shown = newline.join(
                _shown(_between(marked, ends, span), tags, is_vtt) for span in lines
            )
            shown = _STAYS.sub(lambda stays: kept.get(unescape(stays[0]), (stays[0],))[0], shown)
            parts[speech.place] = speech.around[0] + shown + speech.around[1]

    yield Passage(text, tuple(marks), tuple(kept)), put


def _dealt(text: str, cues: Sequence[Sequence[str]]) -> list[list[Span]]:
    """Where the lines of each cue are in a text: cut between words, by the lengths of the lines.

    A cue that ended with a comma does so again, if one is near.
    """
    words = [match.span() for match in re.finditer(r"\S+", text)]
    total = sum(len(line) for lines in cues for line in lines)
    dealt: list[list[Span]] = []
    done, first = 0, 0
    for lines in cues:
        dealt.append([])
        for i, line in enumerate(lines):
            done += len(line)
            want = len(text) * done / max(1, total)
            last = first
            while last < len(words) and (done >= total or sum(words[last]) / 2 <= want):
                last += 1
            if i == len(lines) - 1 and line[-1:] in _PAUSES and done < total:
                near = [
                    j
                    for j in range(max(first + 1, last - 3), min(len(words), last + 3))
                    if text[words[j - 1][1] - 1] in _PAUSES and abs(words[j][0] - want) <= NEAR
                ]
                last = min(near, key=lambda j: abs(words[j][0] - want), default=last)
            if last > first:
                dealt[-1].append((words[first][0], words[last - 1][1]))
            first = last
    return dealt


def _set(text: str, lines: Sequence[Span]) -> list[Span]:
    """The lines of a cue, or if one is too long, as few as there must be, about equally long."""
    if all(b - a <= MAX_LINE for a, b in lines):
        return list(lines)
    start, stop = lines[0][0], lines[-1][1]
    said = text[start:stop]
    n_lines = len(_wrapped(said, MAX_LINE))
    widths = range(max(1, len(said) // n_lines), MAX_LINE)
    width = next((w for w in widths if len(_wrapped(said, w)) <= n_lines), MAX_LINE)
    spans, end = [], start
    for line in _wrapped(said, width):
        begin = text.index(line, end)
        end = begin + len(line)
        spans.append((begin, end))
    return spans


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, break_long_words=False, break_on_hyphens=False,
        expand_tabs=False, replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip


def _between(
    marked: MarkedText, ends: Sequence[int], span: Span
) -> Iterator[tuple[str, int | None]]:
    """The pieces that stand in a line."""
    for i in range(bisect_right(ends, span[0]), len(ends)):
        start = ends[i] - len(marked[i][0])
        if start >= span[1]:
            return
        yield marked[i][0][max(0, span[0] - start) : span[1] - start], marked[i][1]


def _shown(
    line: Iterable[tuple[str, int | None]], tags: Sequence[tuple[str, str]], is_vtt: bool
) -> str:
    """A line with its tags."""
    parts = []
    for text, mark in line:
        before, after = tags[mark] if mark is not None and text else ("", "")
        parts += [before, escape(text, quote=False) if is_vtt else text, after]
    return "".join(parts)
