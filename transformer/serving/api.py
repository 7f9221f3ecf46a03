"""The answers of a server, as JSON values: what each request of the API gives back."""

import asyncio
import dataclasses
import functools
import importlib.util
import re
import secrets
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast

import numpy

from transformer.config import ServeConfig
from transformer.documents import formats, guess
from transformer.documents.fill import Part, Said, fill
from transformer.documents.passages import (
    Options,
    Passage,
    PickledList,
    detect_encoding,
)
from transformer.documents.worker import Workers
from transformer.serving import schema
from transformer.serving.attention_maps import MappedTranslation
from transformer.serving.authorization import RequestError
from transformer.serving.downloads import Downloads
from transformer.serving.service import (
    DETECT_CHARS,
    Pair,
    Service,
    TextOptions,
    check_pair,
    detected,
    languages,
)
from transformer.text.glossary import Glossary
from transformer.text.language import NAMES, language_code
from transformer.text.markup import split_at_marks
from transformer.text.spelling import has_only_known_words
from transformer.translation.translator import Candidate, Translation

if TYPE_CHECKING:
    from transformer.serving.middleware import Metrics

PAGE_SECONDS = 1.0  # of computing to read or write a page of /translate
MOST_LOOKS, MOST_MAPS = 128, 16  # sentences of a request that are looked into; with their maps
MOST_WARNINGS = 100  # of a file
MOST_NUMBERS = 1_000_000  # of an answer, about 6 bytes each


class Api:
    """One method for each request; all raise RequestError for what they do not answer."""

    def __init__(self, service: Service, limits: ServeConfig, metrics: "Metrics") -> None:
        self._service, self._limits, self._metrics = service, limits, metrics
        self._workers = Workers()
        self._page_workers = Workers(seconds=PAGE_SECONDS)  # no file keeps a page waiting
        self._downloads = Downloads()

    @property
    def _pairs(self) -> tuple[Pair, ...]:
        return self._service.directions.available

    def languages(self) -> list[schema.Language]:
        """GET /languages."""
        return languages(self._pairs)

    def settings(self) -> schema.Settings:
        """GET /frontend/settings: what a page must know."""
        limits = self._limits
        source, target = (schema.Named(code=c, name=NAMES.get(c, c)) for c in self._pairs[0])
        return {
            "apiKeys": bool(limits.api_keys),
            "keyRequired": bool(limits.api_keys),
            "charLimit": limits.char_limit,
            "frontendTimeout": 300,
            "suggestions": False,
            "filesTranslation": True,
            "glossaryLimit": limits.glossary_limit if self._service.directions.guard else 0,
            "supportedFilesFormat": list(formats.FORMATS),
            "language": {"source": source, "target": target},
        }

    async def detect(self, fields: Mapping[str, Any]) -> list[schema.Detected]:
        """POST /detect."""
        text = schema.Detect.of(fields).q
        check_size([text], self._limits.char_limit)
        return detected(text)

    async def translate(self, fields: Mapping[str, Any]) -> schema.Translated:
        """POST /translate: a text or a list, as text or as HTML."""
        request = schema.Translate.of(fields, self._limits.max_alternatives)
        texts, most = request.texts, self._limits.batch_limit
        if len(texts) > most:
            raise RequestError(413, f"Invalid request: {len(texts)} texts exceed {most}")
        check_size(texts, self._limits.char_limit)
        guesses = [detected(text)[0] for text in texts if request.source == "auto"]
        sources = [guess["language"] for guess in guesses] or [request.source] * len(texts)
        pairs = [check_pair((source, request.target), self._pairs) for source in sources]
        self._metrics.characters(sum(map(len, texts)))
        translations = await self._each(request, pairs)

        def given(of: Callable[[Translation], Any]) -> Any:
            each = [of(translation) for translation in translations]
            return each if isinstance(request.q, list) else each[0]

        answer: schema.Translated = {"translatedText": given(lambda found: found.text)}
        if guesses:
            answer["detectedLanguage"] = guesses if isinstance(request.q, list) else guesses[0]
        if request.alternatives:
            answer["alternatives"] = given(lambda found: [c.text for c in found.candidates[1:]])
        if any(translation.warnings for translation in translations):
            answer["warnings"] = given(lambda found: list(found.warnings))
        return answer

    async def _each(self, request: schema.Translate, pairs: Sequence[Pair]) -> list[Translation]:
        """The translations of all texts; those of one direction are asked for together."""
        results: dict[int, Translation] = {}
        how = TextOptions(request.spelling, self._glossary(request.glossary))
        for pair in dict.fromkeys(pairs):
            places = [i for i, other in enumerate(pairs) if other == pair]
            texts = [request.texts[i] for i in places]
            n_best = request.alternatives + 1
            if pair[0] == pair[1]:
                own = [Translation(source=text, candidates=(_unchanged(text),)) for text in texts]
            elif request.format == "html":
                own = [await self._html(text, pair, n_best, how) for text in texts]
            else:
                own = await self._service.translate(texts, pair, n_best, how)
            results.update(zip(places, own, strict=True))
        return [results[i] for i in range(len(pairs))]

    def _glossary(self, rows: schema.Rows) -> Glossary | None:
        """The glossary of a request; RequestError for one with too many terms."""
        if not rows:
            return None
        glossary = known_glossary(rows if isinstance(rows, str) else tuple(map(tuple, rows)))
        n_terms, most = len(glossary.pairs), self._limits.glossary_limit
        if n_terms > most:
            raise RequestError(413, f"Invalid request: {n_terms} terms exceed {most}")
        return glossary

    async def _html(self, text: str, pair: Pair, n_best: int, how: TextOptions) -> Translation:
        options = Options(*pair)
        passages = await self._page_workers.read(text, ".html", options)
        filled, warnings = await self._service.fill(passages, pair, how)
        pages, known = [filled], dict[str, Translation]()

        async def said(k: int, texts: Sequence[str]) -> list[Said]:
            new = [text for text in dict.fromkeys(texts) if text not in known]
            translated = await self._service.translate(new, pair, n_best, how)
            known.update(zip(new, translated, strict=True))
            return [Said(known[text].candidates[: k + 1][-1].text) for text in texts]

        for k in range(1, n_best):  # without a look inside: what is marked stays in its place
            pages.append((await fill(passages, functools.partial(said, k)))[0])
        written = [await self._page_workers.write(text, ".html", options, page) for page in pages]
        candidates = tuple(_unchanged(page.decode(errors="surrogatepass")) for page in written)
        return Translation(source=text, candidates=candidates, warnings=warnings)

    async def translate_file(self, fields: Mapping[str, Any]) -> tuple[str, list[str]]:
        """POST /translate_file: the name by which the file can be fetched, and what is to check."""
        request = schema.TranslateFile.of(fields)
        how = TextOptions(glossary=self._glossary(request.glossary))
        stem, named = _plain_name(request.file.name)
        content, source, target = request.file.content, request.source, request.target
        suffix = formats.resolve_suffix(named, content[: guess.HEAD], request.format)
        columns = tuple(filter(None, request.columns.split(",")))
        options = Options("" if source == "auto" else source, target, columns)
        options = dataclasses.replace(options, encoding=request.encoding)
        passages = await self._workers.read(content, suffix, options)
        if source == "auto":
            named = language_code(passages.metadata.source)
            is_known = any(named == pair[0] for pair in self._pairs)
            source = named if is_known else detected(_beginning(passages))[0]["language"]
            options = dataclasses.replace(options, source=source)
            passages = await self._workers.read(content, suffix, options)
        size = check_size((p.text for p in passages), self._limits.file_char_limit)
        pair = check_pair((source, target), self._pairs)
        self._metrics.characters(size)
        warnings: tuple[str, ...] = ()
        if source != target:
            filled, warnings = await self._service.fill(passages, pair, how)
        else:
            filled = PickledList(
                split_at_marks(passage.text, passage.marks) for passage in passages
            )
        written = await self._workers.write(content, suffix, options, filled)
        notes = await asyncio.to_thread(formats.notes, content, suffix, options)
        kind = formats.FORMATS[suffix]
        kept = f"{secrets.token_urlsafe(24)}{kind.written or suffix}"
        shown = f"{stem}_{target}{kind.written or named}"
        await asyncio.to_thread(self._downloads.put, kept, written, shown)
        return kept, [*passages.metadata.notes, *notes, *warnings][:MOST_WARNINGS]

    def close(self) -> None:
        """Ends the processes that read files and pages, and drops translated files."""
        self._workers.close()
        self._page_workers.close()
        self._downloads.close()

    def tidy(self) -> None:
        """Drops what no request needs any more: old files, glossaries that were asked with."""
        known_glossary.cache_clear()
        self._service.tidy()
        for workers in (self._workers, self._page_workers):
            workers.tidy()
        self._downloads.tidy()

    async def fetch(self, name: str) -> tuple[bytes, str, str]:
        """GET /download_file: content, media type and disposition of a translated file."""
        kept = await asyncio.to_thread(self._downloads.get, name)
        if kept is None:
            raise RequestError(404, "no such file: translated files are kept for half an hour")
        content, shown = kept
        media = formats.FORMATS[PurePosixPath(name).suffix].media
        media = media.replace("utf-8", detect_encoding(content)[0])
        return content, media, f"attachment; filename*=UTF-8''{urllib.parse.quote(shown, safe='')}"

    def _pair(self, request: schema.Inspect | schema.Alternatives) -> Pair:
        """The direction of a text that is to be looked into."""
        check_size([request.q], self._limits.char_limit)
        auto = request.source == "auto"
        source = detected(request.q)[0]["language"] if auto else request.source
        pair = check_pair((source, request.target), self._pairs)
        if pair[0] == pair[1]:
            raise RequestError(400, "expected two languages")
        maps = isinstance(request, schema.Inspect | schema.ContinueAfter) and request.attention
        if maps and not importlib.util.find_spec("torch"):
            raise RequestError(501, "attention maps need PyTorch, which is not installed here")
        return pair

    async def inspect(self, fields: Mapping[str, Any]) -> schema.Inspected:
        """POST /inspect: a text by sentences, with words, their alignment and probabilities."""
        request = schema.Inspect.of(fields)
        with_maps = request.attention
        most = MOST_MAPS if with_maps else MOST_LOOKS
        how = TextOptions(request.spelling, self._glossary(request.glossary))
        parts = await self._service.inspect(request.q, self._pair(request), most, how, with_maps)
        answers, n_left = [], MOST_NUMBERS
        for part in parts:
            n_left -= _n_numbers(part, with_maps)
            shown = part if n_left >= 0 else dataclasses.replace(part, aligned=None)
            answers.append(part_json(shown, with_maps))
        return {"parts": answers}

    async def continue_after(self, fields: Mapping[str, Any]) -> schema.Part:
        """POST /continue_after: one sentence, its translation beginning with a forced prefix."""
        request = schema.ContinueAfter.of(fields)
        pair = self._pair(request)
        part = await self._service.continue_after(
            request.q, pair, request.prefix, with_maps=request.attention
        )
        if _n_numbers(part, request.attention) > MOST_NUMBERS:
            raise RequestError(413, "the sentence is too long to be shown with all its numbers")
        return part_json(part, request.attention)

    async def alternatives(self, fields: Mapping[str, Any]) -> schema.Words:
        """POST /alternatives: the words that may follow a forced prefix."""
        request = schema.Alternatives.of(fields)
        pair = self._pair(request)
        words = await self._service.alternatives(request.q, pair, request.prefix)
        return {
            "alternatives": [
                {
                    "text": word.text,
                    "ids": list(word.ids),
                    "probability": word.probability,
                    "known": has_only_known_words(word.text, pair[1]),
                }
                for word in words
            ]
        }


def _beginning(passages: Iterable[Passage]) -> str:
    """As much text as tells its language."""
    text = ""
    for passage in passages:
        text += f"{passage.text} "
        if len(text) >= DETECT_CHARS:
            break
    return text


def check_size(texts: Iterable[str], limit: int) -> int:
    """How many characters there are; refuses more than the limit."""
    size = sum(map(len, texts))
    if size > limit:
        raise RequestError(413, f"Invalid request: {size} characters exceed the limit of {limit}")
    return size


def _n_numbers(part: Part, with_maps: bool) -> int:
    """How many numbers a part is shown with."""
    if part.aligned is None:
        return 0
    n_numbers = len(part.aligned.source_ids) * len(part.aligned.target_ids)
    if with_maps:
        n_numbers += cast(MappedTranslation, part.aligned).n_numbers
    return n_numbers


@functools.lru_cache(maxsize=4)
def known_glossary(rows: str | tuple[tuple[str, ...], ...]) -> Glossary:
    """The glossary of a text or of rows: a page asks with the same one again and again."""
    if isinstance(rows, str):
        return Glossary.parse(rows)
    return Glossary.from_rows([(f"glossary, row {n}", row) for n, row in enumerate(rows, 1)])


def _unchanged(text: str) -> Candidate:
    return Candidate(text=text, score=0.0, tokens=())


def _plain_name(name: str) -> tuple[str, str]:
    """Stem and ending of a file name, without a path and what no name should hold."""
    last = re.split(r"[/\\]", name)[-1]
    path = PurePosixPath(re.sub(r"[\x00-\x1f\x7f\"<>|:*?]", "", last)[:200] or "file")
    return path.stem.lstrip(".") or "file", path.suffix.lower()


def part_json(part: Part, with_maps: bool) -> schema.Part:
    """A part of a text: what it is, and what the model did with it."""
    aligned = part.aligned
    answer: schema.Part = {
        "source": aligned.source if aligned else part.text,
        "target": aligned.target if aligned else part.target,
        "warnings": list(part.warnings),
    }
    if aligned is None:
        return answer
    answer["ids"] = list(aligned.target_ids)
    answer["sourceWords"] = [(word.text, word.first, word.last) for word in aligned.source_words]
    answer["targetWords"] = [
        (word.text, word.first, word.last, round(p, 4))
        for word, p in zip(aligned.target_words, aligned.confidence(), strict=True)
    ]
    shape = len(aligned.target_words), len(aligned.source_words)
    rows: Any = numpy.array(aligned.alignment(), "float32").reshape(shape)
    answer["alignment"] = rows  # as those below: an array is written row by row
    if with_maps:
        mapped = cast(MappedTranslation, aligned)
        answer["sourcePieces"] = list(mapped.source_pieces)
        answer["targetPieces"] = list(mapped.target_pieces)
        answer["probabilities"] = [round(p, 5) for p in mapped.probabilities]
        answer["steps"] = [[(piece, round(p, 5)) for piece, p in step] for step in mapped.steps]
        answer["encoder"] = mapped.encoder
        answer["decoder"] = mapped.decoder
        answer["cross"] = mapped.cross
    return answer
