"""The table of formats: files as passages to translate, and written with their translations."""

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
    TextParser,
    bytes_parser,
    declared_encoding,
)
from transformer.files import is_windows_1252
from transformer.text.markup import MarkedText

_HYPHEN = re.compile(r"(?<=[a-záéíóúüñ])-\n(?=[a-záéíóúüñ])")
_CONTINUED = re.compile(r"(?<![.!?:\n])\n(?=[^\W\dA-ZÁÉÍÓÚÜÑ])")  # a line that goes on in the next
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
_PARSE_ERRORS = (ValueError, LookupError, OSError, EOFError, RecursionError, NotImplementedError,
                 SyntaxError, zipfile.BadZipFile, zlib.error, struct.error)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: suffixes (".html .htm"), name with its article, MIME type, parser of bytes.

    The parser imports `library`, and reads a str, too, where the format is text. `output_suffix` is
    that of what is written, if another; `note` a warning of what is lost.
    """

    suffixes: str
    name: str
    media_type: str
    parse: Callable[[Any, Options], Parsed[bytes]]
    library: str = ""
    output_suffix: str = ""
    note: str = ""

    @property
    def content_type(self) -> str:
        """The MIME type, with the charset of a text."""
        is_text = self.media_type.startswith("text/") or self.media_type == "application/x-subrip"
        return f"{self.media_type}; charset=utf-8" if is_text else self.media_type

    @property
    def is_archive(self) -> bool:
        """Whether files of this format are archives, as office files and books are, not text."""
        return self.media_type.startswith(("application/vnd.", "application/epub"))


@dataclass(frozen=True, slots=True)
class Document:
    """The passages of a file, in order, and `write`, which returns it with their translations.

    `write` raises UserError if it cannot parse again what it has made of bytes.
    """

    passages: tuple[Passage, ...]
    write: Callable[[Sequence[MarkedText]], bytes]
    metadata: Metadata


def _lines(text: str, options: Options) -> Parsed[str]:
    """Parse a text whose lines are passages."""
    edits, end = TextEdits(text), 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        edits.translate(start, end, line, str)
    return edits.parsed()


def _pdf(content: bytes, options: Options) -> Parsed[bytes]:
    """Parse a PDF's paragraphs, to be written as text; UserError for a password or no text."""
    import pypdf

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
    return bytes_parser(_lines)(_CONTINUED.sub(" ", _HYPHEN.sub("", text)), options)


def _text(
    suffixes: str, name: str, media_type: str, parse: TextParser, library: str = "", note: str = ""
) -> Format:
    return Format(suffixes, name, media_type, bytes_parser(parse), library, note=note)


_vtt = functools.partial(subtitles.parse_timed, is_vtt=True)
_ssa = functools.partial(subtitles.parse_substation, kind="ssa")
_jsonl = functools.partial(values.parse_json, is_lines=True)
_tsv = functools.partial(values.parse_table, delimiter="\t")
# Help, the server's settings and tables of formats all come from here.
TABLE: tuple[Format, ...] = (
    _text(".txt .text .log .lst", "a text file", "text/plain", _lines),
    _text(".md .markdown", "a Markdown file", "text/markdown", markdown.parse, "markdown_it"),
    Format(".eml", "an e-mail", "message/rfc822", mail.parse),
    _text(".rst", "a reStructuredText file", "text/x-rst", restructured.parse, "docutils",
          "its tables stay as they are"),
    _text(".tex", "a LaTeX file", "application/x-tex", latex.parse, "pylatexenc"),
    _text(".ipynb", "a notebook", "application/x-ipynb+json", notebook.parse, "markdown_it"),
    # One that does not name its charset is read as Windows-1252.
    Format(".html .htm", "an HTML page", "text/html", bytes_parser(html.parse, "cp1252")),
    Format(".docx", "a Word document", f"{_OPEN_XML}.wordprocessingml.document", office.docx,
           "lxml"),
    Format(".odt", "an OpenDocument text", f"{_OPEN_DOCUMENT}.text", office.open_document),
    Format(".odp", "an OpenDocument presentation", f"{_OPEN_DOCUMENT}.presentation",
           office.open_document),
    Format(".ods", "an OpenDocument spreadsheet", f"{_OPEN_DOCUMENT}.spreadsheet",
           office.open_document),
    Format(".pptx", "a PowerPoint file", f"{_OPEN_XML}.presentationml.presentation", office.pptx,
           "lxml"),
    Format(".xlsx", "an Excel workbook", f"{_OPEN_XML}.spreadsheetml.sheet", office.xlsx, "lxml"),
    Format(".epub", "an EPUB book", "application/epub+zip", office.epub),
    _text(".fb2", "a FictionBook", "application/x-fictionbook+xml", office.fiction_book),
    Format(".pdf", "a PDF", "text/plain", _pdf, "pypdf", ".txt",
           "comes out as plain text, without pictures, tables, columns and fonts"),
    _text(".srt", "a SubRip file", "application/x-subrip", subtitles.parse_timed),
    _text(".vtt", "a WebVTT file", "text/vtt", _vtt),
    _text(".ass", "a SubStation file", "text/x-ass", subtitles.parse_substation, "pysubs2"),
    _text(".ssa", "a SubStation file", "text/x-ssa", _ssa, "pysubs2"),
    _text(".sub", "a MicroDVD file", "text/x-microdvd", subtitles.parse_microdvd, "pysubs2"),
    _text(".csv", "a table", "text/csv", values.parse_table),
    _text(".tsv", "a table", "text/tab-separated-values", _tsv),
    _text(".json", "a JSON file", "application/json", values.parse_json),
    _text(".arb", "a Flutter file", "application/json", values.parse_arb),
    _text(".jsonl", "a JSON Lines file", "application/jsonl", _jsonl),
    _text(".yaml .yml", "a YAML file", "application/yaml", values.parse_yaml, "yaml"),
    _text(".xliff .xlf .sdlxliff .mqxliff .mxliff", "an XLIFF file", "application/xliff+xml",
          catalogues.parse_xliff),
    Format(".po", "a PO file", "text/x-gettext-translation", catalogues.parse_po, "polib"),
    Format(".pot", "a PO template", "text/x-gettext-translation", catalogues.parse_po, "polib",
           ".po"),
    _text(".tmx", "a TMX file", "application/x-tmx+xml", catalogues.parse_tmx),
    _text(".properties", "Java properties", "text/x-java-properties", resources.parse_properties,
          "javaproperties"),
    _text(".strings", "Apple strings", "text/plain", resources.parse_strings),
    _text(".ini", "an INI file", "text/plain", resources.parse_ini, "iniparse"),
    _text(".php", "PHP strings", "application/x-php", resources.parse_php, "tree_sitter_php"),
    _text(".ftl", "a Fluent file", "text/plain", resources.parse_fluent, "fluent"),
    _text(".ts", "a Qt file", "application/x-linguist", catalogues.parse_qt),
    _text(".xml", "Android strings", "application/xml", resources.parse_android),
    _text(".resx .resw", "a .NET resource", "application/xml", resources.parse_resx),
    _text(".stringsdict", "Apple plurals", "application/xml", resources.parse_stringsdict),
)  # fmt: skip
FORMATS: Mapping[str, Format] = {suffix: kind for kind in TABLE for suffix in kind.suffixes.split()}
# Formats that people have and that are not read, and what to do with them.
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


def resolve_suffix(suffix: str, head: bytes, requested: str = "") -> str:
    """Return the suffix by which a file is parsed: `requested`, its own, or `.txt` for prose.

    UserError for a file of another kind, with what its first bytes look like.
    """
    suffix = f".{requested.removeprefix('.')}".lower() if requested else suffix.lower()
    if suffix in FORMATS:
        return suffix
    is_open = not requested and suffix not in REFUSED
    kind = guess.guess_kind(head) if is_open else ""
    if is_open and not kind:
        return TEXT
    got = repr(suffix) if suffix else "a file without one"
    if kind:
        got += f", which seems to be {kind}; --format txt translates its lines all the same"
    elif suffix in REFUSED:
        got += f", {REFUSED[suffix]}"
    raise UserError(f"expected a file that ends in {', '.join(FORMATS)}; got {got}")


def get_format(suffix: str) -> Format:
    """Return the format of a suffix; UserError for an unknown one or a missing library."""
    kind = FORMATS[resolve_suffix(suffix, b"", suffix)]
    if kind.library and importlib.util.find_spec(kind.library) is None:
        raise UserError(f"to read {kind.name}, install the extra `files`: no {kind.library}")
    return kind


def encoding_notes(content: bytes, suffix: str, options: Options) -> list[str]:
    """Return a note for the user if a text is taken for Windows-1252, else an empty list."""
    kind = FORMATS[suffix.lower()]
    is_text = kind.content_type.endswith(("charset=utf-8", "json", "yaml"))
    is_known = options.encoding or declared_encoding(content)
    if not is_text or is_known or not is_windows_1252(content):
        return []
    output = "in that" if kind is FORMATS[".html"] else "in UTF-8"
    return [f"no UTF-8: read as Windows-1252 (Latin-1), written {output}"]


def read(content: bytes | str, suffix: str, options: Options = Options()) -> Document:  # noqa: B008
    """Parse a file by its suffix; UserError for one that cannot be parsed."""
    kind = get_format(suffix)
    parsed = _parse(kind, content, options)
    notes = [kind.note, *parsed.metadata.notes]
    if not parsed.units:
        notes.append("nothing in it is to be translated")

    def write(translations: Sequence[MarkedText]) -> bytes:
        for (_, set_translation), marked in zip(parsed.units, translations, strict=True):
            set_translation(marked)
        written = parsed.render()
        if isinstance(content, bytes):
            try:
                larger = replace(options, source="", target="", max_bytes=2 * options.max_bytes)
                _parse(FORMATS.get(kind.output_suffix, kind), written, larger)
            except UserError as error:
                message = f"nothing is written, for it could not be read again: {error}"
                raise UserError(message) from None
        return written

    metadata = replace(parsed.metadata, notes=tuple(filter(None, notes)))
    return Document(tuple(passage for passage, _ in parsed.units), write, metadata)


def _parse(kind: Format, content: bytes | str, options: Options) -> Parsed[bytes]:
    try:
        return kind.parse(content, options)
    except UserError:
        raise
    except _PARSE_ERRORS as error:
        got = type(error).__name__ if content else "an empty file"
        raise UserError(f"expected {kind.name}, got {got}") from None
