"""Translation for many clients: texts to sentences, sentences to the scheduler, and back.

Knows directions, the scheduler and what is inside a translation; no network.
"""

import asyncio
import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any

from transformer.careful import Careful
from transformer.config import DecodeConfig, UserError
from transformer.directions import Directions
from transformer.insight import Alternative, Trace, alternatives, trace
from transformer.protect import find
from transformer.scheduler import Observer, Scheduler
from transformer.segment import Segment, segments
from transformer.translate import (
    GREEDY,
    Candidate,
    Translation,
    Translator,
    is_translated,
    joined,
)

Pair = tuple[str, str]
BATCH_CHARS, FEWEST_CHARS = 4096, 32  # of a batch; what the shortest sentence counts for
ALONE = 1024  # what a look inside a sentence counts for


@dataclasses.dataclass(frozen=True, slots=True)
class Inspection:
    """A sentence to look into, after a forced prefix."""

    text: str
    prefix: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A sentence, its translation and its trace; or the text between two, which stays."""

    text: str
    target: str
    trace: Trace | None = None
    warnings: tuple[str, ...] = ()


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
        """One translation a text, in order; raises Full, Stopped or UserError."""
        decode = dataclasses.replace(
            self._decode, beam_size=max(self._decode.beam_size, n_best), n_best=n_best
        )
        layouts = [layout(text, pair[0]) for text in texts]
        sentences = [one.text for parts in layouts for one in parts if is_translated(one)]
        found = iter(await self._ask(("translate", pair, decode), sentences))
        translations = []
        for text, known in zip(texts, layouts, strict=True):
            parts: list[tuple[tuple[Candidate, ...] | None, str]] = []
            warnings: list[str] = []
            for one in known:
                own: Translation | None = next(found) if is_translated(one) else None
                parts.append((own.candidates if own else None, one.text))
                warnings += own.warnings if own else ()
            translations.append(
                Translation(source=text, candidates=joined(parts, n_best), warnings=tuple(warnings))
            )
        return translations

    async def inspect(self, text: str, pair: Pair) -> list[Part]:
        """The sentences of a text, each as it is translated and why, and what is between them."""
        parts = layout(text, pair[0])
        asked = [Inspection(one.text) for one in parts if is_translated(one)]
        found = iter(await self._ask(("inspect", pair), asked))
        return [next(found) if is_translated(one) else Part(one.text, one.text) for one in parts]

    async def continue_after(self, sentence: str, pair: Pair, prefix: Sequence[int]) -> Part:
        """One sentence whose translation begins with the ids given."""
        asked = Inspection(sentence, tuple(prefix))
        part: Part = (await self._ask(("inspect", pair), [asked]))[0]
        return part

    async def alternatives(
        self, sentence: str, pair: Pair, prefix: Sequence[int]
    ) -> list[Alternative]:
        """The words that may follow the ids given, likeliest first."""
        asked = Inspection(sentence, tuple(prefix))
        found: list[Alternative] = (await self._ask(("alternatives", pair), [asked]))[0]
        return found

    async def _ask(self, key: Hashable, items: Sequence[Any]) -> list[Any]:
        return await asyncio.wrap_future(self.scheduler.submit(key, items))

    def _work(self, key: Any, items: Sequence[Any]) -> Sequence[Any]:
        kind, pair, *rest = key
        opened = self.directions.translator(pair)
        if kind == "translate":
            return opened.translate(items, rest[0])
        translator = opened.translator if isinstance(opened, Careful) else opened
        if kind == "alternatives":
            return [alternatives(translator, one.text, one.prefix) for one in items]
        return [self._inspected(opened, translator, one) for one in items]

    def _inspected(
        self, opened: Translator | Careful, translator: Translator, one: Inspection
    ) -> Part:
        """Looks inside; what the model does not say at once by itself is only translated."""
        if one.prefix:
            found = trace(translator, one.text, one.prefix, self._decode)
            return Part(one.text, found.target, found)
        translated = opened.translate([one.text], self._decode)[0]
        try:
            found = trace(translator, one.text, (), self._decode)
        except UserError:
            return Part(one.text, translated.text, None, translated.warnings)
        own = found if found.target == translated.text else None
        return Part(one.text, translated.text, own, translated.warnings)


def layout(text: str, lang: str) -> tuple[Segment, ...]:
    """Sentences and what is between them; none ends within an address, a tag or the like."""
    opaque = text
    for span in find(text):
        if span.kind != "number":
            opaque = f"{opaque[: span.start]}{'X' * (span.end - span.start)}{opaque[span.end :]}"
    found, end = [], 0
    for one in segments(opaque, lang):
        start, end = end, end + len(one.text)
        found.append(dataclasses.replace(one, text=text[start:end]))
    return tuple(found)


def _cost(item: Any) -> int:
    return max(FEWEST_CHARS, len(item)) if isinstance(item, str) else ALONE
