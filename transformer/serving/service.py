"""Translation for many clients: texts to sentences, sentences to the scheduler, and back."""

import asyncio
import dataclasses
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

from transformer.config import DecodeConfig
from transformer.documents.fill import Filled, Part, aligned_parts, fill
from transformer.documents.passages import Passage
from transformer.explain.alignment import Alternative, align, alternatives
from transformer.serving.attention_maps import AttentionMaps
from transformer.serving.authorization import RequestError
from transformer.serving.scheduler import Observer, Scheduler
from transformer.serving.schema import Detected, Language
from transformer.text.glossary import Glossary
from transformer.text.language import LANGUAGES, NAMES, detect
from transformer.text.sentences import Segment
from transformer.translation.directions import Directions
from transformer.translation.quality_checks import term_pattern
from transformer.translation.translator import (
    GREEDY,
    Layout,
    TextTranslator,
    Translation,
    Translator,
)

Pair = tuple[str, str]
DETECT_CHARS = 2000  # that are enough to tell a language by
BATCH_CHARS, FEWEST_CHARS = 4096, 32  # of a batch; what the shortest sentence counts for
ALONE, ALIGNED = 1024, 4  # what a prefix or alternatives count for; times a sentence, its alignment


@dataclasses.dataclass(frozen=True, slots=True)
class TextOptions:
    """How a text is read: whether slips are undone, and with which terms (None: the server's)."""

    spelling: bool = True
    glossary: Glossary | None = None


DEFAULT_OPTIONS = TextOptions()


@dataclasses.dataclass(frozen=True, slots=True)
class Inspection:
    """A sentence whose translation is looked into, maybe after a forced prefix."""

    sentence: Segment
    prefix: tuple[int, ...] = ()


class Service:
    """Answers requests of any number of tasks with one thread that computes."""

    def __init__(
        self,
        directions: Directions,
        decode: DecodeConfig = GREEDY,
        max_waiting: int = 10_000,
        observe: Observer = lambda size, seconds: None,
    ) -> None:
        self.directions = directions
        self._decode, self._maps = decode, AttentionMaps(directions)
        self.scheduler = Scheduler(
            self._work, cost=_cost, budget=BATCH_CHARS, max_waiting=max_waiting, observe=observe
        )

    def start(self) -> None:
        """Opens every direction and the tables of the languages, then begins to work.

        What stays for good comes first: among what comes and goes it would hold its pages.
        """
        detect("No.")
        for pair in self.directions.available:
            self.directions.translator(pair).translate(["No."])
        self.scheduler.start()

    def tidy(self) -> None:
        """Drops what no request needs any more: an ended process, terms that were asked with."""
        self._maps.tidy()
        term_pattern.cache_clear()

    def stop(self) -> None:
        """Answers what was asked, then ends."""
        self.scheduler.stop()
        self._maps.close()

    async def translate(
        self, texts: Sequence[str], pair: Pair, n_best: int = 1, how: TextOptions = DEFAULT_OPTIONS
    ) -> list[Translation]:
        """One translation a text, in order; raises QueueFull, SchedulerStopped or UserError."""
        decode = dataclasses.replace(
            self._decode, beam_size=max(self._decode.beam_size, n_best), n_best=n_best
        )
        layouts = [self._layout(text, pair, how) for text in texts]
        sentences = [sentence for layout in layouts for sentence in layout.sentences]
        results = iter(await self._ask(("translate", pair, decode), sentences))
        return [layout.join(results, n_best) for layout in layouts]

    def _layout(self, text: str, pair: Pair, how: TextOptions) -> Layout:
        layout = self.directions.translator(pair).split(text, how.glossary)
        return layout if how.spelling else layout.without_corrections()

    async def fill(
        self, passages: Iterable[Passage], pair: Pair, how: TextOptions = DEFAULT_OPTIONS
    ) -> Filled:
        """The translations of a file's passages, their marks in their places; and warnings."""
        return await fill(
            passages,
            lambda texts: self.translate(texts, pair, how=how),
            lambda text: self.inspect(text, pair, how=how),
        )

    async def inspect(
        self,
        text: str,
        pair: Pair,
        most: int | None = None,
        how: TextOptions = DEFAULT_OPTIONS,
        with_maps: bool = False,
    ) -> list[Part]:
        """The sentences of a text, aligned with their translations, and what is between them.

        Those behind the first `most` are only translated. With maps, what is known of a sentence is
        a `MappedTranslation`.
        """
        layout = self._layout(text, pair, how)
        looked, rest = layout.sentences[:most], layout.sentences[len(layout.sentences[:most]) :]
        inspections = [Inspection(sentence) for sentence in looked]
        known = await self._ask(("inspect", pair), inspections)
        if with_maps:
            known = [await self._mapped(part, pair) for part in known]
        translated = await self._ask(("translate", pair, self._decode), rest)
        known += [
            Part(sentence.text, translation.text, None, translation.warnings)
            for sentence, translation in zip(rest, translated, strict=True)
        ]
        parts = iter(known)
        return [
            next(parts) if segment.is_sentence else Part(segment.text, segment.text)
            for segment in layout.segments
        ]

    async def continue_after(
        self, sentence: str, pair: Pair, prefix: Sequence[int], *, with_maps: bool = False
    ) -> Part:
        """One sentence whose translation begins with the ids given."""
        inspection = Inspection(Segment(text=sentence, is_sentence=True), tuple(prefix))
        part: Part = (await self._ask(("inspect", pair), [inspection]))[0]
        return await self._mapped(part, pair, prefix) if with_maps else part

    async def _mapped(self, part: Part, pair: Pair, prefix: Sequence[int] = ()) -> Part:
        if part.aligned is None:
            return part
        mapped = await self._maps.of(pair, part.text, prefix, self._decode)
        return dataclasses.replace(part, aligned=mapped)

    async def alternatives(
        self, sentence: str, pair: Pair, prefix: Sequence[int]
    ) -> list[Alternative]:
        """The words that may follow the ids given, likeliest first."""
        inspection = Inspection(Segment(text=sentence, is_sentence=True), tuple(prefix))
        words: list[Alternative] = (await self._ask(("alternatives", pair), [inspection]))[0]
        return words

    async def _ask(self, key: Hashable, items: Sequence[Any]) -> list[Any]:
        return await asyncio.wrap_future(self.scheduler.submit(key, items))

    def _work(self, key: Any, items: Sequence[Any]) -> Sequence[Any]:
        kind, pair, *rest = key
        opened = self.directions.translator(pair)
        if kind == "translate":
            return opened.translate_segments(items, rest[0])
        translator = self.directions.unguarded(pair)
        if kind == "alternatives":
            return [alternatives(translator, item.sentence.text, item.prefix) for item in items]
        return self._inspected(opened, translator, items)

    def _inspected(
        self, opened: TextTranslator, translator: Translator, items: Sequence[Inspection]
    ) -> list[Part]:
        """Aligns; what the model does not say at once by itself is only translated."""
        whole = [item.sentence for item in items if not item.prefix]
        translated = opened.translate_segments(whole, self._decode)
        parts = iter(aligned_parts(translator, whole, translated, self._decode))
        return [self._continued(translator, item) if item.prefix else next(parts) for item in items]

    def _continued(self, translator: Translator, item: Inspection) -> Part:
        (aligned,) = align(translator, [item.sentence.text], item.prefix, self._decode)
        return Part(aligned.source, aligned.target, aligned)


def _cost(item: Segment | Inspection) -> int:
    if isinstance(item, Segment):
        return max(FEWEST_CHARS, len(item.text))
    return ALONE if item.prefix else ALIGNED * _cost(item.sentence)


def check_pair(pair: Pair, pairs: Collection[Pair]) -> Pair:
    """A direction that is served, or a language into itself; anything else is refused."""
    known = {lang for served in pairs for lang in served}
    for lang in pair:
        if lang not in known:
            raise RequestError(400, f"{lang[:20]} is not supported")
    if pair[0] != pair[1] and pair not in pairs:
        raise RequestError(400, f"{pair[0]} to {pair[1]} is not supported")
    return pair


def languages(pairs: Collection[Pair]) -> list[Language]:
    """Each language and what it can be translated to."""
    codes = dict.fromkeys(lang for pair in pairs for lang in pair)
    return [
        {
            "code": code,
            "name": NAMES.get(code, code),
            "targets": [*dict.fromkeys([*(t for s, t in pairs if s == code), code])],
        }
        for code in codes
    ]


def detected(text: str) -> list[Detected]:
    """The languages that a text may be in, likeliest first, with per cent."""
    likeliest = detect(text[:DETECT_CHARS])
    shares = dict.fromkeys(LANGUAGES, 1 - likeliest.confidence) | {
        likeliest.lang: likeliest.confidence
    }
    return [
        {"confidence": round(100 * share, 1), "language": lang}
        for lang, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
