"""The operations of the API, as OpenAPI describes them: summaries, fields, answers, examples.

The examples are answers of the released model.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from transformer.serving import schema

TITLE = "Spanish-English translation"
ABOUT = (
    "The LibreTranslate API, and what looks inside a translation. Fields come as JSON, as a form "
    "or in the address. A refusal has the field `error`, one line that says why; with 429 and 503 "
    "the header `Retry-After` gives seconds. Where the server wants keys, each request has one, "
    "in the field `api_key` or as `Authorization: Bearer KEY`."
)
REQUEST_ERRORS = {
    400: "a field is missing or wrong", 403: "a key is needed, or is not known",
    408: "the request did not arrive in time", 413: "too much at once", 429: "too often",
    501: "attention maps need PyTorch, which the server lacks",
    503: "the server is busy or stopping",
}  # fmt: skip
DEFAULT_ERROR = {"default": {"description": "a refusal", "model": schema.Error}}
FORMS = ("application/json", "application/x-www-form-urlencoded")
SENTENCE = {"q": "Tengo hambre.", "source": "es", "target": "en"}
INSPECTED: dict[str, Any] = {
    "source": "Tengo hambre.", "target": "I'm hungry.", "warnings": [],
    "ids": [319, 295, 371, 13192, 273, 2],
    "sourceWords": [["Tengo", 1, 2], ["hambre", 2, 3], [".", 3, 4]],
    "targetWords": [["I'm", 0, 3, 0.6659], ["hungry", 3, 4, 0.9394], [".", 4, 5, 0.9146]],
    "alignment": [[0.422, 0.145, 0.044], [0.064, 0.921, 0.005], [0.016, 0.007, 0.639]],
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API: its summary, type of fields, if it takes any, and of a JSON answer.

    `examples` are (fields, answer) by title. `media_type` is that of the answer, `field_types` are
    media types of the fields; `command`, if any, describes it by a shell command.
    """

    summary: str
    answer: Any = None
    fields: type[schema.RequestFields] | None = None
    examples: Mapping[str, tuple[dict[str, Any], Any]] = dataclasses.field(default_factory=dict)
    media_type: str = "application/json"
    field_types: tuple[str, ...] = FORMS
    command: str = ""

    @property
    def route_arguments(self) -> dict[str, Any]:
        """The keyword arguments that describe a FastAPI route."""
        answers = {name: {"value": answer} for name, (_, answer) in self.examples.items()}
        content = {self.media_type: {"examples": answers} if answers else {}}
        success: dict[str, Any] = {"description": "the answer", "content": content}
        if self.answer is not None:
            success["model"] = self.answer
        arguments: dict[str, Any] = {
            "summary": self.summary, "description": self.command, "response_model": None,
            "response_class": Response, "responses": {200: success, **DEFAULT_ERROR},
        }  # fmt: skip
        if self.fields:
            arguments["responses"] = {200: success} | {
                status: {"description": reason, "model": schema.Error}
                for status, reason in REQUEST_ERRORS.items()
                if status != 501 or "attention" in self.fields.model_fields
            }
            body = {kind: {"schema": self.fields.model_json_schema()} for kind in self.field_types}
            requests = {name: {"value": fields} for name, (fields, _) in self.examples.items()}
            body[self.field_types[0]] |= {"examples": requests} if requests else {}
            arguments["openapi_extra"] = {"requestBody": {"required": True, "content": body}}
        return arguments


def operation_id(path: str) -> str:
    """Return the OpenAPI id of an operation by its path: "/a/b/{c}" -> "a_b"."""
    return path.strip("/").partition("/{")[0].replace("/", "_")


POSTS = {
    "/translate": Operation(
        "Translate a text, or a list of texts", schema.Translated, schema.Translate,
        {
            "a text": (
                {"q": "Where is the library?", "source": "en", "target": "es"},
                {"translatedText": "¿Dónde está la biblioteca?"},
            ),
            "language detected, another translation too": (
                {"q": "¿Dónde está la biblioteca?", "source": "auto", "target": "en",
                 "alternatives": 1},
                {"translatedText": "Where is the library?",
                 "detectedLanguage": {"confidence": 100.0, "language": "es"},
                 "alternatives": ["Where's the library?"]},
            ),
            "a slip, undone": (
                {"q": "Quiero comer una mnzana.", "source": "es", "target": "en"},
                {"translatedText": "I want to eat an apple.",
                 "warnings": ["spelling: mnzana read as manzana"]},
            ),
            "a glossary": (
                {"q": "El perro come.", "source": "es", "target": "en",
                 "glossary": [["perro", "hound"]]},
                {"translatedText": "The hound eats."},
            ),
            "a list, as HTML": (
                {"q": ["Tengo hambre.", "Vivo en una <b>casa</b> grande."], "source": "es",
                 "target": "en", "format": "html"},
                {"translatedText": ["I'm hungry.", "I live in a large <b>house</b>."]},
            ),
        },
    ),
    "/detect": Operation(
        "Tell the language of a text", list[schema.Detected], schema.Detect,
        {"Spanish": (
            {"q": "Tengo hambre."},
            [{"confidence": 92.9, "language": "es"}, {"confidence": 7.1, "language": "en"}],
        )},
    ),
    "/inspect": Operation(
        "Look into the translation of a text: words, alignment, probabilities, attention",
        schema.Inspected, schema.Inspect, {"a sentence": (SENTENCE, {"parts": [INSPECTED]})},
    ),
    "/alternatives": Operation(
        "Tell the words that may come next in the translation of a sentence",
        schema.Words, schema.Alternatives,
        {"after “I”": (
            {**SENTENCE, "prefix": [319]},
            {"alternatives": [
                {"text": "I'm", "ids": [295, 371], "probability": 0.7382, "known": True},
                {"text": "am", "ids": [1183], "probability": 0.108, "known": True},
                {"text": "feel", "ids": [2048], "probability": 0.0118, "known": True},
                {"text": "I’m", "ids": [422, 371], "probability": 0.0059, "known": True},
                {"text": "are", "ids": [337], "probability": 0.0028, "known": True},
                {"text": "have", "ids": [348], "probability": 0.0026, "known": True},
                {"text": "get", "ids": [704], "probability": 0.0017, "known": True},
                {"text": "is", "ids": [294], "probability": 0.0016, "known": True},
            ]},
        )},
    ),
    "/continue_after": Operation(
        "Translate a sentence so that it begins with given pieces",
        schema.Part, schema.ContinueAfter,
        {"after “I'm”": ({**SENTENCE, "prefix": [319, 295, 371]}, INSPECTED)},
    ),
}  # fmt: skip
FILE = Operation(
    "Translate a file; its formatting stays", schema.FileTranslated, schema.TranslateFile,
    field_types=("multipart/form-data",),
    command="curl -F file=@letter.docx -F source=auto -F target=en "
    "http://localhost:5000/translate_file",
)  # fmt: skip
FETCH = Operation(
    "Fetch a translated file, for half an hour", media_type="application/octet-stream"
)
GETS = {
    "/languages": Operation(
        "List the languages, and what each can be translated to", list[schema.Language]
    ),
    "/frontend/settings": Operation("Tell a page the limits of the server", schema.Settings),
    "/health": Operation("Tell that the server runs", schema.Health),
    "/metrics": Operation("Give counters, for Prometheus", media_type="text/plain"),
}
