"""Office files and books: archives of XML of which only texts change, and FictionBook's XML.

What stays in the language that it has: formulas and what they look up (names of sheets, ranges and
columns, lists of allowed values), what was deleted, equations, masters and layouts of slides,
properties of a file (but a book's title), files in files, the language for the spelling check.
"""

import io
import re
import zipfile
from functools import partial

from transformer.config import UserError
from transformer.documents import html, runs
from transformer.documents.passages import BytesParser, Options, Parsed, bytes_parser, unescape

MAX_MEMBERS = 10_000
_WORD = re.compile(
    r"word/(document|(header|footer)\d*|footnotes|endnotes|comments|(charts|diagrams)/\w+)\.xml"
)
_SLIDES = re.compile(r"ppt/(slides|notesSlides|charts|diagrams|comments)/\w+\.xml")
_SHEETS = re.compile(
    r"xl/(sharedStrings|comments\d*"
    r"|(worksheets|drawings|charts|diagrams|comments|threadedComments)/[^/]+)\.xml"
)
_COLUMN = re.compile(rb'<tableColumn\b[^<>]*?\sname="([^"<>]*+)"')
_ODT = re.compile(r"(content|styles)\.xml")
_PAGES = re.compile(r".*\.(xhtml|html?|ncx|opf)", re.IGNORECASE)
_TEXT_RULES = html.MarkupRules(
    inline=frozenset({"text:span", "text:a"}),
    untranslatable=frozenset({"text:s", "text:bookmark", "text:bookmark-start", "text:sequence",
                    "text:bookmark-end", "text:soft-page-break", "text:page-number", "text:date",
                    "dc:creator", "dc:date", "office:binary-data", "text:note-citation",
                    "text:tracked-changes", "text:change", "text:change-start", "text:change-end",
                    "text:page-count", "text:time", "text:title", "text:author-name",
                    "text:file-name", "text:reference-mark", "text:reference-mark-start",
                    "text:reference-mark-end", "office:annotation-end"}),
    text_elements=frozenset({"text:p", "text:h", "svg:title", "svg:desc"}),
    nested=frozenset({"text:note", "office:annotation"}),
    computed_attribute="table:formula",
)  # fmt: skip
_CONTENTS = html.MarkupRules(
    inline=frozenset(),
    untranslatable=frozenset({"docAuthor"}),
    attributes=frozenset({"title"}),  # of a guide
    text_elements=frozenset({"text", "dc:title", "dc:description"}),
)
_BOOK = html.MarkupRules(
    inline=frozenset({"a", "emphasis", "strikethrough", "strong", "style", "sub", "sup"}),
    untranslatable=frozenset({"code", "image", "document-info", "publish-info"}),
    text_elements=frozenset({"book-title", "p", "subtitle", "td", "th", "v"}),
)


def _archive(name: re.Pattern[str], parse: BytesParser, needs: str) -> BytesParser:
    """Return a parser of ZIP archives: `parse` reads members whose whole name matches; others stay.

    It raises UserError for an archive without the member `needs`.
    """

    def parse_archive(content: bytes, options: Options) -> Parsed[bytes]:
        members = _members(content, options.max_bytes)
        if not any(entry.filename == needs for entry, _ in members):
            raise UserError(f"expected {needs} in the file, got none of that name")
        parts = {
            entry.filename: parse(data, options)
            for entry, data in members
            if name.fullmatch(entry.filename)
        }

        def render() -> bytes:
            output = io.BytesIO()
            with zipfile.ZipFile(output, "w") as archive:
                for entry, data in members:
                    part = parts.get(entry.filename)
                    archive.writestr(entry, part.render() if part else data)
            return output.getvalue()

        # Excel asks for a repair where a column of a table is not named as its head says.
        tables = [data for entry, data in members if entry.filename.startswith("xl/tables/")]
        heads = {head for data in tables for head in _COLUMN.findall(data)}
        names = {unescape(head.decode()).strip() for head in heads}
        units = (unit for part in parts.values() for unit in part.units)
        return Parsed([unit for unit in units if unit[0].text not in names], render)

    return parse_archive


def _members(content: bytes, max_bytes: int) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """Return the (entry, content) of an archive; UserError if it is too large, locked or odd."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > max_bytes or len(entries) > MAX_MEMBERS:
            raise UserError(
                f"expected a file of at most {max_bytes >> 20} MiB unpacked in "
                f"{MAX_MEMBERS:,} parts, got {size >> 20} MiB in {len(entries):,}"
            )
        if any(entry.flag_bits & 0x41 for entry in entries):
            raise UserError("expected a file without a password")
        if len(set(archive.namelist())) < len(entries):
            raise UserError("expected a file with one part of each name, got two")
        if {entry.compress_type for entry in entries} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UserError("expected a file that is packed by deflate, as office programs do")
        members = []
        for entry in entries:
            with archive.open(entry) as member:  # no more than it says: `read` of all would unpack
                members.append((entry, member.read(entry.file_size + 1)))  # to its end: a check
        return members


def _with_target(text: str, options: Options, name: str) -> str:
    """Return the XML `text` with the source language in elements `name` replaced by the target."""
    if not options.target:
        return text
    own = rf"(<{name}\b[^<>]*+>\s*+){re.escape(options.source)}(?:-[\w-]++)?(?=[<\s])"
    return re.sub(own, rf"\g<1>{options.target}", text)


def fiction_book(text: str, options: Options) -> Parsed[str]:
    """Parse a FictionBook; UserError for XML that declares entities."""
    return html.parse(_with_target(text, options, "lang"), options, _BOOK)


def _page_or_contents(text: str, options: Options) -> Parsed[str]:
    text = _with_target(text, options, "dc:language")
    is_page = re.search(r"<html[\s>]", text[:10_000], re.IGNORECASE)
    return html.parse(text, options, html.XHTML if is_page else _CONTENTS)


docx = _archive(_WORD, runs.parse, "word/document.xml")
pptx = _archive(_SLIDES, runs.parse, "ppt/presentation.xml")
xlsx = _archive(_SHEETS, runs.parse, "xl/workbook.xml")
open_document = _archive(_ODT, bytes_parser(partial(html.parse, rules=_TEXT_RULES)), "content.xml")
epub = _archive(_PAGES, bytes_parser(_page_or_contents), "META-INF/container.xml")
