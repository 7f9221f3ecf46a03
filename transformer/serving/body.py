"""The fields of a request, from JSON, from a form, or from its address."""

import dataclasses
import json
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from transformer.serving.access import RequestError

N_FIELDS = 100  # of a form


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """A file that came in a form."""

    name: str
    content: bytes


async def fields_of(request: Request) -> Mapping[str, Any]:
    """The fields of a request: a JSON object, or a form and the query."""
    if "json" in request.headers.get("content-type", ""):
        return json_object(await request.body())
    fields: dict[str, Any] = dict(query(request))
    if "multipart" in request.headers.get("content-type", ""):
        form = request.form(max_files=1, max_fields=N_FIELDS, max_part_size=2**20)
        async with form as parts:
            for name, value in parts.items():
                if isinstance(value, UploadFile):
                    fields[name] = Upload(value.filename or "", await value.read())
                else:
                    fields[name] = value
    else:
        fields |= _form(await request.body())
    if isinstance(fields.get("q"), str):
        fields["q"] = "\n".join(str(fields["q"]).splitlines())
    return fields


def query(request: Request) -> dict[str, str]:
    """The fields that stand in the address."""
    return _form(request.scope["query_string"])


def _form(body: bytes) -> dict[str, str]:
    """The fields of a form, percent-encoded or in plain UTF-8."""
    try:
        pairs = urllib.parse.parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=N_FIELDS
        )
    except ValueError:
        raise RequestError(400, "Invalid request: expected JSON or a form in UTF-8") from None
    return dict(pairs)


def json_object(body: bytes) -> dict[str, Any]:
    """The object that a JSON body holds; anything else is refused.

    Python's scanner of Python: that in C lets no other thread work until it is through.
    """
    try:
        fields = json.loads(body, cls=_Decoder)
    except (ValueError, RecursionError):
        raise RequestError(400, "Invalid request: expected JSON") from None
    if not isinstance(fields, dict):
        raise RequestError(400, "Invalid request: expected a JSON object")
    for value in fields.values():
        _check_unicode(value if isinstance(value, list) else [value])
    return fields


class _Decoder(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__()
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _check_unicode(values: Sequence[Any]) -> None:
    try:
        for value in values:
            if isinstance(value, str):
                value.encode()
    except UnicodeEncodeError:
        raise RequestError(400, "Invalid request: expected text in Unicode") from None
