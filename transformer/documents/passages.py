"""What all formats share: passages, parsed files, encodings and languages.

A parser turns a file into units. A unit is a passage to translate and a function that stores its
translation; when all are stored, `Parsed.render` writes the file.
"""

import codecs
import html
import itertools
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import AnyStr, Generic, TypeVar

from transformer.config import UserError
from transformer.files import is_windows_1252
from transformer.text.language import language_code
from transformer.text.markup import MarkedText, split_at_marks
from transformer.text.spans import Span

T = TypeVar("T")

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"),
          (b"<\0", "utf-16le"), (b"\0<", "utf-16be"))  # fmt: skip
_LABEL = rb"""\s*=\s*["']?(iso-8859-1?\d|windows-125[0-8]|latin-?1|us-ascii)(?=["'\s/>;])"""
_DECLARED = re.compile(
    rb"\s*+<\?xml\s[^<>]*?\sencoding" + _LABEL
    + rb"|\s*+(?=<)(?!<\?xml[^<>]*encoding)(?s:.){0,1024}?<meta\s[^<>]*?charset" + _LABEL,
    re.IGNORECASE,
)  # fmt: skip
# Letters with digits, as 2024-01-01T00:00Z, #f00 or v1.2, but not 1st; names; formulas; MM/YYYY.
_CODE = re.compile(
    r"\s*+(?:(?!\d++(?:st|nd|rd|th)\b)(?=[!-~]*?\d)(?=[!-~]*?[A-Za-z])[!-~]++"
    r"|(?i:id|url|es|en|sep=)|=[A-Z][\w.]*+\(.*"
    r"|(?=\S*(?:MM|YY|yy|:mm))(?:([dDMyYHhmsSaAzZT])\1{0,3}(?:[-/.:, ]++|(?!\w)|(?=[MDdT]))){2,}"
    r"|(?:application|audio|font|image|text|video)/[\w.+-]++)\s*+"
)
ICU_ARGUMENT = re.compile(  # an argument of an ICU message, sound or not
    r"\{\s*+[\w.-]++[\s,]++(?:(?:plural|select|selectordinal)\b"
    r"|(?:number|date|time|spellout|ordinal|duration|choice)\s*+[,}])"
)
_NUMBER = re.compile(r"(?<=&#)0*(\d{1,9})\d*+")
PLACEHOLDER = re.compile(r"(<\d{1,5}/>)")


BATCH_SIZE = 256  # items


def batched(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in order, in lists of `BATCH_SIZE`."""
    iterator = iter(items)
    while batch := [*itertools.islice(iterator, BATCH_SIZE)]:
        yield batch


@dataclass(frozen=True, slots=True)
class Metadata:
    """The languages that a file names, and notes about it for the user."""

    source: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()


class PickledList(Generic[T]):
    """An append-only list that keeps its items pickled, a batch at a time, and can be iterated.

    As objects they need several times the memory, which a busy server does not get back.
    `metadata` is that of the file whose passages they are.
    """

    def __init__(self, items: Iterable[T] = (), metadata: Metadata = Metadata()) -> None:
        self.metadata = metadata
        self._pickles: list[bytes] = []
        self.extend(items)

    def extend(self, items: Iterable[T]) -> None:
        """Append items."""
        self._pickles.extend(map(pickle.dumps, batched(items)))

    def __iter__(self) -> Iterator[T]:
        for batch in self._pickles:
            yield from pickle.loads(batch)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to translate.

    `marks` are the spans of bold words and links; `placeholders` are the `<0/>` in the text that
    stand for what must not change, as code and pictures.
    """

    text: str
    marks: tuple[Span, ...] = ()
    placeholders: tuple[str, ...] = ()

    @property
    def is_translatable(self) -> bool:
        """Whether the text has words beside its placeholders."""
        return has_words(PLACEHOLDER.sub("", self.text))


@dataclass(frozen=True, slots=True)
class Options:
    """How a file is parsed.

    `source` and `target` are languages; a parser raises UserError for a file that names others.
    `columns` are the columns of a table or the keys to translate; none: all. `max_bytes` bounds it
    unpacked. `encoding` is that of a text that declares none; by default UTF-8, or Windows-1252
    where the bytes look like it.
    """

    source: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()
    max_bytes: int = 2**26
    encoding: str = ""


Setter = Callable[[MarkedText], None]
Unit = tuple[Passage, Setter]


@dataclass(frozen=True, slots=True)
class Parsed(Generic[AnyStr]):
    """A file's units (passage, setter of a `MarkedText`); `render` writes it once all were set."""

    units: Sequence[Unit]
    render: Callable[[], AnyStr]
    metadata: Metadata = Metadata()


TextParser = Callable[[str, Options], Parsed[str]]
BytesParser = Callable[[bytes, Options], Parsed[bytes]]


def text_unit(text: str, set_text: Callable[[str], None]) -> Unit:
    """Return the unit (passage, setter) of a text without marks; `set_text` gets a translation."""
    return Passage(text), lambda marked: set_text(plain_text(marked))


def unescape(text: str) -> str:
    """Replace character references, numeric ones of any length included, as browsers do."""
    return html.unescape(_NUMBER.sub(r"\1", text) if "&#" in text else text)


def has_words(text: str) -> bool:
    """Whether a text has a letter, has no ICU argument, and is not as a whole a code or a date."""
    has_letter = any(map(str.isalpha, text))
    return has_letter and not _CODE.fullmatch(text) and not ICU_ARGUMENT.search(text)


def detect_encoding(content: bytes) -> tuple[str, bytes]:
    """Return the encoding, declared or, by the bytes, cp1252 or utf-8; and the byte order mark."""
    return declared_encoding(content) or ("cp1252" if is_windows_1252(content) else "utf-8", b"")


def declared_encoding(content: bytes) -> tuple[str, bytes] | None:
    """Return the encoding by byte order mark or markup declaration, and the mark; or None."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding, mark if mark[0] > 0x80 else b""
    if declared := _DECLARED.match(content):
        name = codecs.lookup(declared[declared.lastindex or 0].decode()).name
        # Pages that say Latin-1 or ASCII mean Windows-1252 (WHATWG, Encoding, 4.2).
        is_windows = declared.lastindex == 2 and name in ("iso8859-1", "ascii")
        return "cp1252" if is_windows else name, b""
    return None


def bytes_parser(parse: TextParser, cp1252_output: str = "utf-8") -> Callable[..., Parsed[bytes]]:
    """Turn a parser of text into one of (bytes or text, options) that writes the declared encoding.

    A file that declares none is written in UTF-8, or in `cp1252_output` if it is not UTF-8; a
    character that this lacks as &#233;. The parser raises UserError for bytes that are not text.
    """

    def parse_bytes(content: bytes | str, options: Options) -> Parsed[bytes]:
        text, mark, output, errors = content, b"", "utf-8", "surrogatepass"
        if isinstance(text, bytes):
            encoding, mark = detect_encoding(text)
            output, errors = encoding, "xmlcharrefreplace"
            if not declared_encoding(text):
                encoding = options.encoding or encoding
                output = "utf-8" if encoding == "utf-8" else cp1252_output
            try:
                text = text[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                name = encoding.upper()
                message = f"expected {name} text in the file, got other bytes at {error.start}"
                raise UserError(message) from None
            if "\0" in text:
                raise UserError("expected text in the file, got a zero byte")
        parsed = parse(text, options)
        return Parsed(
            parsed.units, lambda: mark + parsed.render().encode(output, errors), parsed.metadata
        )

    return parse_bytes


def resolve_target(source: str, target: str, options: Options) -> str:
    """Return the target language to write: the file's own `target`, else that of `options`.

    UserError if the file names other languages than `options` asks for.
    """
    requested = options.source, options.target
    for role, own, other in zip(("from", "to"), (source, target), requested, strict=True):
        if own and other and language_code(own) != other:
            raise UserError(f"expected a file {role} {other}, got one that says {role} {own}")
    return target or options.target


class InlineContent(Generic[T]):
    """A `passage` made of (text or None, whether marked, part); `render` splits a translation."""

    def __init__(self, parts: Iterable[tuple[str | None, bool, T]]) -> None:
        """Join `parts`: (text or None for a placeholder, whether marked, object of the format)."""
        parts = list(parts)
        taken = (int(n[1:-2]) for text, _, _ in parts if text for n in PLACEHOLDER.findall(text))
        free = max(taken, default=-1) + 1
        self.placeholders: dict[str, T] = {}
        self.marked: list[T] = []
        texts, spans, length = list[str](), list[Span](), 0
        for text, is_marked, part in parts:
            if text is None:
                text = f"<{free + len(self.placeholders)}/>"
                self.placeholders[text] = part
            elif is_marked and text.strip():
                spans.append((length + len(text) - len(text.lstrip()), length + len(text.rstrip())))
                self.marked.append(part)
            texts.append(text)
            length += len(text)
        whole = "".join(texts)
        n_ahead = len(whole) - len(whole.lstrip())
        self._around = whole[:n_ahead], whole[len(whole.rstrip()) :]
        marks = tuple((a - n_ahead, b - n_ahead) for a, b in spans)
        self.passage = Passage(whole.strip(), marks, tuple(self.placeholders))

    def render(self, marked: MarkedText) -> list[tuple[T | None, list[str | T]]]:
        """Return a translation as (part of the mark or None, texts and parts of placeholders).

        The list is empty if the translation equals the passage.
        """
        if marked == split_at_marks(self.passage.text, self.passage.marks):
            return []
        ahead, behind = ([(space, None)] if space else [] for space in self._around)
        return [
            (None if mark is None else self.marked[mark], self._parts(text))
            for text, mark in merge_adjacent([*ahead, *marked, *behind])
        ]

    def _parts(self, text: str) -> list[str | T]:
        parts: list[str | T] = []
        for token, group in itertools.groupby(
            PLACEHOLDER.split(text), lambda part: part if part in self.placeholders else None
        ):
            own = "".join(group)
            parts += [self.placeholders[token]] if token else [own] if own else []
        return parts


def merge_adjacent(pieces: Iterable[tuple[str, int | None]]) -> MarkedText:
    """Join neighbouring pieces (text, number of its mark or None) of the same mark."""
    return [
        ("".join(text for text, _ in group), mark)
        for mark, group in itertools.groupby(pieces, lambda piece: piece[1])
    ]


def plain_text(marked: Sequence[tuple[str, int | None]]) -> str:
    """Return the text of pieces (text, mark)."""
    return "".join(text for text, _ in marked)
