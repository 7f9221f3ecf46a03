"""The fields of requests and answers as types, by which fields are checked and described.

Requests are pydantic models; an empty field counts as left out. Answers are dictionaries whose
types say what they hold.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required, Self

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
from transformer.serving.errors import RequestError
from transformer.text.language import language_code

MAX_IDS = 4096  # of a prefix


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """A file that came in a form."""

    name: str
    content: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """How "expected NAME ..." ends for a field that breaks its rule; {} is `max_alternatives`."""

    text: str


Code = Annotated[str, AfterValidator(language_code)]
SourceLang = Annotated[Code, Field(min_length=1, description="language of q: a code, or auto")]
TargetLang = Annotated[
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
    Rule(f"to be a list of {MAX_IDS} ids at most"),
    Field(
        max_length=MAX_IDS,
        fail_fast=True,
        description="ids of the pieces that the translation begins with",
    ),
]
Flag = Annotated[bool, Rule("to be true or false")]
Spelling = Annotated[
    Flag, Field(description="whether slips of the keyboard are undone, each with a warning")
]
Attention = Annotated[Flag, Field(description="whether attention maps are given too")]
GlossaryRows = str | list[list[str]]
GlossaryField = Annotated[
    str | Annotated[list[list[str]], Field(fail_fast=True)],
    Rule("to be a text with a term a row, or a list of pairs"),
    Field(
        description="terms and how they are translated: lines `term<TAB>translation`, or pairs; a "
        "first row `es<TAB>en` lets them serve both directions, a term alone stays as it is",
        examples=["es\ten\nperro|perros\thound|hounds", [["perro", "hound"], ["Roger Piedra"]]],
    ),
]


class RequestFields(BaseModel):
    """The fields of a request, described by their types: `Texts`, `SourceLang`, ..."""

    api_key: Annotated[
        Any,
        WithJsonSchema({"type": "string"}),
        Field(description="where the server wants keys; or `Authorization: Bearer KEY`"),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in fields.items() if v is not None and (v != "" or k == "q")}

    @classmethod
    def of(cls, fields: Mapping[str, Any], max_alternatives: int = 0) -> Self:
        """Return checked fields, `alternatives` up to `max_alternatives`; or RequestError 400."""
        try:
            return cls.model_validate(fields, context=max_alternatives)
        except ValidationError as invalid:
            error = invalid.errors(include_url=False)[0]
        name = str(error["loc"][0])
        if error["type"] in ("missing", "string_too_short", "is_instance_of"):
            raise RequestError(400, f"Invalid request: missing {name} parameter")
        rules = [rule.text for rule in cls.model_fields[name].metadata if isinstance(rule, Rule)]
        rule = rules[0].format(max_alternatives) if rules else "to be a string"
        raise RequestError(400, f"Invalid request: expected {name} {rule}")


class Translate(RequestFields):
    """Texts to translate; `alternatives` come besides the best translation of each."""

    q: Texts
    source: SourceLang
    target: TargetLang
    format: Annotated[Literal["text", "html"], Rule("to be text or html")] = "text"
    alternatives: Annotated[
        int,
        Rule("from 0 to {}"),
        Field(ge=0, le=20, description="further translations of each text"),
    ] = 0
    spelling: Spelling = True
    glossary: GlossaryField = ""

    @field_validator("alternatives")
    @classmethod
    def _check_alternatives(cls, n: int, info: ValidationInfo) -> int:
        if n > (info.context or 0):
            raise ValueError("too many")
        return n

    @property
    def texts(self) -> list[str]:
        """The texts as a list, also where `q` is one text."""
        return self.q if isinstance(self.q, list) else [self.q]


class Detect(RequestFields):
    """A text whose language is asked for."""

    q: Text


class TranslateFile(RequestFields):
    """A file to translate; `format` replaces its suffix: srt, or txt to go by lines."""

    file: Annotated[InstanceOf[Upload], WithJsonSchema({"type": "string", "format": "binary"})]
    source: SourceLang
    target: TargetLang
    columns: Annotated[
        str, Field(description="of csv, tsv, json and yaml: columns or keys, with commas between")
    ] = ""
    encoding: Annotated[
        str,
        AfterValidator(encoding_name),
        Field(description="of a text that is neither UTF-8 nor Windows-1252, which are recognised"),
    ] = ""
    glossary: GlossaryField = ""
    format: Annotated[
        str, Field(description="of a file whose name does not tell it, as srt; txt: lines")
    ] = ""


class Inspect(RequestFields):
    """A text to look into."""

    q: Text
    source: SourceLang
    target: TargetLang
    spelling: Spelling = True
    glossary: GlossaryField = ""
    attention: Attention = False


class Alternatives(RequestFields):
    """A sentence and the beginning of its translation, for which other words are wanted."""

    q: Sentence
    source: SourceLang
    target: TargetLang
    prefix: Prefix = []


class ContinueAfter(Alternatives):
    """A sentence and the beginning of its translation, for which the rest is wanted."""

    attention: Attention = False


# Answers


class Error(TypedDict):
    """A refusal: the reason, in one line."""

    error: str


class Detected(TypedDict):
    """A language that a text may be in."""

    confidence: Annotated[float, Field(description="per cent")]
    language: str


class Translated(TypedDict, total=False):
    """Translations: lists, in order, if `q` was a list.

    `detectedLanguage` is there with source "auto", `alternatives` if wanted, `warnings` if any.
    """

    translatedText: Required[str | list[str]]
    detectedLanguage: Detected | list[Detected]
    alternatives: list[str] | list[list[str]]
    warnings: Annotated[list[str] | list[list[str]], Field(description="what is to check")]


class LanguageName(TypedDict):
    """A language and its name."""

    code: str
    name: str


class Language(LanguageName):
    """A language and those that it can be translated to."""

    targets: list[str]


class Direction(TypedDict):
    """A source and a target language."""

    source: LanguageName
    target: LanguageName


class Settings(TypedDict):
    """The limits and languages of the server, for a page.

    `apiKeys` and `keyRequired`: whether it wants keys; `charLimit`: characters of a request;
    `frontendTimeout`: milliseconds to wait for the end of typing; `suggestions`: false, none are
    taken; `language`: the first direction of `model`, a name.
    """

    apiKeys: bool
    keyRequired: bool
    charLimit: int
    frontendTimeout: int
    suggestions: bool
    filesTranslation: bool
    glossaryLimit: Annotated[int, Field(description="terms of a glossary; 0: none is taken")]
    supportedFilesFormat: list[str]
    language: Direction
    model: str
    version: str


class Health(TypedDict):
    """The state of the server: ok."""

    status: str


class FileTranslated(TypedDict, total=False):
    """The address of a translated file, which is kept for half an hour."""

    translatedFileUrl: Required[str]
    warnings: Annotated[list[str], Field(description="what is to check, at most 100; what is lost")]


SourceWord = tuple[str, int, int]  # a word, its first piece, the piece after it
TargetWord = tuple[str, int, int, float]  # and its probability
Numbers = list[list[float]]


class Part(TypedDict, total=False):
    """A sentence of a text, or what stands between two, which has the required fields only.

    An inspected sentence has those up to `alignment`, with attention maps all. The rows of the
    maps are the pieces that attend, of `cross` target pieces; columns those attended to.
    """

    source: Required[str]
    target: Required[str]
    warnings: Required[list[str]]
    ids: Annotated[list[int], Field(description="of the target's pieces, the end last")]
    sourceWords: Annotated[list[SourceWord], Field(description="word, first piece, piece after it")]
    targetWords: Annotated[list[TargetWord], Field(description="and its probability")]
    alignment: Annotated[
        Numbers, Field(description="what each target word looked at: source words")
    ]
    sourcePieces: list[str]
    targetPieces: list[str]
    probabilities: Annotated[list[float], Field(description="of each target piece")]
    steps: Annotated[
        list[list[tuple[str, float]]], Field(description="likeliest pieces of each step")
    ]
    encoder: Annotated[list[list[Numbers]], Field(description="layers, heads, rows")]
    decoder: list[list[Numbers]]
    cross: list[list[Numbers]]


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
