"""Translation of passages, with marks where their words went and placeholders in their place.

The sentences of a passage with marks are aligned by attention, which says where the words went.
Where that is not known, or a placeholder is lost or repeated, the pieces between marks and
placeholders are translated one by one.
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


class TranslatedText(NamedTuple):
    """A translation and its warnings."""

    text: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TranslatedSegment:
    """A sentence with its translation `target`, or the text between two sentences, which stays.

    `aligned` is None between sentences, and where a sentence is not aligned: not asked for, too
    long, or the model cannot write that translation. `warnings` are as of a `Translation`.
    """

    text: str
    target: str
    aligned: "AlignedTranslation | None" = None
    warnings: tuple[str, ...] = ()


Translate = Callable[[Sequence[str]], Awaitable[Sequence["TranslatedText | Translation"]]]
Inspect = Callable[[str], Awaitable[Sequence[TranslatedSegment]]]
TranslatedPassages = tuple[PickledList[MarkedText], tuple[str, ...]]

# What no model writes where it stood: control characters, marks of direction, half characters.
_CONTROLS = re.compile(
    "([\x00-\x08\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]+)"
)
_TOUCHING = re.compile(r"(<\d{1,5}/>)\s*+(?=(<\d{1,5}/>))")
_FIXED = re.compile(f"{PLACEHOLDER.pattern[:-1]}|{_CONTROLS.pattern[1:]}")


async def translate_passages(
    passages: Iterable[Passage], translate: Translate, inspect: Inspect | None = None
) -> TranslatedPassages:
    """Return a list of the translation of each passage, and the warnings of them all.

    `translate` gets the texts in batches, so that other clients have their turn between, and
    returns their translations; `inspect`, if given, gets the text of a passage that has marks, and
    returns its sentences, aligned, and what is between them.
    """
    translations, warnings = PickledList[MarkedText](), dict[str, None]()
    for batch in batched(passages):
        batch_translations, batch_warnings = await _translate_batch(batch, translate, inspect)
        translations.extend(batch_translations)
        warnings |= dict.fromkeys(batch_warnings)
    return translations, tuple(warnings)


async def _translate_batch(
    passages: Sequence[Passage], translate: Translate, inspect: Inspect | None
) -> tuple[list[MarkedText], list[str]]:
    done: dict[int, MarkedText] = {}
    warnings: list[str] = []
    clean = [i for i, passage in enumerate(passages) if not _CONTROLS.search(passage.text)]
    plain = [i for i in clean if not passages[i].marks]
    translations = await translate([passages[i].text for i in plain]) if plain else []
    for i, translation in zip(plain, translations, strict=True):
        done[i] = [(translation.text, None)]
        warnings += translation.warnings
    for i in clean:
        if inspect is not None and passages[i].marks:
            done[i], own = await _translate_aligned(passages[i], translate, inspect)
            warnings += own
    rest = [i for i, p in enumerate(passages) if i not in done or not _is_complete(p, done[i])]
    pieces = await _translate_pieces([passages[i] for i in rest], translate)
    done |= zip(rest, pieces, strict=True)
    return [done[i] for i in range(len(passages))], warnings


def _is_complete(passage: Passage, marked: MarkedText) -> bool:
    """Return whether `marked` has each mark and placeholder once, and none newly side by side."""
    if passage.placeholders:
        text = plain_text(marked)
        counts = Counter(PLACEHOLDER.findall(text))
        if any(counts[token] != 1 for token in passage.placeholders):
            return False
        if {*_TOUCHING.findall(text)} - {*_TOUCHING.findall(passage.text)}:
            return False
    return len([mark for _, mark in marked if mark is not None]) == len(passage.marks)


async def _translate_pieces(passages: Sequence[Passage], translate: Translate) -> list[MarkedText]:
    """Translate the pieces between marks, placeholders and control characters one by one."""
    pieces = [
        [
            (piece, mark, i % 2 == 0 and has_words(piece))
            for text, mark in split_at_marks(passage.text, passage.marks)
            for i, piece in enumerate(_FIXED.split(text))
        ]
        for passage in passages
    ]
    texts = [text for own in pieces for text, _, is_text in own if is_text]
    translations = iter(await translate(texts) if texts else [])
    return [
        merge_adjacent(
            (next(translations).text if is_text else text, mark) for text, mark, is_text in own
        )
        for own in pieces
    ]


async def _translate_aligned(
    passage: Passage, translate: Translate, inspect: Inspect
) -> tuple[MarkedText, list[str]]:
    """Translate a passage with marks; return its pieces with their marks, and the warnings.

    Marks go where attention says; a sentence where it does not is translated in pieces.
    """
    pieces: list[tuple[str, int | None]] = []
    warnings: list[str] = []
    starts, ends = [a for a, _ in passage.marks], [b for _, b in passage.marks]
    end = 0
    for segment in await inspect(passage.text):
        start, end = end, end + len(segment.text)
        numbers = range(bisect_right(ends, start), bisect_left(starts, end))
        spans = [(max(starts[n], start) - start, min(ends[n], end) - start) for n in numbers]
        try:
            marked = _project_marks(segment, spans)
        except ValueError:
            (marked,) = await _translate_pieces([Passage(segment.text, tuple(spans))], translate)
        pieces += [(text, None if mark is None else numbers[mark]) for text, mark in marked]
        warnings += segment.warnings
    return merge_adjacent(_join_marks(pieces)), warnings


def _join_marks(pieces: Sequence[tuple[str, int | None]]) -> Iterator[tuple[str, int | None]]:
    """Yield the pieces in order; all from the first to the last one of a mark get this mark.

    So a mark over several sentences covers what stands between them.
    """
    last = {mark: place for place, (_, mark) in enumerate(pieces) if mark is not None}
    inside, end = None, -1
    for place, (text, mark) in enumerate(pieces):
        if place > end:
            inside, end = mark, place if mark is None else last[mark]
        yield text, inside


def _project_marks(segment: TranslatedSegment, marks: Sequence[Span]) -> MarkedText:
    """Return the translation of a segment in pieces, with `marks`, spans of its source.

    ValueError if its words are not aligned, or if a mark gets no word.
    """
    if not marks:
        return [(segment.target, None)]
    if segment.text == segment.target:
        return split_at_marks(segment.text, marks)
    if segment.aligned is None:
        raise ValueError("expected a sentence whose words are aligned")
    sides = segment.aligned.source_words, segment.aligned.target_words
    words = [word.text for word in sides[0]], [word.text for word in sides[1]]
    texts = segment.text, segment.target
    marked = project_markup(texts, marks, words, segment.aligned.alignment())
    if not all(text for text, _ in marked):
        raise ValueError("expected a word for each mark")
    return marked


def translate_file(
    content: bytes,
    name: str,
    translate: Callable[[Sequence[str]], Sequence[str]],
    inspect: Callable[[str], Sequence[TranslatedSegment]] | None = None,
    options: Options | None = None,
) -> bytes:
    """Translate a file of any of the formats, known by its name or suffix.

    `inspect` returns aligned sentences, by which bold words and links follow their words; without
    it the pieces between them are translated one by one. Warnings are dropped. `options` of None
    are `Options()`. UserError if it cannot be read or written.
    """

    async def translate_texts(texts: Sequence[str]) -> list[TranslatedText]:
        return [TranslatedText(text) for text in translate(texts)]

    async def inspect_text(text: str) -> Sequence[TranslatedSegment]:
        return inspect(text) if inspect else ()

    suffix = formats.resolve_suffix(PurePath(f"file{name}").suffix, content[: guess.HEAD])
    document = formats.read(content, suffix, options or Options())
    translations, _ = _run(
        translate_passages(document.passages, translate_texts, inspect_text if inspect else None)
    )
    return document.write([*translations])


def _run(coroutine: Coroutine[Any, Any, TranslatedPassages]) -> TranslatedPassages:
    """Return the result of a coroutine that waits for nothing; RuntimeError if it waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("expected translations at once")


def align_segments(
    plain: "Translator",
    sentences: Sequence["Segment"],
    translations: Sequence["TranslatedText | Translation"],
    decode: DecodeConfig,
) -> list[TranslatedSegment]:
    """Align sentences with their translations.

    If the model alone (`plain`), without guard and glossary, gives another translation, it is
    forced to produce the given one; where it cannot, `aligned` of the segment is None.
    """
    from transformer.explain.alignment import align, align_given, can_align

    known = dict.fromkeys(s.text for s in sentences if can_align(plain, s.text))
    alignments = dict(zip(known, align(plain, [*known], (), decode), strict=True))
    segments = []
    for sentence, translation in zip(sentences, translations, strict=True):
        text, target = sentence.text, translation.text
        aligned = alignments.get(text)
        if aligned and aligned.target != target:
            aligned = align_given(plain, text, target, decode)
        segments.append(TranslatedSegment(text, target, aligned, translation.warnings))
    return segments


def inspect_text(
    translator: "TextTranslator", plain: "Translator", text: str, decode: DecodeConfig
) -> list[TranslatedSegment]:
    """Return the aligned sentences of a text and what is between; `plain` aligns, without guard."""
    layout = translator.split(text)
    translations = translator.translate_segments(layout.sentences, decode)
    aligned = iter(align_segments(plain, layout.sentences, translations, decode))
    return [
        next(aligned) if segment.is_sentence else TranslatedSegment(segment.text, segment.text)
        for segment in layout.segments
    ]
