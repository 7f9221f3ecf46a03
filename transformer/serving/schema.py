"""What clients send and what they get, as models: fields are checked, and described, by them.

Requests are pydantic models; a field that is empty counts as left out. Answers are dictionaries
whose types say what they hold.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    InstanceOf,
    StrictInt,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from transformer.files import encoding_name
from transformer.serving.authorization import RequestError
from transformer.text.language import language_code

MOST_IDS = 4096  # of a prefix


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """A file that came in a form."""

    name: str
    content: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What a refusal says of a field that is not as it must be."""

    be: str


Code = Annotated[str, AfterValidator(language_code)]
Left = Annotated[Code, Field(min_length=1, description="language of q: a code, or auto")]
Right = Annotated[
    Code,
    Field(min_length=1, description="language to translate into: a code; a region is passed over"),
]
Texts = Annotated[
    str | Annotated[list[str], Field(fail_fast=True)],
    Rule("to be a string or a list of strings"),
    Field(description="a text, or a list of texts, which gives lists"),
]
Text = Annotated[str, Field(description="a text")]
Sentence = Annotated[str, Field(description="a sentence")]
Prefix = Annotated[
    list[StrictInt],
    Rule(f"to be a list of {MOST_IDS} ids at most"),
    Field(
        max_length=MOST_IDS,
        fail_fast=True,
        description="ids of the pieces that the translation begins with",
    ),
]
Spelling = Annotated[
    bool,
    Rule("to be true or false"),
    Field(description="whether slips of the keyboard are undone, each with a warning"),
]
AttentionFlag = Annotated[
    bool, Rule("to be true or false"), Field(description="whether attention maps are given too")
]


Rows = str | list[list[str]]
Terms = Annotated[
    str | Annotated[list[list[str]], Field(fail_fast=True)],
    Rule("to be a text with a term a row, or a list of pairs"),
    Field(
        description="terms and how they are translated: lines `term<TAB>translation`, or pairs; a "
        "first row `es<TAB>en` lets them serve both directions, a term alone stays as it is",
        examples=["es\ten\nperro|perros\thound|hounds", [["perro", "hound"], ["Roger Piedra"]]],
    ),
]


class RequestFields(BaseModel):
    """The fields of a request."""

    api_key: Annotated[
        Any,
        WithJsonSchema({"type": "string"}),
        Field(description="where the server wants keys; or `Authorization: Bearer KEY`"),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in fields.items() if v is not None and (v != "" or k == "q")}

    @classmethod
    def of(cls, fields: Mapping[str, Any], most: int = 0) -> Self:
        """The fields, checked; RequestError for what is missing or wrong, of the first alone."""
        try:
            return cls.model_validate(fields, context={"most": most})
        except ValidationError as refused:
            error = refused.errors(include_url=False)[0]
        name = str(error["loc"][0])
        if error["type"] in ("missing", "string_too_short", "is_instance_of"):
            raise RequestError(400, f"Invalid request: missing {name} parameter")
        found = [m.be for m in cls.model_fields[name].metadata if isinstance(m, Rule)]
        must = found[0].format(most=most) if found else "to be a string"
        raise RequestError(400, f"Invalid request: expected {name} {must}")


class Translate(RequestFields):
    """Texts to translate."""

    q: Texts
    source: Left
    target: Right
    format: Annotated[Literal["text", "html"], Rule("to be text or html")] = "text"
    alternatives: Annotated[
        int,
        Rule("from 0 to {most}"),
        Field(ge=0, le=20, description="further translations of each text"),
    ] = 0
    spelling: Spelling = True
    glossary: Terms = ""

    @field_validator("alternatives")
    @classmethod
    def _not_too_many(cls, n: int, info: ValidationInfo) -> int:
        if info.context and n > info.context["most"]:
            raise ValueError("too many")
        return n

    @property
    def texts(self) -> list[str]:
        """All of them."""
        return self.q if isinstance(self.q, list) else [self.q]


class Detect(RequestFields):
    """A text whose language is asked for."""

    q: Text


class TranslateFile(RequestFields):
    """A file to translate."""

    file: Annotated[InstanceOf[Upload], WithJsonSchema({"type": "string", "format": "binary"})]
    source: Left
    target: Right
    columns: Annotated[
        str, Field(description="of csv, tsv, json and yaml: columns or keys, with commas between")
    ] = ""
    encoding: Annotated[
        str,
        AfterValidator(encoding_name),
        Field(description="of a text that is neither UTF-8 nor Windows-1252, which are recognised"),
    ] = ""
    glossary: Terms = ""
    format: Annotated[
        str, Field(description="of a file whose name does not tell it, as srt; txt: lines")
    ] = ""


class Inspect(RequestFields):
    """A text to look into."""

    q: Text
    source: Left
    target: Right
    spelling: Spelling = True
    glossary: Terms = ""
    attention: AttentionFlag = False


class Alternatives(RequestFields):
    """A sentence and the beginning of its translation, for which other words are wanted."""

    q: Sentence
    source: Left
    target: Right
    prefix: Prefix = []


class ContinueAfter(Alternatives):
    """A sentence and the beginning of its translation, for which the rest is wanted."""

    attention: AttentionFlag = False


# Answers


class Error(TypedDict):
    """Why a request is not answered, in one line."""

    error: str


class Detected(TypedDict):
    """A language that a text may be in."""

    confidence: Annotated[float, Field(description="per cent")]
    language: str


class Translated(TypedDict):
    """Translations; lists, in order, where a list was asked for."""

    translatedText: str | list[str]
    detectedLanguage: NotRequired[Detected | list[Detected]]
    alternatives: NotRequired[list[str] | list[list[str]]]
    warnings: NotRequired[
        Annotated[list[str] | list[list[str]], Field(description="what is to check")]
    ]


class Language(TypedDict):
    """A language and those that it can be translated to."""

    code: str
    name: str
    targets: list[str]


class Named(TypedDict):
    """A language and its name."""

    code: str
    name: str


class Direction(TypedDict):
    """From one language to another."""

    source: Named
    target: Named


class Settings(TypedDict):
    """What a page must know of the server."""

    apiKeys: bool
    keyRequired: bool
    charLimit: int
    frontendTimeout: int
    suggestions: bool
    filesTranslation: bool
    glossaryLimit: Annotated[int, Field(description="terms of a glossary; 0: none is taken")]
    supportedFilesFormat: list[str]
    language: Direction


class Health(TypedDict):
    """That the server runs."""

    status: str


class FileTranslated(TypedDict):
    """Where a translated file can be fetched, for half an hour."""

    translatedFileUrl: str
    warnings: NotRequired[
        Annotated[list[str], Field(description="what is to check, at most 100; what is lost")]
    ]


SourceWord = tuple[str, int, int]  # a word, its first piece, the piece after it
TargetWord = tuple[str, int, int, float]  # and its probability
Numbers = list[list[float]]


class Part(TypedDict):
    """A sentence of a text, or what stands between two; with numbers if it was looked into."""

    source: str
    target: str
    warnings: list[str]
    ids: NotRequired[
        Annotated[list[int], Field(description="of the target's pieces, the end last")]
    ]
    sourceWords: NotRequired[
        Annotated[list[SourceWord], Field(description="word, first piece, piece after it")]
    ]
    targetWords: NotRequired[Annotated[list[TargetWord], Field(description="and its probability")]]
    alignment: NotRequired[
        Annotated[Numbers, Field(description="what each target word looked at: source words")]
    ]
    sourcePieces: NotRequired[list[str]]
    targetPieces: NotRequired[list[str]]
    probabilities: NotRequired[Annotated[list[float], Field(description="of each target piece")]]
    steps: NotRequired[
        Annotated[list[list[tuple[str, float]]], Field(description="likeliest pieces of each step")]
    ]
    encoder: NotRequired[Annotated[list[list[Numbers]], Field(description="layers, heads, rows")]]
    decoder: NotRequired[list[list[Numbers]]]
    cross: NotRequired[list[list[Numbers]]]


class Inspected(TypedDict):
    """The parts of a text, which put together are the text."""

    parts: list[Part]


class Word(TypedDict):
    """A word that may stand next, and the pieces that write it."""

    text: str
    ids: list[int]
    probability: float
    known: Annotated[bool, Field(description="whether it is a word of the language")]


class Words(TypedDict):
    """The words that may stand next, likeliest first."""

    alternatives: list[Word]
