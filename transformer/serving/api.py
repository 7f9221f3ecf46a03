"""The answers of the API, as JSON values: a method for each request."""

import asyncio
import dataclasses
import functools
import importlib.util
import itertools
import re
import secrets
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy

import transformer
from transformer.config import Direction, ServeConfig
from transformer.documents import formats, guess
from transformer.documents.passages import Options, PickledList, detect_encoding
from transformer.documents.translate import TranslatedSegment, TranslatedText, translate_passages
from transformer.documents.worker import WorkerPool
from transformer.explain.alignment import Trace
from transformer.serving import schema
from transformer.serving.downloads import Downloads
from transformer.serving.errors import RequestError
from transformer.serving.metrics import Metrics
from transformer.serving.service import (
    DETECT_CHARS,
    Service,
    TextOptions,
    check_direction,
    detect_languages,
)
from transformer.text.glossary import Glossary
from transformer.text.language import NAMES, language_code
from transformer.text.markup import split_at_marks
from transformer.text.spelling import has_only_known_words
from transformer.translation.translator import Candidate, Translation

PAGE_SECONDS = 1.0  # of computing to read or write a page of /translate
MAX_INSPECTED, MAX_MAPPED = 128, 16  # sentences of a request; with their maps
MAX_WARNINGS = 100  # of a file
MAX_NUMBERS = 1_000_000  # of an answer, about 6 bytes each


class Api:
    """Answers requests; methods take the fields of one, and raise RequestError or UserError."""

    def __init__(self, service: Service, limits: ServeConfig, metrics: Metrics) -> None:
        self._service, self._limits, self._metrics = service, limits, metrics
        self._workers = WorkerPool()
        self._page_workers = WorkerPool(seconds=PAGE_SECONDS)  # no file keeps a page waiting
        self._downloads = Downloads()

    @property
    def _served(self) -> tuple[Direction, ...]:
        return self._service.directions.available

    def languages(self) -> list[schema.Language]:
        """GET /languages: return the languages, each with its targets, itself included."""
        return [
            {
                "code": code,
                "name": NAMES.get(code, code),
                "targets": [*(tgt for src, tgt in self._served if src == code), code],
            }
            for code in dict.fromkeys(lang for langs in self._served for lang in langs)
        ]

    def settings(self) -> schema.Settings:
        """GET /frontend/settings: return the limits and languages that a web page needs."""
        limits = self._limits
        source, target = (
            schema.LanguageName(code=c, name=NAMES.get(c, c)) for c in self._served[0]
        )
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
            "model": Path(self._service.directions.folders[self._served[0]]).resolve().name,
            "version": transformer.__version__,
        }

    async def detect(self, fields: Mapping[str, Any]) -> list[schema.Detected]:
        """POST /detect: return the languages of `q`, likeliest first; RequestError if too long."""
        text = schema.Detect.of(fields).q
        _check_size([text], self._limits.char_limit)
        return detect_languages(text)

    async def translate(self, fields: Mapping[str, Any]) -> schema.Translated:
        """POST /translate: translate a text or list `q`; RequestError if too large or wrong."""
        request = schema.Translate.of(fields, self._limits.max_alternatives)
        texts, batch_limit = request.texts, self._limits.batch_limit
        if len(texts) > batch_limit:
            raise RequestError(413, f"Invalid request: {len(texts)} texts exceed {batch_limit}")
        _check_size(texts, self._limits.char_limit)
        detected = [detect_languages(text)[0] for text in texts if request.source == "auto"]
        sources = [each["language"] for each in detected] or [request.source] * len(texts)
        directions = [check_direction((source, request.target), self._served) for source in sources]
        self._metrics.count_characters(sum(map(len, texts)))
        translations = await self._translate_each(request, directions)

        def one_or_list(field: Callable[[Translation], Any]) -> Any:
            values = [field(translation) for translation in translations]
            return values if isinstance(request.q, list) else values[0]

        answer: schema.Translated = {"translatedText": one_or_list(lambda t: t.text)}
        if detected:
            answer["detectedLanguage"] = detected if isinstance(request.q, list) else detected[0]
        if request.alternatives:
            answer["alternatives"] = one_or_list(lambda t: [c.text for c in t.candidates[1:]])
        if any(translation.warnings for translation in translations):
            answer["warnings"] = one_or_list(lambda t: list(t.warnings))
        return answer

    async def _translate_each(
        self, request: schema.Translate, directions: Sequence[Direction]
    ) -> list[Translation]:
        """Return a translation of each text, text i in `directions[i]`.

        Texts of one direction are translated together; between equal languages they stay. Raises as
        `_glossary`, `Service.translate` and, for pages, `WorkerPool.read`.
        """
        results: dict[int, Translation] = {}
        options = TextOptions(request.spelling, self._glossary(request.glossary))
        n_best = request.alternatives + 1
        for langs in dict.fromkeys(directions):
            rows = [i for i, other in enumerate(directions) if other == langs]
            texts = [request.texts[i] for i in rows]
            if langs[0] == langs[1]:
                some = [Translation(source=text, candidates=(_candidate(text),)) for text in texts]
            elif request.format == "html":
                some = [await self._translate_html(text, langs, n_best, options) for text in texts]
            else:
                some = await self._service.translate(texts, langs, options, n_best)
            results.update(zip(rows, some, strict=True))
        return [results[i] for i in range(len(directions))]

    def _glossary(self, rows: schema.GlossaryRows) -> Glossary | None:
        """Return the glossary of a request's rows, None if there are no rows.

        RequestError 413 for more terms than the server takes, UserError for a malformed row.
        """
        if not rows:
            return None
        glossary = parse_glossary(rows if isinstance(rows, str) else tuple(map(tuple, rows)))
        n_terms, limit = len(glossary.pairs), self._limits.glossary_limit
        if n_terms > limit:
            raise RequestError(413, f"Invalid request: {n_terms} terms exceed {limit}")
        return glossary

    async def _translate_html(
        self, text: str, langs: Direction, n_best: int, options: TextOptions
    ) -> Translation:
        page_options = Options(*langs)
        passages = await self._page_workers.read(text, ".html", page_options)
        filled, warnings = await self._service.translate_passages(passages, langs, options)
        pages, known = [filled], dict[str, Translation]()

        async def candidate(k: int, texts: Sequence[str]) -> list[TranslatedText]:
            new = [text for text in dict.fromkeys(texts) if text not in known]
            translated = await self._service.translate(new, langs, options, n_best)
            known.update(zip(new, translated, strict=True))
            return [TranslatedText(known[text].candidates[: k + 1][-1].text) for text in texts]

        for k in range(1, n_best):  # without an alignment: what is marked stays in its place
            pages.append((await translate_passages(passages, functools.partial(candidate, k)))[0])
        written = [
            await self._page_workers.write(text, ".html", page_options, page) for page in pages
        ]
        candidates = tuple(_candidate(page.decode(errors="surrogatepass")) for page in written)
        return Translation(source=text, candidates=candidates, warnings=warnings)

    async def translate_file(self, fields: Mapping[str, Any]) -> tuple[str, list[str]]:
        """POST /translate_file: return the name for /download_file, and up to 100 warnings."""
        request = schema.TranslateFile.of(fields)
        options = TextOptions(glossary=self._glossary(request.glossary))
        content, source, target = request.file.content, request.source, request.target
        stem, ending = _safe_name(request.file.name)
        suffix = formats.resolve_suffix(ending, content[: guess.HEAD], request.format)
        columns = tuple(filter(None, request.columns.split(",")))
        file_options = Options(
            "" if source == "auto" else source, target, columns, encoding=request.encoding
        )
        passages = await self._workers.read(content, suffix, file_options)
        if source == "auto":
            stated = language_code(passages.metadata.source)
            is_served = any(stated == langs[0] for langs in self._served)
            beginning = " ".join(p.text for p in itertools.islice(passages, DETECT_CHARS))
            source = stated if is_served else detect_languages(beginning)[0]["language"]
            file_options = dataclasses.replace(file_options, source=source)
            passages = await self._workers.read(content, suffix, file_options)
        size = _check_size((p.text for p in passages), self._limits.file_char_limit)
        langs = check_direction((source, target), self._served)
        self._metrics.count_characters(size)
        warnings: tuple[str, ...] = ()
        if source != target:
            filled, warnings = await self._service.translate_passages(passages, langs, options)
        else:
            filled = PickledList(
                split_at_marks(passage.text, passage.marks) for passage in passages
            )
        written = await self._workers.write(content, suffix, file_options, filled)
        notes = await asyncio.to_thread(formats.encoding_notes, content, suffix, file_options)
        written_suffix = formats.FORMATS[suffix].output_suffix
        name = f"{secrets.token_urlsafe(24)}{written_suffix or suffix}"
        title = f"{stem}_{target}{written_suffix or ending}"
        await asyncio.to_thread(self._downloads.put, name, written, title)
        return name, [*passages.metadata.notes, *notes, *warnings][:MAX_WARNINGS]

    async def download_file(self, name: str) -> tuple[bytes, str, str]:
        """GET /download_file: return content, media type, disposition; RequestError 404 if gone."""
        found = await asyncio.to_thread(self._downloads.get, name)
        if found is None:
            raise RequestError(404, "no such file: translated files are kept for half an hour")
        content, title = found
        media_type = formats.FORMATS[PurePosixPath(name).suffix].content_type
        media_type = media_type.replace("utf-8", detect_encoding(content)[0])
        quoted = urllib.parse.quote(title, safe="")
        return content, media_type, f"attachment; filename*=UTF-8''{quoted}"

    def release_idle(self) -> None:
        """Free what no present request needs: old files, past glossaries, ended processes."""
        parse_glossary.cache_clear()
        self._service.release_idle()
        self._workers.reap()
        self._page_workers.reap()
        self._downloads.delete_old()

    def close(self) -> None:
        """End the processes that read files and pages, and delete translated files."""
        self._workers.close()
        self._page_workers.close()
        self._downloads.close()

    def _direction(self, request: schema.Inspect | schema.Alternatives) -> Direction:
        """Return the direction of a text to inspect, its language detected for "auto".

        RequestError 413 for a long text, 400 for a bad direction, 501 for maps without PyTorch.
        """
        _check_size([request.q], self._limits.char_limit)
        is_auto = request.source == "auto"
        source = detect_languages(request.q)[0]["language"] if is_auto else request.source
        langs = check_direction((source, request.target), self._served)
        if langs[0] == langs[1]:
            raise RequestError(400, "expected two languages")
        if getattr(request, "attention", False) and not importlib.util.find_spec("torch"):
            raise RequestError(501, "attention maps need PyTorch, which is not installed here")
        return langs

    async def inspect(self, fields: Mapping[str, Any]) -> schema.Inspected:
        """POST /inspect: return a text by sentences, with words, alignment and probabilities.

        Only the first sentences have these numbers: MAX_INSPECTED, MAX_MAPPED with attention maps.
        RequestError or UserError for wrong fields.
        """
        request = schema.Inspect.of(fields)
        max_inspected = MAX_MAPPED if request.attention else MAX_INSPECTED
        options = TextOptions(request.spelling, self._glossary(request.glossary))
        parts = await self._service.inspect(
            request.q, self._direction(request), options, max_inspected, request.attention
        )
        answers, n_left = [], MAX_NUMBERS
        for part in parts:
            n_left -= _n_numbers(part)
            answers.append(
                _part_json(part if n_left >= 0 else dataclasses.replace(part, aligned=None))
            )
        return {"parts": answers}

    async def continue_after(self, fields: Mapping[str, Any]) -> schema.Part:
        """POST /continue_after: translate a sentence `q`, beginning with the ids `prefix`.

        `fields` are those of `schema.ContinueAfter`. `prefix` may be empty; with `attention`
        the answer has attention maps. RequestError 400 for wrong fields, 413 for a text or answer
        that is too long, 501 for maps without PyTorch, 503 if the server is busy or stopping;
        UserError for invalid ids, or a sentence too long for the model.
        """
        request = schema.ContinueAfter.of(fields)
        langs = self._direction(request)
        part = await self._service.continue_after(
            request.q, langs, request.prefix, with_maps=request.attention
        )
        if _n_numbers(part) > MAX_NUMBERS:
            raise RequestError(413, "the sentence is too long to be shown with all its numbers")
        return _part_json(part)

    async def alternatives(self, fields: Mapping[str, Any]) -> schema.Words:
        """POST /alternatives: return up to 8 words that may follow ids `prefix`, likeliest first.

        `fields` are those of `schema.Alternatives`; raises as `continue_after`.
        """
        request = schema.Alternatives.of(fields)
        langs = self._direction(request)
        words = await self._service.alternatives(request.q, langs, request.prefix)
        return {
            "alternatives": [
                {
                    "text": word.text,
                    "ids": list(word.ids),
                    "probability": word.probability,
                    "known": has_only_known_words(word.text, langs[1]),
                }
                for word in words
            ]
        }


def _check_size(texts: Iterable[str], limit: int) -> int:
    """Return the characters of all texts together; RequestError 413 if they exceed the limit."""
    size = sum(map(len, texts))
    if size > limit:
        raise RequestError(413, f"Invalid request: {size} characters exceed the limit of {limit}")
    return size


@functools.lru_cache(maxsize=4)
def parse_glossary(rows: str | tuple[tuple[str, ...], ...]) -> Glossary:
    """Return the glossary of a text or rows, cached as pages resend it; UserError if malformed."""
    if isinstance(rows, str):
        return Glossary.parse(rows)
    return Glossary.from_rows([(f"glossary, row {n}", row) for n, row in enumerate(rows, 1)])


def _candidate(text: str) -> Candidate:
    return Candidate(text=text, score=0.0, tokens=())


def _safe_name(name: str) -> tuple[str, str]:
    """Split an upload's name into a safe stem, or "file", and its suffix in lower case: ".txt"."""
    last = re.split(r"[/\\]", name)[-1]
    path = PurePosixPath(re.sub(r"[\x00-\x1f\x7f\"<>|:*?]", "", last)[:200] or "file")
    return path.stem.lstrip(".") or "file", path.suffix.lower()


def _n_numbers(part: TranslatedSegment) -> int:
    """Return how many numbers the JSON of a part will hold; 0 without an alignment."""
    aligned = part.aligned
    if aligned is None:
        return 0
    maps = (aligned.encoder, aligned.decoder, aligned.cross) if isinstance(aligned, Trace) else ()
    return len(aligned.source_ids) * len(aligned.target_ids) + sum(each.size for each in maps)


def _part_json(part: TranslatedSegment) -> schema.Part:
    """Return a part as the fields of `schema.Part`: more with an alignment, all with a `Trace`.

    NumPy arrays stay arrays: the JSON encoder writes them by rows.
    """
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
    answer["alignment"] = cast(Any, numpy.array(aligned.alignment(), "float32").reshape(shape))
    if isinstance(aligned, Trace):
        answer["sourcePieces"] = list(aligned.source_pieces)
        answer["targetPieces"] = list(aligned.target_pieces)
        answer["probabilities"] = [round(p, 5) for p in aligned.probabilities]
        answer["steps"] = [[(c.piece, round(c.probability, 5)) for c in s] for s in aligned.steps]
        answer["encoder"] = aligned.encoder
        answer["decoder"] = aligned.decoder
        answer["cross"] = aligned.cross
    return answer
