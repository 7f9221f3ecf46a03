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
from dataclasses import dataclass, replace
from typing import Any

from transformer.config import UserError
from transformer.documents import (
    catalogues,
    guess,
    html,
    latex,
    mail,
    markdown,
    notebook,
    office,
    resources,
    restructured,
    subtitles,
    values,
)
from transformer.documents.edits import TextEdits
from transformer.documents.passages import (
    Metadata,
    Options,
    Parsed,
    Passage,
    bytes_parser,
    declared_encoding,
)
from transformer.files import is_windows_1252
from transformer.text.markup import MarkedText

_HYPHEN = re.compile(r"(?<=[a-záéíóúüñ])-\n(?=[a-záéíóúüñ])")
_SAME = re.compile(r"(?<![.!?:\n])\n(?=[^\W\dA-ZÁÉÍÓÚÜÑ])")  # a line that goes on in the next
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
DEFECTS = (ValueError, LookupError, OSError, EOFError, RecursionError, NotImplementedError,
           SyntaxError, zipfile.BadZipFile, zlib.error, struct.error)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its endings, name with its article, MIME type, reader, library."""

    endings: str
    name: str
    media: str
    parse: Callable[[Any, Options], Parsed[bytes]]
    library: str = ""
    written: str = ""  # the ending of what is written, if another
    note: str = ""  # a warning of what is lost


@dataclass(frozen=True, slots=True)
class Document:
    """The passages of a file, in order, and how it is written with translations of them all."""

    passages: tuple[Passage, ...]
    write: Callable[[Sequence[MarkedText]], bytes]
    metadata: Metadata


def _text(text: str, options: Options) -> Parsed[str]:
    """Each line of a text."""
    edits, end = TextEdits(text), 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        edits.translate(start, end, line, str)
    return edits.parsed()


def _pdf(content: bytes, options: Options) -> Parsed[bytes]:
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
    return bytes_parser(_text)(_SAME.sub(" ", _HYPHEN.sub("", text)), options)


def _text_format(
    endings: str,
    name: str,
    media: str,
    read: Callable[[str, Options], Parsed[str]],
    library: str = "",
) -> Format:
    is_text = media.startswith("text/") or media == "application/x-subrip"
    return Format(
        endings, name, f"{media}; charset=utf-8" if is_text else media, bytes_parser(read), library
    )


_vtt = functools.partial(subtitles.parse_timed, is_vtt=True)
_ssa = functools.partial(subtitles.parse_substation, kind="ssa")
_jsonl = functools.partial(values.parse_json, is_lines=True)
_tsv = functools.partial(values.parse_table, delimiter="\t")
# All that is said of the formats anywhere comes from here: help, settings of the server, tables.
TABLE: tuple[Format, ...] = (
    _text_format(".txt .text .log .lst", "a text file", "text/plain", _text),
    _text_format(".md .markdown", "a Markdown file", "text/markdown", markdown.parse,
                 "markdown_it"),
    Format(".eml", "an e-mail", "message/rfc822", mail.parse),
    Format(".rst", "a reStructuredText file", "text/x-rst; charset=utf-8",
           bytes_parser(restructured.parse), "docutils", note="its tables stay as they are"),
    _text_format(".tex", "a LaTeX file", "application/x-tex", latex.parse, "pylatexenc"),
    _text_format(".ipynb", "a notebook", "application/x-ipynb+json", notebook.parse,
                 "markdown_it"),
    # One that does not name its charset is read as Windows-1252.
     Format(".html .htm", "an HTML page", "text/html; charset=utf-8",
            bytes_parser(html.parse, cp1252_output="cp1252")),
    Format(".docx", "a Word document", f"{_OPEN_XML}.wordprocessingml.document",
           office.OFFICE[".docx"], "lxml"),
    Format(".odt", "an OpenDocument text", "application/vnd.oasis.opendocument.text",
           office.OFFICE[".odt"]),
    Format(".odp", "an OpenDocument presentation",
           "application/vnd.oasis.opendocument.presentation", office.OFFICE[".odp"]),
    Format(".ods", "an OpenDocument spreadsheet",
           "application/vnd.oasis.opendocument.spreadsheet", office.OFFICE[".ods"]),
    Format(".pptx", "a PowerPoint file", f"{_OPEN_XML}.presentationml.presentation",
           office.OFFICE[".pptx"], "lxml"),
    Format(".xlsx", "an Excel workbook", f"{_OPEN_XML}.spreadsheetml.sheet",
           office.OFFICE[".xlsx"], "lxml"),
    Format(".epub", "an EPUB book", "application/epub+zip", office.OFFICE[".epub"]),
    _text_format(".fb2", "a FictionBook", "application/x-fictionbook+xml", office.fiction_book),
    Format(".pdf", "a PDF", "text/plain; charset=utf-8", _pdf, "pypdf", ".txt",
           "comes out as plain text, without pictures, tables, columns and fonts"),
    _text_format(".srt", "a SubRip file", "application/x-subrip", subtitles.parse_timed),
    _text_format(".vtt", "a WebVTT file", "text/vtt", _vtt),
    _text_format(".ass", "a SubStation file", "text/x-ass", subtitles.parse_substation, "pysubs2"),
    _text_format(".ssa", "a SubStation file", "text/x-ssa", _ssa, "pysubs2"),
    _text_format(".sub", "a MicroDVD file", "text/x-microdvd", subtitles.parse_microdvd, "pysubs2"),
    _text_format(".csv", "a table", "text/csv", values.parse_table),
    _text_format(".tsv", "a table", "text/tab-separated-values", _tsv),
    _text_format(".json", "a JSON file", "application/json", values.parse_json),
    _text_format(".arb", "a Flutter file", "application/json", values.parse_arb),
    _text_format(".jsonl", "a JSON Lines file", "application/jsonl", _jsonl),
    _text_format(".yaml .yml", "a YAML file", "application/yaml", values.parse_yaml, "yaml"),
    _text_format(".xliff .xlf .sdlxliff .mqxliff .mxliff", "an XLIFF file",
                 "application/xliff+xml", catalogues.parse_xliff),
    Format(".po", "a PO file", "text/x-gettext-translation; charset=utf-8",
           catalogues.parse_po, "polib"),
    Format(".pot", "a PO template", "text/x-gettext-translation; charset=utf-8",
           catalogues.parse_po, "polib", ".po"),
    _text_format(".tmx", "a TMX file", "application/x-tmx+xml", catalogues.parse_tmx),
    _text_format(".properties", "Java properties", "text/x-java-properties",
                 resources.parse_properties, "javaproperties"),
    _text_format(".strings", "Apple strings", "text/plain", resources.parse_strings),
    _text_format(".ini", "an INI file", "text/plain", resources.parse_ini, "iniparse"),
    _text_format(".php", "PHP strings", "application/x-php", resources.parse_php,
                 "tree_sitter_php"),
    _text_format(".ftl", "a Fluent file", "text/plain", resources.parse_fluent, "fluent"),
    _text_format(".ts", "a Qt file", "application/x-linguist", catalogues.parse_qt),
    _text_format(".xml", "Android strings", "application/xml", resources.parse_android),
    _text_format(".resx .resw", "a .NET resource", "application/xml", resources.parse_resx),
    _text_format(".stringsdict", "Apple plurals", "application/xml", resources.parse_stringsdict),
)  # fmt: skip
FORMATS: Mapping[str, Format] = {ending: kind for kind in TABLE for ending in kind.endings.split()}
# What people have, and how it gets a form that is read.
REFUSED: Mapping[str, str] = {
    ".doc": "a Word 97 document, which is saved as .docx",
    ".rtf": "an RTF document, which is saved as .docx or .odt",
    ".adoc": "an AsciiDoc document, which is converted to .html by asciidoctor",
    ".asciidoc": "an AsciiDoc document, which is converted to .html by asciidoctor",
    ".xls": "an Excel 97 workbook, which is saved as .xlsx",
    ".ppt": "a PowerPoint 97 file, which is saved as .pptx",
    ".pages": "a Pages document, which is exported as .docx",
    ".mobi": "a Kindle book, which is converted to .epub",
    ".azw3": "a Kindle book, which is converted to .epub",
    ".idml": "an InDesign file, which is exported as .html or .docx",
    ".mo": "a compiled catalogue, whose .po is translated",
    ".qm": "a compiled catalogue, whose .ts is translated",
}
TEXT = ".txt"


def resolve_suffix(ending: str, head: bytes, asked: str = "") -> str:
    """The ending by which a file is read: its own, the one asked, or of text for plain prose.

    UserError for a file of another kind: what it seems to be by its first bytes.
    """
    ending = f".{asked.removeprefix('.')}".lower() if asked else ending.lower()
    if ending in FORMATS:
        return ending
    what = "" if asked or ending in REFUSED else guess.guess_kind(head)
    if not (what or asked or ending in REFUSED):
        return TEXT
    got = repr(ending) if ending else "a file without one"
    if what:
        got += f", which seems to be {what}; --format txt translates its lines all the same"
    raise UserError(
        f"expected a file that ends in {', '.join(FORMATS)}; got {got}"
        + (f", {REFUSED[ending]}" if ending in REFUSED else "")
    )


def get_format(ending: str) -> Format:
    """The format of a known ending; UserError for one that lacks its library."""
    kind = FORMATS[resolve_suffix(ending, b"", ending)]
    if kind.library and importlib.util.find_spec(kind.library) is None:
        raise UserError(f"to read {kind.name}, install the extra `files`: no {kind.library}")
    return kind


def notes(content: bytes, suffix: str, options: Options) -> list[str]:
    """What is to be known of the encoding of what is written."""
    kind = FORMATS[suffix.lower()]
    is_text = kind.media.endswith(("charset=utf-8", "json", "yaml"))
    if (
        not is_text
        or options.encoding
        or declared_encoding(content)
        or not is_windows_1252(content)
    ):
        return []
    kept = "in that" if kind is FORMATS[".html"] else "in UTF-8"
    return [f"no UTF-8: read as Windows-1252 (Latin-1), written {kept}"]


def read(content: bytes | str, suffix: str, options: Options = Options()) -> Document:  # noqa: B008
    """Opens a file by the ending of its name; UserError for one that cannot be read."""
    kind = get_format(suffix)
    parsed = _parse(kind, content, options)
    metadata = parsed.metadata
    if not parsed.units:
        metadata = replace(metadata, notes=(*metadata.notes, "nothing in it is to be translated"))

    def write(translations: Sequence[MarkedText]) -> bytes:
        for (_, put), marked in zip(parsed.units, translations, strict=True):
            put(marked)
        written = parsed.render()
        if isinstance(content, bytes):
            try:
                larger = replace(options, source="", target="", max_bytes=2 * options.max_bytes)
                _parse(FORMATS.get(kind.written, kind), written, larger)
            except UserError as error:
                message = f"nothing is written, for it could not be read again: {error}"
                raise UserError(message) from None
        return written

    return Document(tuple(passage for passage, _ in parsed.units), write, metadata)


def _parse(kind: Format, content: bytes | str, options: Options) -> Parsed[bytes]:
    try:
        parsed = kind.parse(content, options)
    except UserError:
        raise
    except DEFECTS as error:
        got = type(error).__name__ if content else "an empty file"
        raise UserError(f"expected {kind.name}, got {got}") from None
    notes = tuple(filter(None, [kind.note, *parsed.metadata.notes]))
    return replace(parsed, metadata=replace(parsed.metadata, notes=notes))
