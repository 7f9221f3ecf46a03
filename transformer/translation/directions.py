"""Both directions of translation as one translator: models are opened when first needed.

The source language is named, or recognised for each text; texts are translated together with
those of their direction and come back in their order.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

from transformer.checkpoint import locate
from transformer.config import ComputeType, DecodeConfig, Direction, UserError
from transformer.decoding.decoder import check_device
from transformer.text.glossary import Glossary, TermSource
from transformer.text.language import detect, language_code
from transformer.translation.arguments import check_texts, search_config
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import (
    GREEDY,
    WINDOW,
    Translation,
    Translator,
    arrival_batches,
)


def load(
    model: str | Path | None = None,
    *,
    device: str = "auto",
    compute_type: ComputeType = "auto",
    guard: bool = True,
    glossary: TermSource | None = None,
) -> "Directions":
    """Return a translator for all directions of a model; None: of all released models.

        translator = transformer.load()
        translator.translate("Hola.").text
        translator.translate(["Hello.", "Goodbye."], to="es", beam_size=4)

    `model` is a checkpoint folder, the folder of a training run, or the name of a released model.
    Its weights are loaded at the first translation.
    `device` is auto (a GPU if there is one), cpu, cuda, cuda:1 or mps. `compute_type` is float32,
    bfloat16, int8 (only on a CPU) or auto: bfloat16 on a GPU, else int8 where the native decoder
    can run the model, else float32.
    `guard` protects numbers, addresses and tags, and retries faulty translations; without it
    the model's translation is returned unchanged. The guard also inserts the terms of `glossary`:
    a file (see `transformer.text.glossary`), a dictionary, or pairs (term, translation). None as a
    translation keeps the term. Raises `transformer.UserError` for a glossary without the guard, an
    unknown model or an unavailable device.
    """
    terms = None if glossary is None else Glossary.load(glossary)
    return Directions(
        locate.model_folders(model), device, compute_type, guard=guard, glossary=terms
    )


class Directions:
    """The models for some directions, each opened once; translates with the guard or without."""

    def __init__(
        self,
        folders: Mapping[Direction, str | Path],
        device: str,
        compute_type: ComputeType,
        *,
        guard: bool,
        glossary: Glossary | None = None,
    ) -> None:
        """Take the checkpoint folder of each direction; a model is opened when first needed.

        Other arguments are as of `load` in this module. UserError for a glossary without the guard,
        an unknown compute type, and an unknown or unavailable device.
        """
        if glossary is not None and not guard:
            raise UserError("expected the guard with a glossary: it puts the terms in")
        check_device(device, compute_type)
        self.folders, self.glossary = dict(folders), glossary
        self.device, self.compute_type, self.guard = device, compute_type, guard
        self._open: dict[Direction, Translator | GuardedTranslator] = {}

    def __repr__(self) -> str:
        served = ", ".join("-".join(pair) for pair in self.folders)
        models = ", ".join(dict.fromkeys(map(str, self.folders.values())))
        guard = "with" if self.guard else "without"
        return f"<Directions {served} of {models}, {guard} the guard, device {self.device}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the open models: a copy, or another process, opens its own."""
        return {**self.__dict__, "_open": {}}

    def select(self, directions: Iterable[Direction]) -> Self:
        """Return a translator for some directions, which opens models anew; KeyError for others."""
        folders = {langs: self.folders[langs] for langs in directions}
        return type(self)(
            folders, self.device, self.compute_type, guard=self.guard, glossary=self.glossary
        )

    @property
    def available(self) -> tuple[Direction, ...]:
        return tuple(self.folders)

    def translator(self, langs: Direction) -> Translator | GuardedTranslator:
        """Return the translator of a direction, opened at the first call; UserError if it fails."""
        if langs not in self.folders:
            there = ", ".join("-".join(pair) for pair in self.folders)
            raise UserError(f"expected a direction out of {there}; got {'-'.join(langs)}")
        if langs not in self._open:
            folder = self.folders[langs]
            same = [pair for pair in self._open if self.folders[pair] == folder]
            if same:  # one model serves both
                opened = self.unguarded(same[0]).for_direction(langs)
            else:
                opened = Translator.load(folder, self.device, self.compute_type, langs)
            self._open[langs] = GuardedTranslator(opened, self.glossary) if self.guard else opened
        return self._open[langs]

    def unguarded(self, langs: Direction) -> Translator:
        """Return a direction's translator without the guard; UserError if it cannot be opened."""
        opened = self.translator(langs)
        return opened.translator if isinstance(opened, GuardedTranslator) else opened

    def detect_directions(
        self, texts: Sequence[str], before: Direction | None = None
    ) -> list[Direction]:
        """Return the direction of each text, by its language.

        A text whose language is not clear has the direction of the text before it; `before` is the
        one before the first, None the first available. If that is the only one, all texts have it.
        """
        if len(self.folders) == 1:
            return [*self.folders] * len(texts)
        current = before or next(iter(self.folders))
        by_source = {langs[0]: langs for langs in self.folders}
        directions = []
        for text in texts:
            language = detect(text)
            if language.is_confident and language.lang in by_source:
                current = by_source[language.lang]
            directions.append(current)
        return directions

    def most_common_direction(self, texts: Sequence[str]) -> Direction:
        """Return the direction of most of the texts; without texts, the first one available."""
        return Counter(self.detect_directions(texts) or self.available).most_common(1)[0][0]

    def skip_lines(self, texts: Iterator[str], n: int) -> tuple[list[str], Direction | None]:
        """Skip n texts; return [the last one] and the direction before it, for `detect_directions`.

        They are [] and None for n = 0. UserError if there are fewer.
        """
        before: Direction | None = None
        last: list[str] = []
        for i in range(n):
            for text in last:
                (before,) = self.detect_directions([text], before)
            if not (last := [*itertools.islice(texts, 1)]):
                raise UserError(f"expected an input with the {n} lines that are done, got {i}")
        return last, before

    def requested_direction(
        self, langs: Direction | str | None, to: str | None
    ) -> Direction | None:
        """Return the direction that a call names by ("es", "en"), by "es-en" or by its target.

        Returns None if the call names none; UserError for two that differ, and without a model.
        """
        if langs is None and to is None:
            return None
        match langs.split("-") if isinstance(langs, str) else langs:
            case None:
                source, target = None, to
            case [str(source), str(target)] if to in (None, target):
                pass
            case _:
                target = None
        if not isinstance(target, str):
            got = f"langs={langs!r}, to={to!r}"
            raise UserError(f'expected languages as langs=("es", "en"), or to="en"; got {got}')
        requested = source and language_code(source), language_code(target)
        for pair in self.folders:
            if requested in (pair, (None, pair[1])):
                return pair
        there = ", ".join("-".join(pair) for pair in self.folders)
        raise UserError(f"expected a direction out of {there}; got {langs or to!r}")

    @overload
    def translate(
        self, texts: str, decode: DecodeConfig = ..., langs: Direction | str | None = ...,
        before: Direction | None = ..., glossary: TermSource | None = ..., *,
        to: str | None = ..., **search: Any,
    ) -> Translation: ...  # fmt: skip

    @overload
    def translate(
        self, texts: Iterable[str], decode: DecodeConfig = ...,
        langs: Direction | str | None = ..., before: Direction | None = ...,
        glossary: TermSource | None = ..., *, to: str | None = ..., **search: Any,
    ) -> list[Translation]: ...  # fmt: skip

    def translate(
        self,
        texts: str | Iterable[str],
        decode: DecodeConfig = GREEDY,
        langs: Direction | str | None = None,
        before: Direction | None = None,
        glossary: TermSource | None = None,
        *,
        to: str | None = None,
        **search: Any,
    ) -> Translation | list[Translation]:
        """Return the translation of a text, or a list with the translation of each text.

        All texts have the languages `langs` ("es-en") or the target language `to`; without both,
        languages are recognised, and a text that is not clear has those of the text before it
        (`before` is for the first text). `glossary` replaces the one given to `load`. `search` are
        fields of `decode`: `beam_size=4`. Raises TypeError for other types; UserError for a
        direction without a model, invalid fields, a bad glossary, or any without the guard.
        """
        decode = search_config(decode, search)
        terms = None if glossary is None else Glossary.load(glossary)
        found = self._translated(
            check_texts(texts), decode, self.requested_direction(langs, to), before, terms
        )
        return found[0] if isinstance(texts, str) else found

    def _translated(
        self, texts: Sequence[str], decode: DecodeConfig, langs: Direction | None,
        before: Direction | None, glossary: Glossary | None = None,
    ) -> list[Translation]:  # fmt: skip
        each = [langs] * len(texts) if langs else self.detect_directions(texts, before)
        results: dict[int, Translation] = {}
        for direction in dict.fromkeys(each):
            places = [i for i, own in enumerate(each) if own == direction]
            own = [texts[i] for i in places]
            translations = self.translator(direction).translate(own, decode, glossary)
            for i, translation in zip(places, translations, strict=True):
                results[i] = dataclasses.replace(translation, langs=direction)
        return [results[i] for i in range(len(texts))]

    def stream(
        self,
        lines: Iterable[str],
        decode: DecodeConfig = GREEDY,
        langs: Direction | str | None = None,
        window: int = WINDOW,
        before: Direction | None = None,
        *,
        to: str | None = None,
        **search: Any,
    ) -> Iterator[Translation]:
        """Yield translations of lines as they arrive, with options and errors of `translate`.

        Lines that are available together are translated together, at most `window` of them; at most
        two windows are read ahead. `before` is the direction of the line before the first.
        """
        decode, asked = search_config(decode, search), self.requested_direction(langs, to)
        for batch in arrival_batches(lines, window):
            results = self._translated(batch, decode, asked, before)
            before = results[-1].langs
            yield from results
