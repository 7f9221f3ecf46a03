"""Files and pages as lists of texts to translate, and written again with their translations.

Plain text, subtitles, HTML and Word documents: all that is no text stays as it was. Knows no
language and no model.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transformer.config import UserError
from transformer.documents import word
from transformer.documents.markup import MarkedText, Span

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
INLINE = {"a", "abbr", "b", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "q", "s",
          "small", "span", "strong", "sub", "sup", "u"}  # fmt: skip
_TAG = re.compile(r"(<[^<>]*>|\{\\[^{}]*\})")  # of subtitles: <i>, {\an8}
_BROKEN = re.compile(r"[^\S\n]*\n(?!\s*[-–—])\s*")


@dataclass(frozen=True, slots=True)
class Document:
    """The texts of a file, in order, and how it is written with others in their places.

    A text with marks (bold words, links) takes back a text in pieces, each with its mark's number.
    """

    texts: tuple[str, ...]
    write: Callable[[Sequence[str | MarkedText]], bytes]
    marks: tuple[tuple[Span, ...], ...] = ()  # of each text, where there are any at all


def read(content: bytes, suffix: str, max_bytes: int) -> Document:
    """Opens a file by the ending of its name; UserError for one that cannot be read."""
    readers = {".txt": _txt, ".srt": _srt, ".html": _html, ".htm": _html}
    suffix = suffix.lower()
    if suffix == ".docx":
        return Document(*word.read(content, max_bytes))
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
    return Document((text,), lambda texts: str(texts[0]).encode())


def _srt(text: str) -> Document:
    import srt

    try:
        entries = list(srt.parse(text))
    except srt.SRTParseError:
        raise UserError("expected subtitles in the SubRip format") from None

    # A sentence often runs over two lines of a subtitle; who speaks next begins with a dash.
    parts = [_TAG.split(_BROKEN.sub(" ", entry.content)) for entry in entries]

    def write(texts: Sequence[str | MarkedText]) -> bytes:
        following = iter(texts)
        for entry, pieces in zip(entries, parts, strict=True):
            entry.content = "".join(
                piece if i % 2 else str(next(following)) for i, piece in enumerate(pieces)
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
    lines = list(_lines(list(_texts(soup))))

    def write(texts: Sequence[str | MarkedText]) -> bytes:
        for line, translation in zip(lines, texts, strict=True):
            if isinstance(translation, str):
                line[0].replace_with(translation)
            else:
                _rewrite(line, translation)
        return str(soup.decode(formatter="minimal")).encode()

    texts = tuple("".join(map(str, line)) for line in lines)
    return Document(texts, write, tuple(_marked(line) for line in lines))


def _lines(nodes: "Sequence[NavigableString]") -> "Iterator[list[NavigableString]]":
    """Strings that are read as one: neighbours, with simple elements such as <b> between them.

    A simple element has one string and nothing else; any other string is a line of its own.
    """
    line: list[NavigableString] = []
    for node in nodes:
        one = _sibling(node)
        if line and one is not None:
            after = _sibling(line[-1]).next_sibling
            gap: list[Any] = [after] if isinstance(after, str) and not after.strip() else []
            if (gap[0].next_sibling if gap else after) is one:
                line += [*gap, node]
                continue
        yield from _whole(line)
        line = [node] if one is not None else []
        if one is None:
            yield [node]
    yield from _whole(line)


def _whole(line: "list[NavigableString]") -> "Iterator[list[NavigableString]]":
    """The line, or where no text stands beside its elements, each of its strings."""
    if any(_sibling(node) is node for node in line):
        yield line
    else:
        yield from ([node] for node in line)


def _sibling(node: "NavigableString") -> Any:
    """What stands for a string in its line: itself, or the simple elements around it, or None."""
    parent = node.parent
    if parent is None or parent.name not in INLINE:
        return node
    outer: Any = parent
    while len(outer.contents) == 1 and outer.parent is not None and outer.parent.name in INLINE:
        outer = outer.parent
    return outer if len(outer.contents) == 1 and len(parent.contents) == 1 else None


def _marked(line: "Sequence[NavigableString]") -> tuple[Span, ...]:
    marks, end = [], 0
    for node in line:
        start, end = end, end + len(node)
        if _sibling(node) is not node and len(line) > 1:
            marks.append((end - len(node.lstrip()), start + len(node.rstrip())))
    return tuple(marks)


def _rewrite(line: "Sequence[NavigableString]", filled: MarkedText) -> None:
    """Puts the elements of a line where their words now are, each once, and the text between."""
    from bs4.element import NavigableString

    siblings = [_sibling(node) for node in line]
    inner = [node for node, one in zip(line, siblings, strict=True) if one is not node]
    outer = [one for node, one in zip(line, siblings, strict=True) if one is not node]
    anchor = NavigableString("")
    siblings[0].insert_before(anchor)
    for one in siblings:
        one.extract()
    for text, mark in filled:
        if mark is None:
            anchor.insert_before(NavigableString(text))
        else:
            inner[mark].replace_with(text)
            anchor.insert_before(outer[mark])
    anchor.extract()


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
