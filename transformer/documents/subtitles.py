"""Subtitles: cues keep their times, styles, speakers, tags and lines.

SubStation (ass, ssa) and MicroDVD (sub) are read by pysubs2. SubRip and WebVTT are read here: it
loses numbers of cues and positions, notes, styles and regions, voices and times inside of a cue.

A sentence that goes on in the next cue is one passage; its translation is dealt out to the cues
and lines as the sentence was, and a line of more than 42 characters is set anew.
"""

import itertools
import re
import textwrap
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from transformer.config import UserError
from transformer.documents.passages import (
    InlineContent,
    Options,
    Parsed,
    Passage,
    Unit,
    has_words,
    plain_text,
    unescape,
)
from transformer.text.markup import MarkedText, Span

MAX_LINE = 42  # characters, as the guides of broadcasters want it
MAX_SENTENCE = 300  # characters that are read as one sentence, at most
NEAR = 15  # characters to the place where a sentence would be cut by its length
_PAUSES = (",", ";", ":")
_TIMES = re.compile(r"[ \t]{0,9}-?[\d:.,]{4,16}[ \t]{0,9}-->[ \t]{0,9}-?[\d:.,]{4,16}(?!\S)")
_TAG = re.compile(r"(<[^<>]*>|\{\\[^{}]*\})")  # <i>, <v Ana>, {\an8}
_OPENING, _CLOSING = re.compile(r"<(?!/)|\{\\[ibus]1\}"), re.compile(r"</|\{\\[ibus]0\}")
_KARAOKE = re.compile(r"\{[^{}]*\\(?:[kK][fo]?\d|p[1-9])")  # or a drawing
_ENDED = re.compile(r"[.!?…♪:][\"'»”’)\]]{0,3}$")
_STAYS = re.compile(r"(?:<|&lt;)\d{1,5}/(?:>|&gt;)")
_UNSEEN = "\u200e\u200f\u202a\u202b\u202c\ufeff"
_SPEAKER = re.compile(rf"[\s{_UNSEEN}]*(?:[-–—]|>>)")
_MARK = r"(?:>|&gt;){2,3}[ \t]*(?:[^\W\d_a-záéíóúüñ][^\n:a-záéíóúüñ]{0,30}:[ \t]*)?"
_LEAD = re.compile(rf"(?:{_MARK})?(?:[-–—]?[ \t]*(?:\.{{2,4}}|…)[ \t]*(?=\w))?")
_CAPTION = re.compile(r"[\[(][^\[\]()\n]*[\])][ \t]*")  # [DOOR OPENS], (sighs)
_LINE = re.compile(r"[^\r\n]*(?:\r*\n|\r)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class _Form:
    """How a format writes the tags of a cue, the ends of its lines, and < and &."""

    tag: re.Pattern[str] = _TAG
    end: re.Pattern[str] = re.compile(r"\r*\n|\r")
    newline: str = "\n"
    is_vtt: bool = False


_ASS = _Form(re.compile(r"(\{[^{}]*\}|\\h)"), re.compile(r"\\[Nn]"), "\\N")
_SUB = _Form(re.compile(r"(\{[^{}]*\}|(?m:^/))"), re.compile(r"\|"), "|")
_Cue = tuple[str, str, str]  # what is before it, its text, its style and speaker


@dataclass(frozen=True, slots=True)
class _Speech:
    """What one speaker says in a cue: lines with tags in them, and the tags around it all."""

    place: int  # among the parts of the file
    around: tuple[str, str]
    line: InlineContent[tuple[str, str]]  # marks are pairs of tags; other tags stay
    lead: str = ""  # dots, a mark of the speaker or the bracket of a caption
    voice: str = ""

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
            and not (self.line.placeholders or other.line.placeholders)
            and self.lead != "["
            and not other.lead.strip("….- \t")
            and self.voice == other.voice
            and not _ENDED.search(self.text)
            and start
            and start[0].isalnum()
            and not start[0].isupper()
            and not _SPEAKER.match(other.text)
        )


def timed(text: str, options: Options, is_vtt: bool = False) -> Parsed[str]:
    """The sentences of a SubRip or WebVTT file, whose cues stand below a line of times."""
    end = re.search(r"\r*\n", text)
    return _opened(_timed(text), _Form(newline=end[0] if end else "\n", is_vtt=is_vtt))


def ass(text: str, options: Options, kind: str = "ass") -> Parsed[str]:
    """The sentences of a SubStation file; comments, drawings, karaoke and effects stay."""
    return _opened(_events(text, kind), _ASS)


def sub(text: str, options: Options) -> Parsed[str]:
    """The sentences of a MicroDVD file."""
    return _opened(_frames(text), _SUB)


def _timed(text: str) -> Iterator[_Cue]:
    """The cues of SubRip and WebVTT, below a line of times; UserError where there is none."""
    before, is_any = "", False
    for is_cue, group in itertools.groupby(_LINE.findall(text), _Cues()):
        if is_cue:
            yield before, "".join(group), ""
            before, is_any = "", True
        else:
            before += "".join(group)
    if text and not is_any:
        raise UserError("expected subtitles, with times as 00:00:01,000 --> 00:00:02,000")
    yield before, "", ""


def _events(text: str, kind: str) -> Iterator[_Cue]:
    """The lines of dialogue of a SubStation file, as pysubs2 reads them."""
    import pysubs2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that it reads otherwise; they stay
        events = [*pysubs2.SSAFile.from_string(text, format_=kind)]
    place = end = 0
    for event in events:
        while not (line := _LINE.match(text, place)) or not (
            line[0].lstrip().startswith(f"{event.type}:")
            and line[0].rstrip().endswith(event.text.rstrip())
        ):
            if not line:
                raise UserError(f"expected {event.type}: in a line of its own")
            place = line.end()
        place, stop = line.end(), line.start() + len(line[0].rstrip())
        if not (event.is_comment or event.effect or _KARAOKE.search(event.text)):
            start = stop - len(event.text.rstrip())
            yield text[end:start], text[start:stop], f"{event.style},{event.name}"
            end = stop
    if not events:
        raise UserError("expected subtitles, with lines as Dialogue: 0,0:00:01.00,0:00:02.00,...")
    yield text[end:], "", ""


def _frames(text: str) -> Iterator[_Cue]:
    """The lines of a MicroDVD file, as pysubs2 reads them."""
    from pysubs2.formats.microdvd import MICRODVD_LINE

    end, is_any = 0, False
    for line in _LINE.finditer(text):
        if match := MICRODVD_LINE.match(line[0].rstrip()):
            start = line.start() + match.start(3)
            yield text[end:start], match[3], ""
            end, is_any = start + len(match[3]), True
    if not is_any:
        raise UserError("expected subtitles of MicroDVD, with lines as {25}{50}text")
    yield text[end:], "", ""


def _opened(read: Iterable[_Cue], form: _Form) -> Parsed[str]:
    parts: list[str] = []
    cues: list[list[_Speech]] = []
    for before, cue, voice in read:
        parts.append(before)
        speeches = []
        for said in _speakers(cue, form):
            body = _trimmed(said, form)
            speeches.append(_speech(len(parts), body, form, voice))
            parts += [body, said[len(body) :]]
        if speeches:
            cues.append(speeches)
    units = [unit for group in _sentences(cues) for unit in _unit(group, parts, form)]
    return Parsed(units, lambda: "".join(parts))


def _trimmed(text: str, form: _Form) -> str:
    """A text without spaces and ends of lines behind it."""
    while (kept := text.rstrip().removesuffix(form.newline)) != text:
        text = kept
    return text


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


def _speakers(cue: str, form: _Form) -> Iterator[str]:
    """What each says in a cue: the next one begins with a dash; a caption in front is apart."""
    own, start = "", 0
    for end in [*(match.end() for match in form.end.finditer(cue)), len(cue)]:
        line, start = cue[start:end], end
        if own and _SPEAKER.match(unescape(form.tag.sub("", line))):
            yield own
            own = ""
        caption = None if own else _CAPTION.match(line)
        if caption and end - len(line) + caption.end() < len(cue.rstrip()):
            cut = caption.end() if form.end.sub("", line[caption.end() :]) else len(line)
            yield line[:cut]
            line = line[cut:]
        own += line
    if own:
        yield own


def _speech(place: int, said: str, form: _Form, voice: str) -> _Speech:
    """Lines as text: tags around all of it, and pairs of tags around some of it as marks."""
    pieces = form.tag.split("\n".join(line.strip() for line in form.end.split(said)))
    opening: list[int] = []
    pairs: dict[int, int] = {}
    for i in range(1, len(pieces), 2):
        if _CLOSING.match(pieces[i]) and opening:
            pairs[opening.pop()] = i
        elif _OPENING.match(pieces[i]):
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
    lead, tail = _LEAD.match(pieces[first])[0], ""  # type: ignore[index]
    if first == last and _CAPTION.fullmatch(pieces[first]):  # without a space behind: trimmed
        lead, tail = pieces[first][0], pieces[first][-1]
    pieces[first] = pieces[first][len(lead) : len(pieces[first]) - len(tail)]
    around = "".join(pieces[:first]) + lead, tail + "".join(pieces[last + 1 :])
    parts: list[tuple[str | None, bool, tuple[str, str]]] = []
    for i in range(first, last + 1):
        if i % 2 == 0:
            is_marked = pairs.get(i - 1) == i + 1 and first < i < last
            own = (pieces[i - 1], pieces[i + 1]) if is_marked else ("", "")
            parts.append((unescape(pieces[i]) if form.is_vtt else pieces[i], is_marked, own))
        elif pairs.get(i) != i + 2 and pairs.get(i - 2) != i:
            parts.append((None, False, (pieces[i], "")))
    return _Speech(place, around, InlineContent(parts), "[" if tail else lead, voice)


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


def _unit(group: Sequence[_Speech], parts: list[str], form: _Form) -> Iterator[Unit]:
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
    kept = group[0].line.placeholders

    def put(marked: MarkedText) -> None:
        if plain_text(marked) == text:
            return
        if group[0].lead[-1:] in (".", "…") and text[0].islower():
            marked = [(marked[0][0][:1].lower() + marked[0][0][1:], marked[0][1]), *marked[1:]]
        said = plain_text(marked)
        spans = iter(_dealt(said, [speech.lines for speech in group]))
        stops = [*itertools.accumulate(len(piece) for piece, _ in marked)]
        for speech in group:
            lines = _set(said, next(spans))
            shown = form.newline.join(
                _shown(_between(marked, stops, span), tags, form.is_vtt) for span in lines
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
