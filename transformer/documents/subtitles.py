"""Subtitles: cues keep their times, styles, speakers, tags and lines.

SubStation (ass, ssa) and MicroDVD (sub) are read by pysubs2. SubRip and WebVTT are read here: it
loses numbers of cues and positions, notes, styles and regions, voices and times inside of a cue.

A sentence that goes on in the next cue is one passage; its translation is divided among the cues
and lines as the sentence was, and a cue with a line of more than 42 characters is wrapped again.
"""

import itertools
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

from transformer.config import UserError
from transformer.documents.edits import TextEdits
from transformer.documents.passages import (
    InlineContent,
    Options,
    Parsed,
    Passage,
    Unit,
    has_words,
    merge_adjacent,
    plain_text,
    unescape,
)
from transformer.text.markup import MarkedText
from transformer.text.spans import Span

MAX_LINE = 42  # characters, as the guides of broadcasters want it
MAX_SENTENCE = 300  # characters that are read as one sentence, at most
NEAR = 15  # characters to the place where a sentence would be cut by its length
_PAUSES = (",", ";", ":")
_TIMES = re.compile(r"[ \t]{0,9}-?[\d:.,]{4,16}[ \t]{0,9}-->[ \t]{0,9}-?[\d:.,]{4,16}(?!\S)")
_TAG = re.compile(r"(<[^<>]*>|\{\\[^{}]*\})")  # <i>, <v Ana>, {\an8}
_OPENING, _CLOSING = re.compile(r"<(?!/)|\{\\[ibus]1\}"), re.compile(r"</|\{\\[ibus]0\}")
_KARAOKE = re.compile(r"\{[^{}]*\\(?:[kK][fo]?\d|p[1-9])")  # or a drawing
_SENTENCE_END = re.compile(r"[.!?…♪:][\"'»”’)\]]{0,3}$")
_PLACEHOLDER = re.compile(r"(?:<|&lt;)\d{1,5}/(?:>|&gt;)")
_INVISIBLE = "\u200e\u200f\u202a\u202b\u202c\ufeff"
_SPEAKER = re.compile(rf"[\s{_INVISIBLE}]*(?:[-–—]|>>)")
_SPEAKER_MARK = r"(?:>|&gt;){2,3}[ \t]*(?:[^\W\d_a-záéíóúüñ][^\n:a-záéíóúüñ]{0,30}:[ \t]*)?"
_LEAD = re.compile(rf"(?:{_SPEAKER_MARK})?(?:[-–—]?[ \t]*(?:\.{{2,4}}|…)[ \t]*(?=\w))?")
_CAPTION = re.compile(r"[\[(][^\[\]()\n]*[\])][ \t]*")  # [DOOR OPENS], (sighs)
_LINE = re.compile(r"[^\r\n]*(?:\r*\n|\r)|[^\r\n]+")
_wrap = partial(
    textwrap.wrap, break_long_words=False, break_on_hyphens=False,
    expand_tabs=False, replace_whitespace=False,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Syntax:
    """What a tag and a line end are, what is written for one; with `is_vtt` < and & are escaped."""

    tag: re.Pattern[str] = _TAG
    line_end: re.Pattern[str] = re.compile(r"\r*\n|\r")
    newline: str = "\n"
    is_vtt: bool = False


_ASS = _Syntax(re.compile(r"(\{[^{}]*\}|\\h)"), re.compile(r"\\[Nn]"), "\\N")
_SUB = _Syntax(re.compile(r"(\{[^{}]*\}|(?m:^/))"), re.compile(r"\|"), "|")
_Cue = tuple[int, int, str]  # where its text begins and ends, its style and speaker


@dataclass(slots=True)
class _Speech:
    """What one speaker says in a cue.

    `written` is the source, or its translation if another; `around` are the tags before and after
    all of it. In `content` the part of a mark is two tags, of a placeholder (tag, ""). `lead` is
    dots, a speaker's mark or a caption's bracket, `voice` the style and speaker in the file.
    """

    written: str
    around: tuple[str, str]
    content: InlineContent[tuple[str, str]]
    lead: str
    voice: str

    @property
    def lines(self) -> list[str]:
        return self.content.passage.text.split("\n")

    @property
    def text(self) -> str:
        return " ".join(self.lines)

    def continues_in(self, other: "_Speech") -> bool:
        """Return whether the sentence seems to go on in the next speech."""
        first = other.text.lstrip(f"¿¡\"'«“(… .{_INVISIBLE}")[:1]
        is_open = self.text and self.lead != "[" and not _SENTENCE_END.search(self.text)
        is_rest = first.isalnum() and not first.isupper() and not _SPEAKER.match(other.text)
        has_own = (
            self.content.placeholders or other.content.placeholders or self.voice != other.voice
        )
        return bool(is_open and is_rest and not has_own and not other.lead.strip("….- \t"))


def parse_timed(text: str, options: Options, is_vtt: bool = False) -> Parsed[str]:
    """Parse the sentences of a SubRip or, with `is_vtt`, a WebVTT file; UserError without times."""
    end = re.search(r"\r*\n", text)
    cues = [*_timed_cues(text)]
    if text and not cues:
        raise UserError("expected subtitles, with times as 00:00:01,000 --> 00:00:02,000")
    return _parse_cues(text, cues, _Syntax(newline=end[0] if end else "\n", is_vtt=is_vtt))


def _timed_cues(text: str) -> Iterator[_Cue]:
    start = None
    for line in _LINE.finditer(text):
        is_times = _TIMES.match(line[0])
        if is_times or not line[0].strip():
            if start is not None and start < line.start():
                yield start, line.start(), ""
            start = line.end() if is_times else None
    if start is not None and start < len(text):
        yield start, len(text), ""


def parse_substation(text: str, options: Options, kind: str = "ass") -> Parsed[str]:
    """Parse the dialogue of a SubStation file; comments, drawings, karaoke and effects stay.

    Raises UserError if there is none. `kind` is the format of pysubs2, "ass" or "ssa".
    """
    import pysubs2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that it reads otherwise; they stay
        events = [*pysubs2.SSAFile.from_string(text, format_=kind)]
    if not events:
        raise UserError("expected subtitles, with lines as Dialogue: 0,0:00:01.00,0:00:02.00,...")
    cues, lines = list[_Cue](), _LINE.finditer(text)
    for event in events:
        speech = event.text.rstrip()
        for line in lines:
            if line[0].lstrip().startswith(f"{event.type}:") and line[0].rstrip().endswith(speech):
                break
        else:
            raise UserError(f"expected {event.type}: in a line of its own")
        stop = line.start() + len(line[0].rstrip())
        if not (event.is_comment or event.effect or _KARAOKE.search(event.text)):
            cues.append((stop - len(speech), stop, f"{event.style},{event.name}"))
    return _parse_cues(text, cues, _ASS)


def parse_microdvd(text: str, options: Options) -> Parsed[str]:
    """Parse the sentences of a MicroDVD file; UserError if it has no line as {25}{50}text."""
    from pysubs2.formats.microdvd import MICRODVD_LINE

    cues = [
        (line.start() + match.start(3), line.start() + match.end(3), "")
        for line in _LINE.finditer(text)
        if (match := MICRODVD_LINE.match(line[0].rstrip()))
    ]
    if not cues:
        raise UserError("expected subtitles of MicroDVD, with lines as {25}{50}text")
    return _parse_cues(text, cues, _SUB)


def _parse_cues(text: str, cues: Sequence[_Cue], syntax: _Syntax) -> Parsed[str]:
    edits = TextEdits(text)
    speeches: list[list[_Speech]] = []  # of each cue
    for start, stop, voice in cues:
        speeches.append([])
        for source in _split_speakers(text[start:stop], syntax):
            body = source
            while (shorter := body.rstrip().removesuffix(syntax.newline)) != body:
                body = shorter
            speech = _parse_speech(body, syntax, voice)
            edits.replace(start, start + len(body), partial(getattr, speech, "written"))
            speeches[-1].append(speech)
            start += len(source)
    units = [unit for group in _sentences(speeches) for unit in _unit(group, syntax)]
    return Parsed(units, edits.parsed().render)


def _split_speakers(cue: str, syntax: _Syntax) -> Iterator[str]:
    """Yield the parts of a cue, one for each speaker; joined they are the cue.

    A part begins at a line with a dash or >>. A caption such as [DOOR OPENS] before speech is a
    part of its own.
    """
    speech, start = "", 0
    for end in [*(match.end() for match in syntax.line_end.finditer(cue)), len(cue)]:
        line, start = cue[start:end], end
        if speech and _SPEAKER.match(unescape(syntax.tag.sub("", line))):
            yield speech
            speech = ""
        caption = None if speech else _CAPTION.match(line)
        if caption and end - len(line) + caption.end() < len(cue.rstrip()):
            is_alone = not syntax.line_end.sub("", line[caption.end() :])
            cut = len(line) if is_alone else caption.end()
            yield line[:cut]
            line = line[cut:]
        speech += line
    if speech:
        yield speech


def _parse_speech(text: str, syntax: _Syntax, voice: str) -> _Speech:
    """Parse the lines of a speaker (`voice`): tags around all stay, pairs around some are marks."""
    pieces = syntax.tag.split("\n".join(line.strip() for line in syntax.line_end.split(text)))
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for i in range(1, len(pieces), 2):
        if _CLOSING.match(pieces[i]) and opened:
            pairs[opened.pop()] = i
        elif _OPENING.match(pieces[i]):
            opened.append(i)
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
            tags = (pieces[i - 1], pieces[i + 1]) if is_marked else ("", "")
            parts.append((unescape(pieces[i]) if syntax.is_vtt else pieces[i], is_marked, tags))
        elif pairs.get(i) != i + 2 and pairs.get(i - 2) != i:
            parts.append((None, False, (pieces[i], "")))
    return _Speech(text, around, InlineContent(parts), "[" if tail else lead, voice)


def _sentences(cues: Sequence[Sequence[_Speech]]) -> list[list[_Speech]]:
    """Return lists of speeches that are one sentence; `cues` are the speeches of each cue."""
    groups: list[list[_Speech]] = []
    for speeches in cues:
        for speech in speeches:
            group = groups[-1] if groups and len(speeches) == 1 else []
            is_short = sum(len(each.text) for each in group) < MAX_SENTENCE
            if group and is_short and group[-1].continues_in(speech):
                group.append(speech)
            else:
                groups.append([speech])
    return groups


def _unit(group: Sequence[_Speech], syntax: _Syntax) -> Iterator[Unit]:
    text = " ".join(speech.text for speech in group)
    if not has_words(text):
        return
    starts = itertools.accumulate((len(speech.text) + 1 for speech in group), initial=0)
    marks = [
        (start + a, start + b)
        for start, speech in zip(starts, group, strict=False)
        for a, b in speech.content.passage.marks
    ]
    tags = [pair for speech in group for pair in speech.content.marked]
    placeholders = group[0].content.placeholders

    def set_marked(marked: MarkedText) -> None:
        translation = plain_text(marked)
        if translation == text:
            return
        if group[0].lead[-1:] in (".", "…") and text[0].islower():
            translation = translation[:1].lower() + translation[1:]
            marked = [(marked[0][0][:1].lower() + marked[0][0][1:], marked[0][1]), *marked[1:]]
        characters = [(character, mark) for piece, mark in marked for character in piece]
        spans = _divide(translation, [speech.lines for speech in group])
        for speech, lines in zip(group, spans, strict=True):
            shown = syntax.newline.join(
                "".join(_render_line(characters, line, tags, syntax.is_vtt))
                for line in _rewrap(translation, lines)
            )
            shown = _PLACEHOLDER.sub(lambda m: placeholders.get(unescape(m[0]), (m[0],))[0], shown)
            speech.written = speech.around[0] + shown + speech.around[1]

    yield Passage(text, tuple(marks), tuple(placeholders)), set_marked


def _divide(text: str, source_lines: Sequence[Sequence[str]]) -> list[list[Span]]:
    """Return the spans in `text` of each cue's lines, cut at words in proportion to `source_lines`.

    A cue that ended with a comma does so again, if one is near.
    """
    words = [match.span() for match in re.finditer(r"\S+", text)]
    total = sum(len(line) for lines in source_lines for line in lines)
    divided: list[list[Span]] = []
    done, first = 0, 0
    for lines in source_lines:
        divided.append([])
        for i, line in enumerate(lines):
            done += len(line)
            target = len(text) * done / max(1, total)
            last = first
            while last < len(words) and (done >= total or sum(words[last]) / 2 <= target):
                last += 1
            if i == len(lines) - 1 and line[-1:] in _PAUSES and done < total:
                near = [
                    j
                    for j in range(max(first + 1, last - 3), min(len(words), last + 3))
                    if text[words[j - 1][1] - 1] in _PAUSES and abs(words[j][0] - target) <= NEAR
                ]
                last = min(near, key=lambda j: abs(words[j][0] - target), default=last)
            if last > first:
                divided[-1].append((words[first][0], words[last - 1][1]))
            first = last
    return divided


def _rewrap(text: str, lines: Sequence[Span]) -> list[Span]:
    """Return the line spans of a cue; if one is too long, cut the cue into few of equal length."""
    if all(b - a <= MAX_LINE for a, b in lines):
        return [*lines]
    start, stop = lines[0][0], lines[-1][1]
    cue = text[start:stop]
    n_lines = len(_wrap(cue, MAX_LINE))
    widths = range(max(1, len(cue) // n_lines), MAX_LINE)
    width = next((w for w in widths if len(_wrap(cue, w)) <= n_lines), MAX_LINE)
    spans, end = [], start
    for line in _wrap(cue, width):
        begin = text.index(line, end)
        end = begin + len(line)
        spans.append((begin, end))
    return spans


def _render_line(
    characters: MarkedText, line: Span, tags: Sequence[tuple[str, str]], is_vtt: bool
) -> Iterator[str]:
    """Yield the pieces of a translation that stand in a line, with their tags.

    `characters` are its pieces of one character each, `tags` those around each mark; `is_vtt`: <
    and & are escaped.
    """
    for text, mark in merge_adjacent(characters[slice(*line)]):
        before, after = tags[mark] if mark is not None else ("", "")
        yield before + (escape(text, quote=False) if is_vtt else text) + after
