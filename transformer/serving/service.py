"""Translation for many clients: texts to sentences, sentences to the scheduler, and back."""

import asyncio
import dataclasses
import sys
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

from transformer.config import DecodeConfig, Direction
from transformer.documents.passages import Passage
from transformer.documents.translate import (
    TranslatedPassages,
    TranslatedSegment,
    align_segments,
    translate_passages,
)
from transformer.explain.alignment import Alternative, align, alternatives
from transformer.serving.attention_maps import AttentionMaps
from transformer.serving.errors import RequestError
from transformer.serving.scheduler import Observer, Scheduler
from transformer.serving.schema import Detected
from transformer.text import spelling
from transformer.text.glossary import Glossary
from transformer.text.language import LANGUAGES, detect
from transformer.text.sentences import Segment
from transformer.translation.directions import Directions
from transformer.translation.quality_checks import term_pattern
from transformer.translation.translator import Layout, Translation

DETECT_CHARS = 2000  # characters that suffice to detect a language
# Costs, in characters: of a batch, of its shortest sentence, of one after a prefix. To align a
# sentence costs a multiple of its length.
BATCH_COST, MIN_COST, PREFIX_COST, ALIGNMENT_FACTOR = 4096, 32, 1024, 4


@dataclasses.dataclass(frozen=True, slots=True)
class TextOptions:
    """How a text is translated: with typos corrected or not, with a glossary or the server's."""

    spelling: bool = True
    glossary: Glossary | None = None  # None: the server's


@dataclasses.dataclass(frozen=True, slots=True)
class Inspection:
    """A sentence whose translation is inspected, and the ids that the translation begins with."""

    sentence: Segment
    prefix: tuple[int, ...] = ()


class Service:
    """Answers any number of concurrent requests with one thread that computes."""

    def __init__(
        self, directions: Directions, decode: DecodeConfig, max_waiting: int, observe: Observer
    ) -> None:
        """Serve `directions`; at most `max_waiting` sentences wait.

        `observe` gets the size and seconds of each batch.
        """
        self.directions = directions
        self._decode, self._maps = decode, AttentionMaps(directions)
        self.scheduler = Scheduler(
            self._compute, cost=_cost, budget=BATCH_COST, max_waiting=max_waiting, observe=observe
        )

    def start(self) -> None:
        """Load models and tables, UserError if one fails; start the scheduler. Call it once."""
        detect("No.")
        for langs in self.directions.available:
            self.directions.translator(langs).translate(["No."])
        self.scheduler.start()

    def release_idle(self) -> None:
        """Free what no present request needs: an ended process, the patterns of past terms."""
        self._maps.release_idle()
        term_pattern.cache_clear()

    def stop(self) -> None:
        """Finish what was submitted, then end the thread and the process of attention maps."""
        self.scheduler.stop()
        self._maps.close()

    async def translate(
        self, texts: Sequence[str], langs: Direction, options: TextOptions, n_best: int = 1
    ) -> list[Translation]:
        """Return a translation of each text, with up to `n_best` candidates.

        UserError for a direction that is not served, RequestError 503 if the server is busy or
        stopping.
        """
        decode = dataclasses.replace(
            self._decode, beam_size=max(self._decode.beam_size, n_best), n_best=n_best
        )
        layouts = [self._layout(text, langs, options) for text in texts]
        sentences = [sentence for layout in layouts for sentence in layout.sentences]
        results = iter(await self._submit(("translate", langs, decode), sentences))
        return [layout.join(results, n_best) for layout in layouts]

    def _layout(self, text: str, langs: Direction, options: TextOptions) -> Layout:
        layout = self.directions.translator(langs).split(text, options.glossary)
        return layout if options.spelling else layout.without_corrections()

    async def translate_passages(
        self, passages: Iterable[Passage], langs: Direction, options: TextOptions
    ) -> TranslatedPassages:
        """Return passages translated, markup in place, and warnings; raises as `translate`."""
        return await translate_passages(
            passages,
            lambda texts: self.translate(texts, langs, options),
            lambda text: self.inspect(text, langs, options),
        )

    async def inspect(
        self,
        text: str,
        langs: Direction,
        options: TextOptions,
        max_inspected: int = sys.maxsize,
        with_maps: bool = False,
    ) -> list[TranslatedSegment]:
        """Return the sentences of a text aligned with their translations, and what is between.

        Sentences after the first `max_inspected` are only translated. With maps, the alignment of a
        sentence is a `Trace`. UserError for a direction that is not served,
        RequestError 503 if the server is busy or stopping.
        """
        layout = self._layout(text, langs, options)
        rest = layout.sentences[max_inspected:]
        inspections = [Inspection(sentence) for sentence in layout.sentences[:max_inspected]]
        inspected = await self._submit(("inspect", langs), inspections)
        if with_maps:
            inspected = [await self._add_maps(part, langs) for part in inspected]
        translated = await self._submit(("translate", langs, self._decode), rest)
        inspected += [
            TranslatedSegment(sentence.text, translation.text, None, translation.warnings)
            for sentence, translation in zip(rest, translated, strict=True)
        ]
        parts = iter(inspected)
        return [
            next(parts) if segment.is_sentence else TranslatedSegment(segment.text, segment.text)
            for segment in layout.segments
        ]

    async def continue_after(
        self, sentence: str, langs: Direction, prefix: Sequence[int], *, with_maps: bool = False
    ) -> TranslatedSegment:
        """Translate a sentence so that its translation begins with the ids of `prefix`.

        With maps, its alignment is a `Trace`. UserError for an invalid prefix or too long a
        sentence, RequestError 503 if the server is busy or stopping.
        """
        kind = "continue" if prefix else "inspect"
        part: TranslatedSegment = await self._submit_prefix(kind, sentence, langs, prefix)
        return await self._add_maps(part, langs, prefix) if with_maps else part

    async def alternatives(
        self, sentence: str, langs: Direction, prefix: Sequence[int]
    ) -> list[Alternative]:
        """Return up to 8 words that may follow, likeliest first; raises as `continue_after`."""
        words: list[Alternative]
        words = await self._submit_prefix("alternatives", sentence, langs, prefix)
        return words

    async def _add_maps(
        self, part: TranslatedSegment, langs: Direction, prefix: Sequence[int] = ()
    ) -> TranslatedSegment:
        if part.aligned is None:
            return part
        traced = await self._maps.trace(langs, part.text, prefix, self._decode)
        return dataclasses.replace(part, aligned=traced)

    async def _submit_prefix(
        self, kind: str, sentence: str, langs: Direction, prefix: Sequence[int]
    ) -> Any:
        inspection = Inspection(Segment(text=sentence, is_sentence=True), tuple(prefix))
        return (await self._submit((kind, langs), [inspection]))[0]

    async def _submit(self, key: Hashable, items: Sequence[Any]) -> list[Any]:
        return await asyncio.wrap_future(self.scheduler.submit(key, items))

    def _compute(self, key: Any, items: Sequence[Any]) -> Sequence[Any]:
        kind, langs, *rest = key
        translator, plain = self.directions.translator(langs), self.directions.unguarded(langs)
        if kind == "translate":
            return translator.translate_segments(items, *rest)
        if kind == "inspect":  # a sentence that is too long to be aligned is only translated
            sentences = [item.sentence for item in items]
            translated = translator.translate_segments(sentences, self._decode)
            return align_segments(plain, sentences, translated, self._decode)
        begun = [(item.sentence.text, item.prefix) for item in items]
        if kind == "alternatives":
            return [alternatives(plain, text, prefix) for text, prefix in begun]
        found = [align(plain, [text], prefix, self._decode)[0] for text, prefix in begun]
        return [TranslatedSegment(one.source, one.target, one) for one in found]


def _cost(item: Segment | Inspection) -> int:
    if isinstance(item, Segment):
        return max(MIN_COST, len(item.text))
    return PREFIX_COST if item.prefix else ALIGNMENT_FACTOR * _cost(item.sentence)


def check_direction(langs: Direction, served: Collection[Direction]) -> Direction:
    """Return `langs` if it is served or both languages are the same; else raise RequestError."""
    known = {lang for direction in served for lang in direction}
    for lang in langs:
        if lang not in known:
            raise RequestError(400, f"{lang[:20]} is not supported")
    if langs[0] != langs[1] and langs not in served:
        raise RequestError(400, f"{langs[0]} to {langs[1]} is not supported")
    return langs


def detect_languages(text: str) -> list[Detected]:
    """Return the languages that a text may be in, likeliest first, in per cent.

    The percentages add up to 100, or to less for a text that reads like neither: French, say.
    """
    text = text[:DETECT_CHARS]
    likeliest = detect(text)
    known, n_words = spelling.known_word_share(text, likeliest.lang)
    total = known if spelling.reads_foreign(known, n_words) else 1.0
    shares = dict.fromkeys(LANGUAGES, total * (1 - likeliest.confidence))
    shares[likeliest.lang] = total * likeliest.confidence
    return [
        {"confidence": round(100 * share, 1), "language": lang}
        for lang, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
