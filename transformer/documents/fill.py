"""Passages translated with their marks where their words went, and with what stays in them.

A sentence with marks is looked into, for its attention tells where the words went. Where that
does not tell, or what must stay does not come out once, the stretches between are translated.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from transformer.config import DecodeConfig
from transformer.documents import formats, guess
from transformer.documents.passages import (
    PLACEHOLDER,
    Options,
    Passage,
    PickledList,
    batched,
    has_words,
    merge_adjacent,
    plain_text,
)
from transformer.text.markup import MarkedText, project_markup, split_at_marks
from transformer.text.spans import Span

if TYPE_CHECKING:
    from transformer.explain.alignment import AlignedTranslation
    from transformer.text.sentences import Segment
    from transformer.translation.translator import TextTranslator, Translation, Translator


class Said(NamedTuple):
    """A translation without more."""

    text: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence, its translation and what is known of it; or the text between two, which stays."""

    text: str
    target: str
    aligned: "AlignedTranslation | None" = None
    warnings: tuple[str, ...] = ()


Translate = Callable[[Sequence[str]], Awaitable[Sequence["Said | Translation"]]]
Inspect = Callable[[str], Awaitable[Sequence[Part]]]
Filled = tuple[PickledList[MarkedText], tuple[str, ...]]

# What no model writes where it stood: control characters, marks of direction, half characters.
_CONTROLS = re.compile(
    "([\x00-\x08\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]+)"
)
_TOUCHING = re.compile(r"(<\d{1,5}/>)\s*+(?=(<\d{1,5}/>))")
_FIXED = re.compile(rf"({PLACEHOLDER.pattern[1:-1]}|{_CONTROLS.pattern[1:-1]})")


async def fill(
    passages: Iterable[Passage], translate: Translate, inspect: Inspect | None = None
) -> Filled:
    """A translation for each passage, in order, and the warnings of them all.

    Some hundred are asked for at once, so that who else waits has a turn between.
    """
    filled, warnings = PickledList[MarkedText](), dict[str, None]()
    for some in batched(passages):
        more, own = await _fill(some, translate, inspect)
        filled.extend(more)
        warnings |= dict.fromkeys(own)
    return filled, tuple(warnings)


async def _fill(
    passages: Sequence[Passage], translate: Translate, inspect: Inspect | None
) -> tuple[list[MarkedText], list[str]]:
    filled: dict[int, MarkedText] = {}
    warnings: list[str] = []
    clean = [i for i, passage in enumerate(passages) if not _CONTROLS.search(passage.text)]
    whole = [i for i in clean if not passages[i].marks]
    translations = await translate([passages[i].text for i in whole]) if whole else []
    for i, translation in zip(whole, translations, strict=True):
        filled[i] = [(translation.text, None)]
        warnings += translation.warnings
    for i in clean:
        if inspect is not None and passages[i].marks:
            filled[i], more = await _by_attention(passages[i], translate, inspect)
            warnings += more
    apart = [i for i, p in enumerate(passages) if i not in filled or not _keeps(p, filled[i])]
    for i, marked in zip(apart, await _apart([passages[i] for i in apart], translate), strict=True):
        filled[i] = marked
    return [filled[i] for i in range(len(passages))], warnings


def _keeps(passage: Passage, marked: MarkedText) -> bool:
    """Whether all that stays has come out once, no words between lost, and every mark, once."""
    if passage.placeholders:
        text = plain_text(marked)
        counts = Counter(match.group() for match in PLACEHOLDER.finditer(text))
        if any(counts[token] != 1 for token in passage.placeholders):
            return False
        if {*_TOUCHING.findall(text)} - {*_TOUCHING.findall(passage.text)}:
            return False
    return len([mark for _, mark in marked if mark is not None]) == len(passage.marks)


async def _apart(passages: Sequence[Passage], translate: Translate) -> list[MarkedText]:
    """The stretches between marks and what stays, translated each by itself."""
    pieces = [
        [
            (stretch, mark, i % 2 == 0 and has_words(stretch))
            for text, mark in split_at_marks(passage.text, passage.marks)
            for i, stretch in enumerate(_FIXED.split(text))
        ]
        for passage in passages
    ]
    asked = [text for own in pieces for text, _, is_said in own if is_said]
    translations = iter(await translate(asked) if asked else [])
    return [
        merge_adjacent(
            (next(translations).text if is_said else text, mark) for text, mark, is_said in own
        )
        for own in pieces
    ]


async def _by_attention(
    passage: Passage, translate: Translate, inspect: Inspect
) -> tuple[MarkedText, list[str]]:
    """A passage in pieces by the attention of its words, sentence by sentence."""
    pieces: list[tuple[str, int | None]] = []
    warnings: list[str] = []
    starts, ends = [a for a, _ in passage.marks], [b for _, b in passage.marks]
    end = 0
    for part in await inspect(passage.text):
        start, end = end, end + len(part.text)
        clipped = [
            ((max(starts[number], start) - start, min(ends[number], end) - start), number)
            for number in range(bisect_right(ends, start), bisect_left(starts, end))
        ]
        spans = [span for span, _ in clipped]
        try:
            marked = _projected(part, spans)
        except ValueError:
            (marked,) = await _apart([Passage(part.text, tuple(spans))], translate)
        pieces += [(text, None if mark is None else clipped[mark][1]) for text, mark in marked]
        warnings += part.warnings
    return merge_adjacent(_in_one(pieces)), warnings


def _in_one(pieces: Sequence[tuple[str, int | None]]) -> Iterator[tuple[str, int | None]]:
    """A mark of several sentences in one stretch, with what came to stand inside of it."""
    last = {mark: place for place, (_, mark) in enumerate(pieces) if mark is not None}
    inside, end = None, -1
    for place, (text, mark) in enumerate(pieces):
        if place > end:
            inside, end = mark, place if mark is None else last[mark]
        yield text, inside


def _projected(part: Part, marks: Sequence[Span]) -> MarkedText:
    """A sentence's translation in pieces; ValueError where nothing tells where its marks are."""
    if not marks:
        return [(part.target, None)]
    if part.text == part.target:
        return split_at_marks(part.text, marks)
    if part.aligned is None:
        raise ValueError("expected a sentence whose words are aligned")
    names = part.aligned.source_words, part.aligned.target_words
    words = [word.text for word in names[0]], [word.text for word in names[1]]
    marked = project_markup((part.text, part.target), marks, words, part.aligned.alignment())
    if not all(text for text, _ in marked):
        raise ValueError("expected a word for each mark")
    return marked


def translate_file(
    content: bytes,
    name: str,
    translate: Callable[[Sequence[str]], Sequence[str]],
    inspect: Callable[[str], Sequence[Part]] | None = None,
    options: Options | None = None,
) -> bytes:
    """A file of any of the formats, told by its name or ending, with its texts translated.

    `inspect` lets bold words and links follow their words; without it the stretches between are
    translated one by one. UserError for a file that cannot be read.
    """

    async def translated(texts: Sequence[str]) -> list[Said]:
        return [Said(text) for text in translate(texts)]

    async def inspected(text: str) -> Sequence[Part]:
        return inspect(text) if inspect else ()

    ending = formats.resolve_suffix(PurePath(f"file{name}").suffix, content[: guess.HEAD])
    document = formats.read(content, ending, options or Options())
    filling = fill(document.passages, translated, inspected if inspect else None)
    return document.write([*_run(filling)[0]])


def aligned_parts(
    plain: "Translator",
    sentences: Sequence["Segment"],
    translations: Sequence["Said | Translation"],
    decode: DecodeConfig,
) -> list[Part]:
    """Sentences, aligned with their translations.

    What the model says otherwise without a guard or a glossary, it is made to say.
    """
    from transformer.explain.alignment import align, align_given, can_align

    known = dict.fromkeys(s.text for s in sentences if can_align(plain, s.text))
    aligned = dict(zip(known, align(plain, [*known], (), decode), strict=True))
    parts = []
    for sentence, said in zip(sentences, translations, strict=True):
        own = aligned.get(sentence.text)
        if own and own.target != said.text:
            own = align_given(plain, sentence.text, said.text, decode)
        parts.append(Part(sentence.text, said.text, own, said.warnings))
    return parts


def inspect_text(
    opened: "TextTranslator", plain: "Translator", text: str, decode: DecodeConfig
) -> list[Part]:
    """The sentences of a text, aligned, and what is between them: for `translate_file`."""
    layout = opened.split(text)
    translations = opened.translate_segments(layout.sentences, decode)
    parts = iter(aligned_parts(plain, layout.sentences, translations, decode))
    return [
        next(parts) if segment.is_sentence else Part(segment.text, segment.text)
        for segment in layout.segments
    ]


def _run(coroutine: Coroutine[Any, Any, Filled]) -> Filled:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("expected translations at once")
