"""Translation for many clients: texts to sentences, sentences to the scheduler, and back."""

import asyncio
import dataclasses
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from transformer.config import DecodeConfig
from transformer.documents.fill import Filled, Part, fill, looked_into
from transformer.documents.passages import Passage
from transformer.serving.scheduler import Observer, Scheduler
from transformer.text.sentences import Segment
from transformer.translation.directions import Directions
from transformer.translation.translator import (
    GREEDY,
    Layout,
    TextTranslator,
    Translation,
    Translator,
)

if TYPE_CHECKING:
    from transformer.explain.trace import Alternative

Pair = tuple[str, str]
BATCH_CHARS, FEWEST_CHARS = 4096, 32  # of a batch; what the shortest sentence counts for
ALONE = 1024  # what a look inside a sentence counts for


@dataclasses.dataclass(frozen=True, slots=True)
class Inspection:
    """A sentence to look into, maybe of a layout, after a forced prefix."""

    text: str
    segment: Segment | None = None
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
        self._decode = decode
        self.scheduler = Scheduler(
            self._work, cost=_cost, budget=BATCH_CHARS, max_waiting=max_waiting, observe=observe
        )

    def start(self) -> None:
        """Opens every direction, then begins to work."""
        for pair in self.directions.available:
            self.directions.translator(pair)
        self.scheduler.start()

    def stop(self) -> None:
        """Answers what was asked, then ends."""
        self.scheduler.stop()

    async def translate(
        self, texts: Sequence[str], pair: Pair, n_best: int = 1
    ) -> list[Translation]:
        """One translation a text, in order; raises QueueFull, SchedulerStopped or UserError."""
        decode = dataclasses.replace(
            self._decode, beam_size=max(self._decode.beam_size, n_best), n_best=n_best
        )
        layouts = [self._layout(text, pair) for text in texts]
        sentences = [sentence for layout in layouts for sentence in layout.sentences]
        results = iter(await self._ask(("translate", pair, decode), sentences))
        return [layout.join(results, n_best) for layout in layouts]

    def _layout(self, text: str, pair: Pair) -> Layout:
        return self.directions.translator(pair).split(text)

    async def fill(self, passages: Sequence[Passage], pair: Pair) -> Filled:
        """The translations of a file's passages, their marks in their places; and warnings."""
        return await fill(
            passages,
            lambda texts: self.translate(texts, pair),
            lambda text: self.inspect(text, pair),
        )

    async def inspect(self, text: str, pair: Pair, most: int | None = None) -> list[Part]:
        """The sentences of a text, each as it is translated and why, and what is between them.

        Those behind the first `most` are only translated.
        """
        layout = self._layout(text, pair)
        looked, rest = layout.sentences[:most], layout.sentences[len(layout.sentences[:most]) :]
        inspections = [Inspection(sentence.text, sentence) for sentence in looked]
        known = await self._ask(("inspect", pair), inspections)
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

    async def continue_after(self, sentence: str, pair: Pair, prefix: Sequence[int]) -> Part:
        """One sentence whose translation begins with the ids given."""
        inspection = Inspection(sentence, prefix=tuple(prefix))
        part: Part = (await self._ask(("inspect", pair), [inspection]))[0]
        return part

    async def alternatives(
        self, sentence: str, pair: Pair, prefix: Sequence[int]
    ) -> "list[Alternative]":
        """The words that may follow the ids given, likeliest first."""
        inspection = Inspection(sentence, prefix=tuple(prefix))
        words: list[Alternative] = (await self._ask(("alternatives", pair), [inspection]))[0]
        return words

    async def _ask(self, key: Hashable, items: Sequence[Any]) -> list[Any]:
        return await asyncio.wrap_future(self.scheduler.submit(key, items))

    def _work(self, key: Any, items: Sequence[Any]) -> Sequence[Any]:
        kind, pair, *rest = key
        opened = self.directions.translator(pair)
        if kind == "translate":
            return opened.translate_segments(items, rest[0])
        translator = self.directions.plain(pair)
        if kind == "alternatives":
            from transformer.explain.trace import alternatives  # and with it torch

            return [alternatives(translator, item.text, item.prefix) for item in items]
        return [self._inspected(opened, translator, item) for item in items]

    def _inspected(self, opened: TextTranslator, translator: Translator, item: Inspection) -> Part:
        """Looks inside; what the model does not say at once by itself is only translated."""
        from transformer.explain.trace import trace  # and with it torch

        if item.prefix:
            traced = trace(translator, item.text, item.prefix, self._decode)
            return Part(item.text, traced.target, traced)
        translated = (
            opened.translate_segments([item.segment], self._decode)
            if item.segment
            else opened.translate([item.text], self._decode)
        )[0]
        return looked_into(translator, item.text, translated, self._decode)


def _cost(item: Any) -> int:
    return max(FEWEST_CHARS, len(item.text)) if isinstance(item, Segment) else ALONE
