"""The fields of a request: a JSON object, or a form and the query of the address."""

import json
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from transformer.serving.errors import RequestError
from transformer.serving.schema import Upload

MAX_FIELDS = 100  # of a form
_TEXT_FIELD = re.compile(r"q(?:\[\d*\])?")  # of one text or, as PHP sends it, of a list


async def parse_fields(request: Request) -> Mapping[str, Any]:
    """Return the fields of a JSON body, or else of the query and a form, which overrides it.

    A file is an `Upload`. RequestError or HTTPException 400 for a body that is not sound.
    """
    media_type = request.headers.get("content-type", "")
    if "json" in media_type:
        return _parse_json(await request.body())
    pairs: list[tuple[str, Any]] = []
    if "multipart" in media_type:
        form = request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=2**20)
        async with form as parts:
            for name, value in parts.multi_items():
                if isinstance(value, UploadFile):
                    pairs.append((name, Upload(value.filename or "", await value.read())))
                else:
                    pairs.append((name, value))
    else:
        pairs += _parse_form(await request.body())
    return parse_query(request) | _group_fields(pairs)


def parse_query(request: Request) -> dict[str, Any]:
    """Return the fields of a URL's query as `_group_fields` does; RequestError 400 if not UTF-8."""
    return _group_fields(_parse_form(request.scope["query_string"]))


def _parse_form(body: bytes) -> list[tuple[str, str]]:
    """Return names and values of a form, which is percent-encoded or plain UTF-8.

    Raises RequestError 400 for anything else and for too many fields.
    """
    try:
        return urllib.parse.parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise RequestError(
            400, f"Invalid request: expected JSON or a form in UTF-8 of {MAX_FIELDS} fields at most"
        ) from None


def _group_fields(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return fields by name, the last of each; repeated q, q[], q[0] or a JSON list: a list `q`."""
    fields, texts = dict[str, Any](), list[Any]()
    is_list = False
    for name, value in pairs:
        if _TEXT_FIELD.fullmatch(name):
            texts.append("\n".join(value.splitlines()) if isinstance(value, str) else value)
            is_list |= name != "q" or len(texts) > 1
        else:
            fields[name] = value
    if texts:
        fields["q"] = texts if is_list else _parse_text_list(texts[0]) or texts[0]
    return fields


def _parse_text_list(text: Any) -> list[str] | None:
    """Return a JSON list of strings, None for other text; RequestError as of `_check_unicode`."""
    try:
        texts = json.loads(text) if isinstance(text, str) and text[:1] == "[" else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return None
    _check_unicode(texts)
    return texts


class _Decoder(json.JSONDecoder):
    """JSON decoder with the pure Python scanner, as the one in C would block all other threads."""

    def __init__(self) -> None:
        super().__init__()
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _parse_json(body: bytes) -> dict[str, Any]:
    """Return the object in a JSON body; RequestError for anything else."""
    try:
        fields = json.loads(body, cls=_Decoder)
    except (ValueError, RecursionError):
        raise RequestError(400, "Invalid request: expected JSON") from None
    if not isinstance(fields, dict):
        raise RequestError(400, "Invalid request: expected a JSON object")
    for value in fields.values():
        _check_unicode(value if isinstance(value, list) else [value])
    return fields


def _check_unicode(values: Sequence[Any]) -> None:
    """Raise RequestError 400 if a string among `values` has half a surrogate pair: no UTF-8."""
    try:
        for value in values:
            if isinstance(value, str):
                value.encode()
    except UnicodeEncodeError:
        raise RequestError(400, "Invalid request: expected text in Unicode") from None
