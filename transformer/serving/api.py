"""The answers of a server, as JSON values: what each request of the API gives back.

Knows the service and the checked fields of requests; no network.
"""

import asyncio
import re
import secrets
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from transformer.config import ServeConfig
from transformer.documents import formats
from transformer.documents.markup import MarkedText, split_at_marks
from transformer.serving import schema
from transformer.serving.access import RequestError
from transformer.serving.schema import Pair
from transformer.serving.service import Part, Service
from transformer.text.language import detect
from transformer.translation.translator import Candidate, Translation

if TYPE_CHECKING:
    from transformer.serving.middleware import Metrics

KEPT_SECONDS, KEPT_BYTES = 1800, 2**28  # of translated files that wait to be fetched
DETECT_CHARS = 2000  # that are enough to tell a language by


class Api:
    """One method for each request; all raise RequestError for what they do not answer."""

    def __init__(self, service: Service, limits: ServeConfig, metrics: "Metrics") -> None:
        self._service, self._limits, self._metrics = service, limits, metrics
        self._files: OrderedDict[str, tuple[float, bytes, str]] = OrderedDict()

    @property
    def _pairs(self) -> tuple[Pair, ...]:
        return self._service.directions.available

    def languages(self) -> list[dict[str, Any]]:
        """GET /languages."""
        return schema.languages(self._pairs)

    def settings(self) -> dict[str, Any]:
        """GET /frontend/settings: what a page must know."""
        limits, first = self._limits, self._pairs[0]
        named = [{"code": code, "name": schema.NAMES.get(code, code)} for code in first]
        return {
            "apiKeys": bool(limits.api_keys),
            "keyRequired": bool(limits.api_keys),
            "charLimit": limits.char_limit,
            "frontendTimeout": 300,
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": list(formats.FORMATS),
            "language": {"source": named[0], "target": named[1]},
        }

    async def detect(self, fields: Mapping[str, Any]) -> Any:
        """POST /detect."""
        text = schema.text_field(fields, "q")
        schema.check_texts([text], self._limits.char_limit)
        return schema.detected(text[:DETECT_CHARS])

    async def translate(self, fields: Mapping[str, Any]) -> Any:
        """POST /translate: a text or a list, as text or as HTML."""
        asked = schema.translate_request(fields, self._limits)
        found = [schema.detected(text[:DETECT_CHARS])[0] for text in asked.texts]
        auto = asked.source == "auto"
        sources = [one["language"] if auto else asked.source for one in found]
        pairs = [schema.check_pair((source, asked.target), self._pairs) for source in sources]
        self._metrics.characters.inc(sum(map(len, asked.texts)))
        translations = await self._each(asked, pairs)
        texts = [one.text for one in translations]
        others = [[c.text for c in one.candidates[1:]] for one in translations]
        answer: dict[str, Any] = {"translatedText": texts if asked.is_list else texts[0]}
        if auto:
            answer["detectedLanguage"] = found if asked.is_list else found[0]
        if asked.n_alternatives:
            answer["alternatives"] = others if asked.is_list else others[0]
        warnings = [list(one.warnings) for one in translations]
        if any(warnings):
            answer["warnings"] = warnings if asked.is_list else warnings[0]
        return answer

    async def _each(
        self, asked: schema.TranslateRequest, pairs: Sequence[Pair]
    ) -> list[Translation]:
        """The translations of all texts; those of one direction are asked for together."""
        found: dict[int, Translation] = {}
        for pair in dict.fromkeys(pairs):
            places = [i for i, one in enumerate(pairs) if one == pair]
            texts = [asked.texts[i] for i in places]
            n_best = asked.n_alternatives + 1
            if pair[0] == pair[1]:
                own = [Translation(source=one, candidates=(_unchanged(one),)) for one in texts]
            elif asked.format == "html":
                own = [await self._html(text, pair, n_best) for text in texts]
            else:
                own = await self._service.translate(texts, pair, n_best)
            found.update(zip(places, own, strict=True))
        return [found[i] for i in range(len(pairs))]

    async def _html(self, text: str, pair: Pair, n_best: int) -> Translation:
        document = await asyncio.to_thread(formats.html, text)
        filled, warnings = await self._service.fill(document, pair)
        candidates = [_unchanged((await asyncio.to_thread(document.write, filled)).decode())]
        if n_best > 1:  # the further ones without a look inside: what is marked stays in its place
            marks = document.marks
            cuts = [
                split_at_marks(one, own) for one, own in zip(document.texts, marks, strict=True)
            ]
            pieces = [piece for one in cuts for piece, _ in one]
            found = await self._service.translate(pieces, pair, n_best)
            candidates += [_unchanged(_alternative(text, cuts, found, k)) for k in range(1, n_best)]
        return Translation(source=text, candidates=tuple(candidates), warnings=warnings)

    async def translate_file(self, name: str, content: bytes, fields: Mapping[str, Any]) -> str:
        """POST /translate_file: the name under which the translated file can be fetched."""
        stem, suffix = _plain_name(name)
        most = int(self._limits.file_mib * 2**20)
        document = await asyncio.to_thread(formats.read, content, suffix, most)
        schema.check_texts(document.texts, self._limits.file_char_limit)
        source, target = (schema.text_field(fields, name) for name in ("source", "target"))
        if source == "auto":
            source = detect(" ".join(document.texts)[:DETECT_CHARS]).lang
        pair = schema.check_pair((source, target), self._pairs)
        self._metrics.characters.inc(sum(map(len, document.texts)))
        written = content
        if source != target:
            filled, _ = await self._service.fill(document, pair)
            written = await asyncio.to_thread(document.write, filled)
        kept = f"{secrets.token_urlsafe(24)}{suffix}"
        self._keep(kept, written, f"{stem}_{target}{suffix}")
        return kept

    def _keep(self, name: str, content: bytes, shown: str) -> None:
        self._files[name] = time.monotonic() + KEPT_SECONDS, content, shown
        while self._files:
            ends, _, _ = next(iter(self._files.values()))
            size = sum(len(one) for _, one, _ in self._files.values())
            if ends > time.monotonic() and (size <= KEPT_BYTES or len(self._files) == 1):
                break
            self._files.popitem(last=False)

    def fetch(self, name: str) -> tuple[bytes, str, str]:
        """GET /download_file: content, media type and disposition of a translated file."""
        ends, content, shown = self._files.get(name, (0.0, b"", ""))
        if ends <= time.monotonic():
            raise RequestError(404, "no such file: translated files are kept for half an hour")
        media = formats.MEDIA[PurePosixPath(name).suffix]
        return content, media, f"attachment; filename*=UTF-8''{urllib.parse.quote(shown, safe='')}"

    def _asked_inside(self, fields: Mapping[str, Any]) -> tuple[str, Pair]:
        text = schema.text_field(fields, "q")
        schema.check_texts([text], self._limits.char_limit)
        source = schema.text_field(fields, "source")
        if source == "auto":
            source = detect(text[:DETECT_CHARS]).lang
        pair = schema.check_pair((source, schema.text_field(fields, "target")), self._pairs)
        if pair[0] == pair[1]:
            raise RequestError(400, "expected two languages")
        return text, pair

    async def inspect(self, fields: Mapping[str, Any]) -> Any:
        """POST /inspect: a text by sentences, with words, their alignment and probabilities."""
        text, pair = self._asked_inside(fields)
        parts = await self._service.inspect(text, pair)
        return {"parts": [part_json(one, bool(fields.get("attention"))) for one in parts]}

    async def continue_after(self, fields: Mapping[str, Any]) -> Any:
        """POST /continue_after: one sentence, its translation beginning with a forced prefix."""
        text, pair = self._asked_inside(fields)
        part = await self._service.continue_after(text, pair, schema.ids(fields))
        return part_json(part, bool(fields.get("attention")))

    async def alternatives(self, fields: Mapping[str, Any]) -> Any:
        """POST /alternatives: the words that may follow a forced prefix."""
        text, pair = self._asked_inside(fields)
        found = await self._service.alternatives(text, pair, schema.ids(fields))
        return {
            "alternatives": [
                {"text": one.text, "ids": one.ids, "probability": one.probability} for one in found
            ]
        }


def _alternative(
    text: str, cuts: Sequence[MarkedText], found: Sequence[Translation], k: int
) -> str:
    """A page with the k-th candidate of each of its pieces, or the last."""
    following = iter(one.candidates[min(k, len(one.candidates) - 1)].text for one in found)
    filled = [[(next(following), mark) for _, mark in one] for one in cuts]
    return formats.html(text).write(filled).decode()


def _unchanged(text: str) -> Candidate:
    return Candidate(text=text, score=0.0, tokens=())


def _plain_name(name: str) -> tuple[str, str]:
    """Stem and ending of a file name, without a path and what no name should hold."""
    last = re.split(r"[/\\]", name)[-1]
    path = PurePosixPath(re.sub(r"[\x00-\x1f\x7f\"<>|:*?]", "", last)[:200] or "file")
    return path.stem.lstrip(".") or "file", path.suffix.lower()


def part_json(part: Part, with_maps: bool) -> dict[str, Any]:
    """A part of a text: what it is, and what the model did with it."""
    found = part.trace
    if found is None:
        return {"source": part.text, "target": part.target, "warnings": part.warnings}
    answer: dict[str, Any] = {
        "source": found.source,
        "target": found.target,
        "warnings": part.warnings,
        "ids": found.target_ids,
        "sourceWords": [[one.text, one.first, one.last] for one in found.source_words],
        "targetWords": [
            [one.text, one.first, one.last, round(p, 4)]
            for one, p in zip(found.target_words, found.confidence(), strict=True)
        ],
        "alignment": _rounded(found.alignment()),
    }
    if with_maps:
        answer |= {
            "sourcePieces": found.source_pieces,
            "targetPieces": found.target_pieces,
            "probabilities": [round(p, 5) for p in found.probabilities],
            "steps": [[[c.piece, round(c.probability, 5)] for c in one] for one in found.steps],
            "encoder": _rounded(found.encoder),
            "decoder": _rounded(found.decoder),
            "cross": _rounded(found.cross),
        }
    return answer


def _rounded(values: Any) -> Any:
    if isinstance(values, list):
        return [_rounded(one) for one in values]
    return round(values, 3) if isinstance(values, float) else _rounded(values.tolist())
