"""Strings in, strings out: splits text into sentences, translates them in batches, joins again.

Texts come back in the order they were given, each with its own white space.
"""

import abc
import copy
import dataclasses
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from transformer.checkpoint.locate import resolve_direction
from transformer.checkpoint.tensors import open_checkpoint
from transformer.config import ComputeType, DecodeConfig, Direction, UserError
from transformer.decoding.decoder import Decoder, decoder_from_model, open_decoder
from transformer.decoding.hypothesis import Hypothesis
from transformer.text.glossary import Glossary, TermSource, TermSpan
from transformer.text.sentences import Segment, split_long, split_sentences
from transformer.text.spans import Span
from transformer.text.tokenizer import Tokenizer
from transformer.translation.arguments import check_text, check_texts, search_config

if TYPE_CHECKING:
    from transformer.model import Transformer

WINDOW = 2048  # texts of a stream that are in memory at once
GREEDY = DecodeConfig()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One translation of a text, its pieces, and its score, in nats.

    The score of a sentence is its log-probability, in beam search divided by the length penalty
    (Wu et al. 2016, eq. 14): the nearer to 0, the surer. That of a text is the sum. It compares
    translations of one text, not of texts of different lengths.
    """

    text: str
    score: float
    tokens: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """A text and its translations, best first, and warnings of it, such as "number lost: 15".

    `str(translation)` is the text of the best one; only `Directions` sets `langs`.
    """

    source: str
    candidates: tuple[Candidate, ...]
    warnings: tuple[str, ...] = ()
    langs: tuple[str, str] | None = None  # source and target, where they were recognised

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The best translation."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The score of the best translation, in nats (see `Candidate`)."""
        return self.candidates[0].score

    @property
    def tokens(self) -> tuple[str, ...]:
        """The pieces of the best translation, of all its sentences."""
        return self.candidates[0].tokens


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """A text split into sentences and gaps, in order; `source_warnings` are about all of it."""

    text: str
    segments: tuple[Segment, ...]
    source_warnings: tuple[str, ...] = ()

    @classmethod
    def split(
        cls, text: str, lang: str, kept: Sequence[Span] = (), terms: Sequence[TermSpan] = ()
    ) -> Self:
        """Split a text into sentences; none ends within a `kept` span or one of the `terms`.

        A part without words is no sentence: it stays as it is.
        """
        parts = split_sentences(text, lang, kept, terms)
        return cls(text, tuple(
            part if part.has_words else Segment(text=part.text, is_sentence=False) for part in parts
        ))  # fmt: skip

    @property
    def sentences(self) -> list[Segment]:
        """Return the sentences to translate, in order."""
        return [segment for segment in self.segments if segment.is_sentence]

    def without_corrections(self) -> Self:
        """Return the same layout with the typos of the sentences left uncorrected."""
        typed = (dataclasses.replace(segment, keep_spelling=True) for segment in self.segments)
        return dataclasses.replace(self, segments=tuple(typed))

    def join(self, results: Iterator[Translation], n_best: int) -> Translation:
        """Translate the text by the next `results`, one a sentence; keep `n_best` candidates."""
        parts, warnings = list[Sequence[Candidate]](), dict.fromkeys(self.source_warnings)
        for segment in self.segments:
            if segment.is_sentence:
                result = next(results)
                parts.append(result.candidates)
                warnings |= dict.fromkeys(result.warnings)
            else:
                parts.append([Candidate(text=segment.text, score=0, tokens=())])
        candidates = combine_candidates(parts, "".join)[:n_best]
        return Translation(source=self.text, candidates=candidates, warnings=tuple(warnings))


def combine_candidates(
    parts: Sequence[Sequence[Candidate]], write: Callable[[Sequence[str]], str]
) -> tuple[Candidate, ...]:
    """Combine the k-th candidates of parts, or their last: `write` joins texts, scores add up."""
    whole = []
    for k in range(max(map(len, parts), default=1)):
        chosen = [candidates[min(k, len(candidates) - 1)] for candidates in parts]
        text, score = write([c.text for c in chosen]), sum(c.score for c in chosen)
        tokens = tuple(token for candidate in chosen for token in candidate.tokens)
        whole.append(Candidate(text=text, score=score, tokens=tokens))
    return tuple(whole)


class TextTranslator(abc.ABC):
    """Base class that translates texts of any length: it splits them, and joins translations."""

    @abc.abstractmethod
    def split(self, text: str, glossary: Glossary | None = None) -> Layout:
        """Split a text into sentences, with the terms of a glossary in them."""

    @abc.abstractmethod
    def translate_segments(
        self, sentences: Sequence[Segment], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        """Return a translation of each sentence, in order."""

    @overload
    def translate(
        self, texts: str, decode: DecodeConfig = ..., glossary: TermSource | None = ...,
        **search: Any,
    ) -> Translation: ...  # fmt: skip

    @overload
    def translate(
        self, texts: Iterable[str], decode: DecodeConfig = ..., glossary: TermSource | None = ...,
        **search: Any,
    ) -> list[Translation]: ...  # fmt: skip

    def translate(
        self,
        texts: str | Iterable[str],
        decode: DecodeConfig = GREEDY,
        glossary: TermSource | None = None,
        **search: Any,
    ) -> Translation | list[Translation]:
        """Return the translation of a text, or a list with the translation of each text.

        White space between sentences is kept. `search` are fields of `decode`: `beam_size=4`.
        Raises TypeError for other types, UserError for an invalid search or glossary.
        """
        decode = search_config(decode, search)
        terms = None if glossary is None else Glossary.load(glossary)
        layouts = [self.split(text, terms) for text in check_texts(texts)]
        sentences = [sentence for layout in layouts for sentence in layout.sentences]
        results = iter(self.translate_segments(sentences, decode))
        translations = [layout.join(results, decode.n_best) for layout in layouts]
        return translations[0] if isinstance(texts, str) else translations

    def stream(
        self,
        lines: Iterable[str],
        decode: DecodeConfig = GREEDY,
        window: int = WINDOW,
        **search: Any,
    ) -> Iterator[Translation]:
        """Yield translations of lines in order as they arrive, at most `window` at a time.

        The options and errors are those of `translate`.
        """
        decode = search_config(decode, search)
        for batch in arrival_batches(lines, window):
            yield from self.translate(batch, decode)


class Translator(TextTranslator):
    """A model and its tokeniser, which translate texts in one direction, without the guard."""

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Tokenizer,
        langs: Direction,
        name: str = "model",
        directions: Sequence[Direction] = (),
    ) -> None:
        """Translate `langs`, with a tag if the model has more `directions`; `name` is for show."""
        self.decoder, self.tokenizer, self.name = decoder, tokenizer, name
        self.directions = tuple(directions) or (langs,)
        self.config, self.device = decoder.config, decoder.device
        self._set_direction(langs)

    def __repr__(self) -> str:
        return f"<Translator {self.src_lang}-{self.tgt_lang} of {self.name} on {self.device}>"

    def _set_direction(self, langs: Direction) -> None:
        self.src_lang, self.tgt_lang = langs
        self.tags = self.tokenizer.direction_tags(langs, self.directions)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: str = "auto",
        compute_type: ComputeType = "auto",
        langs: Direction | None = None,
    ) -> Self:
        """Open a checkpoint folder, or the best checkpoint of a run; UserError if it is invalid.

        `langs` None is the direction of its name (es-en) or its first; see `transformer.load`.
        """
        opened = open_checkpoint(folder)
        langs = resolve_direction(folder, opened.directions, langs)
        decoder = open_decoder(opened, device, compute_type)
        return cls(decoder, opened.tokenizer, langs, str(folder), opened.directions)

    @classmethod
    def from_model(
        cls,
        model: "Transformer",
        tokenizer: Tokenizer,
        langs: Direction,
        compute_type: ComputeType = "auto",
        directions: Sequence[Direction] = (),
    ) -> Self:
        return cls(
            decoder_from_model(model.eval(), compute_type), tokenizer, langs, "model", directions
        )

    def for_direction(self, langs: Direction) -> Self:
        """Return a translator for another of `directions`, unchecked, which shares the model."""
        other = copy.copy(self)
        other._set_direction(langs)
        return other

    @property
    def model(self) -> "Transformer":
        """The plain model; if the native decoder is used, it is loaded at the first access."""
        return self.decoder.model

    def split(self, text: str, glossary: Glossary | None = None) -> Layout:
        """Split a text into sentences, without protected spans; UserError for a glossary."""
        if glossary is not None:
            raise UserError(
                "expected a translator with its guard, which puts a glossary's terms in"
            )
        return Layout.split(text, self.src_lang)

    def translate_segments(
        self, sentences: Sequence[Segment], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        """Return a translation of each sentence, in order."""
        return self.translate_sentences([sentence.text for sentence in sentences], decode)

    def translate_sentences(
        self, sentences: Sequence[str], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        """Translate sentences; split only those that are too long for the model."""
        cuts = [self.split_to_fit(sentence) for sentence in sentences]
        sources = [ids for pieces in cuts for _, ids in pieces if ids]
        results = iter(self.decoder.search(sources, decode))
        translations = []
        for sentence, pieces in zip(sentences, cuts, strict=True):
            parts = [
                [self.decode_hypothesis(hypothesis) for hypothesis in next(results)]
                if ids else [Candidate(text=text, score=0, tokens=())]
                for text, ids in pieces
            ]  # fmt: skip
            candidates = combine_candidates(parts, "".join)
            translations.append(Translation(source=sentence, candidates=candidates))
        return translations

    def split_to_fit(self, sentence: str) -> list[tuple[str, list[int]]]:
        """Cut a sentence into parts that fit `max_source_len`, each with its `source_ids`.

        The white space between parts is returned, too, with an empty list of ids.
        """
        ids = self.source_ids(sentence)
        if len(ids) < self.max_source_len:
            return [(sentence, ids)]
        pieces = split_long(sentence, lambda text: len(self.source_ids(text)) < self.max_source_len)
        return [(p.text, self.source_ids(p.text) if p.is_sentence else []) for p in pieces]

    def source_ids(self, text: str) -> list[int]:
        """Return a sentence's ids behind the direction's tag, without end mark; [] for no text."""
        ids = self.tokenizer.encode(text)
        return self.tags + ids if ids else []

    @property
    def max_source_len(self) -> int:
        """Most source tokens, end mark included: half of `max_len`, as targets may be longer."""
        return max(2, self.config.max_len // 2)

    def decode_hypothesis(self, found: Hypothesis) -> Candidate:
        """Return the text of a hypothesis, on one line, with its score and pieces."""
        text, tokens = self.tokenizer.decode(found.ids), self.tokenizer.pieces(found.ids)
        return Candidate(text=" ".join(text.split()), score=found.score, tokens=tokens)


def arrival_batches(lines: Iterable[str], window: int) -> Iterator[list[str]]:
    """Yield lists of at most `window` lines that have arrived, read ahead by a thread.

    An error while reading `lines` is raised here. TypeError for a line that is no string.
    """
    if isinstance(lines, str):
        raise TypeError("expected an iterable of lines, got a string: translate() takes one")
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=window)
    done = threading.Event()

    def read() -> None:
        end: BaseException | None = None
        try:
            for number, line in enumerate(lines, 1):
                waiting.put(check_text(line, number))
                if done.is_set():
                    return
        except BaseException as error:  # it belongs to whoever asked for the lines
            end = error
        waiting.put(end)

    threading.Thread(target=read, daemon=True).start()
    try:
        end: str | BaseException | None = ""
        while isinstance(end, str):
            items = [waiting.get()]
            while len(items) < window and not waiting.empty():
                items.append(waiting.get())
            if batch := [item for item in items if isinstance(item, str)]:
                yield batch
            end = items[-1]
        if end is not None:
            raise end
    finally:
        done.set()
        while not waiting.empty():  # the reader may wait for room
            waiting.get()
