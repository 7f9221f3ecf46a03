"""What each address of the API does, as OpenAPI has it: summaries, fields, answers, examples.

The examples are of the released model.
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
REFUSALS = {
    400: "a field is missing or wrong", 403: "a key is needed, or is not known",
    408: "the request did not arrive in time", 413: "too much at once", 429: "too often",
    501: "attention maps need PyTorch, which the server lacks",
    503: "the server is busy or stopping",
}  # fmt: skip
OTHERWISE = {"default": {"description": "a refusal", "model": schema.Error}}
FORMS = ("application/json", "application/x-www-form-urlencoded")
HUNGRY = {"q": "Tengo hambre.", "source": "es", "target": "en"}
LOOKED: dict[str, Any] = {
    "source": "Tengo hambre.", "target": "I'm hungry.", "warnings": [],
    "ids": [319, 297, 381, 1452, 1017, 920, 272, 2],
    "sourceWords": [["Tengo", 1, 3], ["hambre", 3, 4], [".", 4, 5]],
    "targetWords": [["I'm", 0, 3, 0.6914], ["hungry", 3, 6, 0.7373], [".", 6, 7, 0.8794]],
    "alignment": [[0.482, 0.092, 0.012], [0.017, 0.677, 0.003], [0.004, 0.012, 0.925]],
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """One request: what it is for, its fields, its answer, and examples of both."""

    summary: str
    answer: Any = None  # the type of a JSON answer
    fields: type[schema.RequestFields] | None = None
    examples: Mapping[str, tuple[dict[str, Any], Any]] = dataclasses.field(default_factory=dict)
    media: str = "application/json"  # of the answer
    forms: tuple[str, ...] = FORMS  # of the fields
    command: str = ""  # that sends one

    @property
    def described(self) -> dict[str, Any]:
        """What FastAPI is told of it."""
        answers = {name: {"value": answer} for name, (_, answer) in self.examples.items()}
        content = {self.media: {"examples": answers} if answers else {}}
        answered: dict[str, Any] = {"description": "the answer", "content": content}
        if self.answer is not None:
            answered["model"] = self.answer
        refused = {
            n: {"description": why, "model": schema.Error}
            for n, why in REFUSALS.items()
            if n != 501 or (self.fields and "attention" in self.fields.model_fields)
        }
        described: dict[str, Any] = {
            "summary": self.summary,
            "description": self.command,
            "response_model": None,
            "response_class": Response,
            "responses": {200: answered, **(refused if self.fields else OTHERWISE)},
        }
        if self.fields:
            body = {form: {"schema": self.fields.model_json_schema()} for form in self.forms}
            asked = {name: {"value": fields} for name, (fields, _) in self.examples.items()}
            body[self.forms[0]] |= {"examples": asked} if asked else {}
            described["openapi_extra"] = {"requestBody": {"required": True, "content": body}}
        return described


def name_of(path: str) -> str:
    """What an operation is called: its path, without slashes."""
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
                {"translatedText": ["I'm hungry.", "I live in a big <b>house</b>."]},
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
        schema.Inspected, schema.Inspect, {"a sentence": (HUNGRY, {"parts": [LOOKED]})},
    ),
    "/alternatives": Operation(
        "Tell the words that may come next in the translation of a sentence",
        schema.Words, schema.Alternatives,
        {"after “I'm”": (
            {**HUNGRY, "prefix": [319, 297, 381]},
            {"alternatives": [
                {"text": "hungry", "ids": [1452, 1017, 920], "probability": 0.7373, "known": True},
                {"text": "starving", "ids": [2296, 640, 294], "probability": 0.0034, "known": True},
                {"text": "hunger", "ids": [10698], "probability": 0.0014, "known": True},
                {"text": "i", "ids": [1636], "probability": 0.001, "known": True},
                {"text": "in", "ids": [284], "probability": 0.0006, "known": True},
                {"text": "famine", "ids": [759, 6284], "probability": 0.0005, "known": True},
                {"text": "Hungry", "ids": [2179, 1017, 920], "probability": 0.0003, "known": True},
                {"text": "faintered", "ids": [3007, 426, 622, 308], "probability": 0.0,
                 "known": False},
            ]},
        )},
    ),
    "/continue_after": Operation(
        "Translate a sentence so that it begins with given pieces",
        schema.Part, schema.ContinueAfter,
        {"after “I'm”": ({**HUNGRY, "prefix": [319, 297, 381]}, LOOKED)},
    ),
}  # fmt: skip
FILE = Operation(
    "Translate a file; its formatting stays", schema.FileTranslated, schema.TranslateFile,
    forms=("multipart/form-data",),
    command="curl -F file=@letter.docx -F source=auto -F target=en "
    "http://localhost:5000/translate_file",
)  # fmt: skip
FETCH = Operation("Fetch a translated file, for half an hour", media="application/octet-stream")
GETS = {
    "/languages": Operation(
        "List the languages, and what each can be translated to", list[schema.Language]
    ),
    "/frontend/settings": Operation("Tell a page the limits of the server", schema.Settings),
    "/health": Operation("Tell that the server runs", schema.Health),
    "/metrics": Operation("Give counters, for Prometheus", media="text/plain"),
}
