"""Files and pages as lists of texts to translate, and written again with their translations.

Plain text, subtitles, HTML and Word documents: all that is no text stays as it was. Knows no
language and no model.
"""

import functools
import io
import itertools
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transformer.config import UserError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import NavigableString

FORMATS = (".txt", ".srt", ".html", ".htm", ".docx")
MEDIA = {
    ".txt": "text/plain; charset=utf-8",
    ".srt": "application/x-subrip; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
UNTOUCHED = {"script", "style", "template", "textarea", "code", "kbd", "samp", "var", "svg", "math"}
_TAG = re.compile(r"(<[^<>]*>|\{\\[^{}]*\})")  # of subtitles: <i>, {\an8}
_BROKEN = re.compile(r"[^\S\n]*\n(?!\s*[-–—])\s*")
UNPACKED = 64  # times that a Word document may be larger unpacked than the limit of a file


@dataclass(frozen=True, slots=True)
class Document:
    """The texts of a file, in order, and how it is written with others in their places."""

    texts: tuple[str, ...]
    write: Callable[[Sequence[str]], bytes]


def read(content: bytes, suffix: str, max_bytes: int) -> Document:
    """Opens a file by the ending of its name; UserError for one that cannot be read."""
    readers = {".txt": _txt, ".srt": _srt, ".html": _html, ".htm": _html}
    suffix = suffix.lower()
    if suffix == ".docx":
        return _docx(content, max_bytes)
    if suffix not in readers:
        raise UserError(f"expected a file that ends in {', '.join(FORMATS)}, got {suffix!r}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"expected UTF-8 text in the file, got other bytes at {error.start}"
        ) from None
    if "\0" in text:
        raise UserError("expected text in the file, got a zero byte")
    return readers[suffix](text)


def _txt(text: str) -> Document:
    return Document((text,), lambda texts: texts[0].encode())


def _srt(text: str) -> Document:
    import srt

    try:
        entries = list(srt.parse(text))
    except srt.SRTParseError:
        raise UserError("expected subtitles in the SubRip format") from None

    # A sentence often runs over two lines of a subtitle; who speaks next begins with a dash.
    parts = [_TAG.split(_BROKEN.sub(" ", entry.content)) for entry in entries]

    def write(texts: Sequence[str]) -> bytes:
        following = iter(texts)
        for entry, pieces in zip(entries, parts, strict=True):
            entry.content = "".join(
                piece if i % 2 else next(following) for i, piece in enumerate(pieces)
            )
        return str(srt.compose(entries, reindex=False)).encode()

    return Document(tuple(text for entry in parts for text in entry[::2]), write)


def html(text: str) -> Document:
    """A page or a part of one, with its tags, comments, scripts and styles as they are."""
    return _html(text)


def _html(text: str) -> Document:
    from bs4 import BeautifulSoup
    from bs4.element import Doctype

    soup = BeautifulSoup(text, "html.parser")
    for node in soup.contents:
        if isinstance(node, Doctype):
            node.SUFFIX = ">"  # or it would be followed by a line more each time
    nodes = list(_texts(soup))

    def write(texts: Sequence[str]) -> bytes:
        for node, translation in zip(nodes, texts, strict=True):
            node.replace_with(translation)
        return str(soup.decode(formatter="minimal")).encode()

    return Document(tuple(map(str, nodes)), write)


def _texts(soup: "BeautifulSoup") -> "Iterator[NavigableString]":
    """The strings that a reader sees: no comment, no script, nothing marked translate=no."""
    from bs4.element import NavigableString, Tag

    waiting: list[Any] = [soup]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tag):
            kept = node.name in UNTOUCHED or node.get("translate") == "no"
            if not kept and "notranslate" not in node.get_attribute_list("class"):
                waiting.extend(reversed(node.contents))
        elif type(node) is NavigableString and node.strip():
            yield node


def _docx(content: bytes, max_bytes: int) -> Document:
    import docx

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > UNPACKED * max_bytes:
            raise UserError(f"expected a Word document of at most {UNPACKED * max_bytes} bytes")
        opened = docx.Document(io.BytesIO(content))
    except UserError:
        raise
    except Exception as error:  # whatever a broken archive or XML brings
        raise UserError(f"expected a Word document, got {type(error).__name__}") from None
    runs = [group for paragraph in _paragraphs(opened) for group in _groups(paragraph)]

    def write(texts: Sequence[str]) -> bytes:
        for group, text in zip(runs, texts, strict=True):
            group[0].text = text
            for run in group[1:]:
                run.text = ""
        written = io.BytesIO()
        opened.save(written)
        return written.getvalue()

    return Document(tuple("".join(run.text for run in group) for group in runs), write)


def _paragraphs(opened: Any) -> Iterator[Any]:
    """Those of the text, of its tables, and of headers and footers."""
    from docx.text.paragraph import Paragraph

    parts = [part for one in opened.sections for part in (one.header, one.footer)]
    own = [part for part in parts if not part.is_linked_to_previous]
    for part, root in ((opened, opened.element.body), *((part, part._element) for part in own)):
        for element in root.iter():
            if str(element.tag).endswith("}p") and "wordprocessingml" in element.tag:
                yield Paragraph(element, part)


def _groups(paragraph: Any) -> Iterator[list[Any]]:
    """Neighbouring runs of one look, which are translated together; each holds text only."""
    for content in (paragraph.runs, *(link.runs for link in paragraph.hyperlinks)):
        look = functools.partial(_look, content)
        for key, group in itertools.groupby(range(len(content)), look):
            runs = [content[i] for i in group]
            if key is not None and any(run.text.strip() for run in runs):
                yield runs


def _look(runs: Sequence[Any], i: int) -> str | None:
    """How a run is formatted; None where it holds more than text (a picture, a tab, a field)."""
    element = runs[i]._element
    if {str(child.tag).rpartition("}")[2] for child in element} - {"rPr", "t"}:
        return None
    return "" if element.rPr is None else str(element.rPr.xml)
