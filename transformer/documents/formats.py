"""The formats: files as passages to translate, and written again with their translations.

All that is no text stays as it was.
"""

import functools
import importlib.util
import io
import logging
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.config import UserError
from transformer.documents import catalogues, html, markdown, office, subtitles, values
from transformer.documents.passages import (
    Opened,
    Options,
    Passage,
    Written,
    named_encoding,
    text_file,
)
from transformer.documents.slices import Slices
from transformer.files import is_windows_1252
from transformer.text.markup import MarkedText

_HYPHEN = re.compile(r"(?<=[a-záéíóúüñ])-\n(?=[a-záéíóúüñ])")
_SAME = re.compile(r"(?<![.!?:\n])\n(?=[^\W\dA-ZÁÉÍÓÚÜÑ])")  # a line that goes on in the next
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
DEFECTS = (ValueError, LookupError, OSError, EOFError, RecursionError, NotImplementedError,
           SyntaxError, zipfile.BadZipFile, zlib.error, struct.error)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its name with its article, MIME type, reader, library, other ending."""

    name: str
    media: str
    open: Callable[[Any, Options], Opened]
    library: str = ""
    written: str = ""  # the ending of what is written, if another
    note: str = ""  # a warning of what is lost


@dataclass(frozen=True, slots=True)
class Document:
    """The passages of a file, in order, and how it is written with translations of them all."""

    passages: tuple[Passage, ...]
    write: Callable[[Sequence[MarkedText]], bytes]


def _text(text: str, options: Options) -> Written:
    """Each line of a text."""
    slices, end = Slices(text), 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        slices.translate(start, end, line, str)
    return slices.written()


def _pdf(content: bytes, options: Options) -> Opened:
    """The paragraphs of a PDF; UserError where it has a password or no text."""
    import pypdf  # raises what comes where a file is broken

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what is wrong is told in one line
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            raise UserError("expected a PDF without a password")
        pages = [page.extract_text() for page in reader.pages]
    except (pypdf.errors.PyPdfError, AssertionError, AttributeError, TypeError) as error:
        raise UserError(f"expected a PDF, got {type(error).__name__}") from None
    if not any(page.strip() for page in pages):
        raise UserError("expected a PDF with text, got pictures only: it needs a text recognition")
    text = "\n\n".join(re.sub(r"[ \t]+\n", "\n", page.strip()) for page in [*pages, ""])
    return text_file(_text)(_SAME.sub(" ", _HYPHEN.sub("", text)), options)


def _file(
    name: str, media: str, read: Callable[[str, Options], Written], library: str = ""
) -> Format:
    return Format(name, media, text_file(read), library)


def _office(suffix: str, name: str, media: str) -> Format:
    library = "lxml" if media.startswith(_OPEN_XML) else ""
    return Format(name, media, office.OFFICE[suffix], library)


_page = functools.partial(html.opened, language=html.HTML)
_srt = functools.partial(subtitles.opened, is_vtt=False)
_vtt = functools.partial(subtitles.opened, is_vtt=True)
_tsv = functools.partial(values.table, delimiter="\t")
_TEXT = "; charset=utf-8"
# A page that does not name its charset is read as Windows-1252.
_PAGE = Format("an HTML page", f"text/html{_TEXT}", text_file(_page, written="cp1252"))
_MARKDOWN = _file("a Markdown file", f"text/markdown{_TEXT}", markdown.opened, "markdown_it")
_YAML = _file("a YAML file", "application/yaml", values.yaml_values, "yaml")
_XLIFF = _file("an XLIFF file", "application/xliff+xml", catalogues.xliff)
FORMATS: Mapping[str, Format] = {
    ".txt": _file("a text file", f"text/plain{_TEXT}", _text),
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _PAGE,
    ".htm": _PAGE,
    ".docx": _office(".docx", "a Word document", f"{_OPEN_XML}.wordprocessingml.document"),
    ".odt": _office(".odt", "an OpenDocument text", "application/vnd.oasis.opendocument.text"),
    ".pptx": _office(".pptx", "a PowerPoint file", f"{_OPEN_XML}.presentationml.presentation"),
    ".xlsx": _office(".xlsx", "an Excel workbook", f"{_OPEN_XML}.spreadsheetml.sheet"),
    ".epub": _office(".epub", "an EPUB book", "application/epub+zip"),
    ".pdf": Format(
        "a PDF", f"text/plain{_TEXT}", _pdf, "pypdf", ".txt",
        "comes out as plain text, without pictures, tables, columns and fonts",
    ),
    ".srt": _file("a SubRip file", f"application/x-subrip{_TEXT}", _srt),
    ".vtt": _file("a WebVTT file", f"text/vtt{_TEXT}", _vtt),
    ".csv": _file("a table", f"text/csv{_TEXT}", values.table),
    ".tsv": _file("a table", f"text/tab-separated-values{_TEXT}", _tsv),
    ".json": _file("a JSON file", "application/json", values.json_values),
    ".jsonl": _file("a JSON Lines file", f"application/jsonl{_TEXT}", values.json_lines),
    ".yaml": _YAML,
    ".yml": _YAML,
    ".po": Format("a PO file", f"text/x-gettext-translation{_TEXT}", catalogues.po_file),
    ".xliff": _XLIFF,
    ".xlf": _XLIFF,
    ".tmx": _file("a TMX file", "application/x-tmx+xml", catalogues.tmx),
}  # fmt: skip


def format_of(suffix: str) -> Format:
    """The format of an ending; UserError for one that is not known or lacks its library."""
    kind = FORMATS.get(suffix.lower())
    if kind is None:
        raise UserError(f"expected a file that ends in {', '.join(FORMATS)}, got {suffix!r}")
    if kind.library and importlib.util.find_spec(kind.library) is None:
        raise UserError(f"to read {kind.name}, install the extra `files`: no {kind.library}")
    return kind


def notes(content: bytes, suffix: str, options: Options) -> list[str]:
    """What is to be known of what is written: what is lost, another encoding."""
    found = [note] if (note := format_of(suffix).note) else []
    is_text = FORMATS[suffix.lower()].media.endswith(("charset=utf-8", "json", "yaml"))
    is_named = bool(options.encoding or named_encoding(content))
    if is_text and not is_named and is_windows_1252(content):
        kept = "in that" if FORMATS[suffix.lower()] is _PAGE else "in UTF-8"
        found.append(f"no UTF-8: read as Windows-1252 (Latin-1), written {kept}")
    return found


def read(content: bytes | str, suffix: str, options: Options = Options()) -> Document:  # noqa: B008
    """Opens a file by the ending of its name; UserError for one that cannot be read."""
    kind = format_of(suffix)
    try:
        units, finish = kind.open(content, options)
        units = list(units)
    except UserError:
        raise
    except DEFECTS as error:
        got = type(error).__name__ if content else "an empty file"
        raise UserError(f"expected {kind.name}, got {got}") from None

    def write(translations: Sequence[MarkedText]) -> bytes:
        for (_, put), marked in zip(units, translations, strict=True):
            put(marked)
        return finish()

    return Document(tuple(passage for passage, _ in units), write)
