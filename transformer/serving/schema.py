"""What clients ask for, checked: the fields of a request become values, or a refusal.

The fields are those of the LibreTranslate API, from JSON or from a form.
"""

import dataclasses
import json
import urllib.parse
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from transformer.config import ServeConfig
from transformer.serving.access import RequestError
from transformer.text.language import LANGUAGES, detect

NAMES = {"es": "Spanish", "en": "English"}
Pair = tuple[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class TranslateRequest:
    """Texts to translate; those of a list come back as a list."""

    texts: tuple[str, ...]
    is_list: bool
    source: str  # a language, or auto
    target: str
    format: Literal["text", "html"]
    n_alternatives: int


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


def form(body: bytes, most: int) -> dict[str, str]:
    """The fields of a form, percent-encoded or in plain UTF-8."""
    try:
        pairs = urllib.parse.parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=most
        )
    except ValueError:
        raise RequestError(400, "Invalid request: expected JSON or a form in UTF-8") from None
    return dict(pairs)


def translate_request(fields: Mapping[str, Any], limits: ServeConfig) -> TranslateRequest:
    """What /translate is asked for."""
    q = fields.get("q")
    is_list = isinstance(q, list)
    texts = tuple(q) if isinstance(q, list) else (text_field(fields, "q"),)
    if not all(isinstance(text, str) for text in texts):
        raise RequestError(400, "Invalid request: expected q to be a string or a list of strings")
    if len(texts) > limits.batch_limit:
        raise RequestError(413, f"Invalid request: {len(texts)} texts exceed {limits.batch_limit}")
    check_texts(texts, limits.char_limit)
    wanted = fields.get("format") or "text"
    if wanted not in ("text", "html"):
        raise RequestError(400, "Invalid request: expected format to be text or html")
    return TranslateRequest(
        texts,
        is_list,
        text_field(fields, "source"),
        text_field(fields, "target"),
        "html" if wanted == "html" else "text",
        number(fields, "alternatives", limits.max_alternatives),
    )


def text_field(fields: Mapping[str, Any], name: str) -> str:
    """A field that must be there and be a string."""
    value = fields.get(name)
    if value is None or value == "":
        if name == "q" and value == "":
            return ""
        raise RequestError(400, f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise RequestError(400, f"Invalid request: expected {name} to be a string")
    return value


def number(fields: Mapping[str, Any], name: str, most: int) -> int:
    """A field from 0 to a limit; 0 where it is not there."""
    value = fields.get(name) or 0
    try:
        n = int(value) if isinstance(value, str | int) else -1
    except ValueError:
        n = -1
    if not 0 <= n <= most:
        raise RequestError(400, f"Invalid request: expected {name} from 0 to {most}")
    return n


def ids(fields: Mapping[str, Any], most: int = 4096) -> tuple[int, ...]:
    """The field `prefix`: ids of target pieces."""
    value = fields.get("prefix") or []
    if not isinstance(value, list) or len(value) > most:
        raise RequestError(
            400, f"Invalid request: expected prefix to be a list of {most} ids at most"
        )
    if not all(isinstance(id, int) and not isinstance(id, bool) for id in value):
        raise RequestError(400, "Invalid request: expected prefix to be a list of ids")
    return tuple(value)


def check_texts(texts: Sequence[str], limit: int) -> None:
    """Refuses more characters than the limit."""
    size = sum(map(len, texts))
    if size > limit:
        raise RequestError(413, f"Invalid request: {size} characters exceed the limit of {limit}")


def check_pair(pair: Pair, pairs: Collection[Pair]) -> Pair:
    """A direction that is served, or a language into itself; anything else is refused."""
    known = {lang for served in pairs for lang in served}
    for lang in pair:
        if lang not in known:
            raise RequestError(400, f"{lang[:20]} is not supported")
    if pair[0] != pair[1] and pair not in pairs:
        raise RequestError(400, f"{pair[0]} to {pair[1]} is not supported")
    return pair


def languages(pairs: Collection[Pair]) -> list[dict[str, Any]]:
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


def detected(text: str) -> list[dict[str, Any]]:
    """The languages that a text may be in, likeliest first, with per cent."""
    likeliest = detect(text)
    shares = dict.fromkeys(LANGUAGES, 1 - likeliest.confidence) | {
        likeliest.lang: likeliest.confidence
    }
    return [
        {"confidence": round(100 * share, 1), "language": lang}
        for lang, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
