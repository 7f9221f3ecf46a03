"""What all formats share: passages to translate, and what is asked of a file."""

import codecs
import html
import itertools
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from transformer.config import UserError
from transformer.files import is_windows_1252
from transformer.text.language import language_code
from transformer.text.markup import MarkedText, Span, split_at_marks

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
TYPED = re.compile(  # an argument of an ICU message, sound or not
    r"\{\s*+[\w.-]++[\s,]++(?:(?:plural|select|selectordinal)\b"
    r"|(?:number|date|time|spellout|ordinal|duration|choice)\s*+[,}])"
)
_NUMBER = re.compile(r"(?<=&#)0*(\d{1,9})\d*+")
KEPT = re.compile(r"<(\d{1,5})/>")
STAYS = re.compile(r"(<\d{1,5}/>)")  # the same, to split by


AT_ONCE = 256  # items


def some_at_once(items: Iterable[T]) -> Iterator[list[T]]:
    """The items in order, in lists of some hundred."""
    rest = iter(items)
    while some := [*itertools.islice(rest, AT_ONCE)]:
        yield some


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of itself: its languages, and what is to be told of it."""

    source: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()


class Packed(Generic[T]):
    """Many items, kept as the pickles of some hundred each, in order.

    As objects they need several times the memory, and a server that many ask does not get it back.
    """

    def __init__(self, items: Iterable[T] = (), about: About = About()) -> None:
        self.about = about
        self._pickles: list[bytes] = []
        self.extend(items)

    def extend(self, items: Iterable[T]) -> None:
        """Adds items."""
        self._pickles.extend(map(pickle.dumps, some_at_once(items)))

    def __iter__(self) -> Iterator[T]:
        for some in self._pickles:
            yield from pickle.loads(some)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a file; spans of bold words and links; and what stands in it as <0/> and stays."""

    text: str
    marks: tuple[Span, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """The languages, for files that name theirs; columns of a table (none: all); a limit.

    And the encoding of a text that does not name its own; none: UTF-8, or Windows-1252 if it is no
    UTF-8 and reads like that.
    """

    source: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()
    max_bytes: int = 2**26  # of a file, unpacked
    encoding: str = ""


Put = Callable[[MarkedText], None]
Unit = tuple[Passage, Put]
Units = Iterable[Unit]
Opened = tuple[Units, Callable[[], bytes]]  # passages with their places, and the file of them all
Written = tuple[Units, Callable[[], str]]  # the same of a text


class Told(list[Unit]):
    """The passages of a file that says more of itself."""

    def __init__(self, units: Units, about: About) -> None:
        super().__init__(units)
        self.about = about


def unescape(text: str) -> str:
    """The text with what its entities stand for; those of any length, as browsers read them."""
    return html.unescape(_NUMBER.sub(r"\1", text) if "&#" in text else text)


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter, not of a code, a date or ICU's rules."""
    return any(map(str.isalpha, text)) and not _CODE.fullmatch(text) and not TYPED.search(text)


def encoding_of(content: bytes) -> tuple[str, bytes]:
    """The encoding of a text, which it names or which is recognised; and the mark."""
    return named_encoding(content) or ("cp1252" if is_windows_1252(content) else "utf-8", b"")


def named_encoding(content: bytes) -> tuple[str, bytes] | None:
    """The encoding of a text by its mark or by what markup declares; and the mark."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding, mark if mark[0] > 0x80 else b""
    if declared := _DECLARED.match(content):
        name = codecs.lookup(declared[declared.lastindex or 0].decode()).name
        # What pages call Latin-1 or ASCII is Windows' own (WHATWG, Encoding, 4.2).
        is_windows = declared.lastindex == 2 and name in ("iso8859-1", "ascii")
        return "cp1252" if is_windows else name, b""
    return None


def text_file(
    read: Callable[[str, Options], Written], written: str = "utf-8"
) -> Callable[[bytes | str, Options], Opened]:
    """A reader of texts as one of files, which are written in the encoding that they name.

    One that names none is written in UTF-8, or in what `written` says if it is Windows-1252.
    It raises UserError for bytes that are no text.
    """

    def opened(content: bytes | str, options: Options) -> Opened:
        if isinstance(content, str):
            units, finish = read(content, options)
            return units, lambda: finish().encode(errors="surrogatepass")
        encoding, mark = encoding_of(content)
        kept = encoding
        if not named_encoding(content):
            encoding = options.encoding or encoding
            kept = "utf-8" if encoding == "utf-8" else written
        try:
            text = content[len(mark) :].decode(encoding)
        except UnicodeDecodeError as error:
            name = encoding.upper()
            message = f"expected {name} text in the file, got other bytes at {error.start}"
            raise UserError(message) from None
        if "\0" in text:
            raise UserError("expected text in the file, got a zero byte")
        units, finish = read(text, options)
        return units, lambda: mark + finish().encode(kept, "xmlcharrefreplace")

    return opened


def agreed(source: str, target: str, options: Options) -> str:
    """The code of the target language that a file is written with: its own, if it has one.

    UserError for a file that names other languages than those that are asked for.
    """
    asked = options.source, options.target
    for role, own, other in zip(("from", "to"), (source, target), asked, strict=True):
        if own and other and language_code(own) != other:
            raise UserError(f"expected a file {role} {other}, got one that says {role} {own}")
    return target or options.target


class Line(Generic[T]):
    """What is read as one: texts, some of them marked, and what stays between them, as <0/>."""

    def __init__(self, parts: Iterable[tuple[str | None, bool, T]]) -> None:
        """Each part: its text or None for what stays, whether it is marked, and what it is."""
        parts = list(parts)
        taken = (int(n) for text, _, _ in parts if text for n in KEPT.findall(text))
        free = max(taken, default=-1) + 1
        self.kept: dict[str, T] = {}
        self.marked: list[T] = []
        texts, spans, length = list[str](), list[Span](), 0
        for text, is_marked, part in parts:
            if text is None:
                text = f"<{free + len(self.kept)}/>"
                self.kept[text] = part
            elif is_marked and text.strip():
                spans.append((length + len(text) - len(text.lstrip()), length + len(text.rstrip())))
                self.marked.append(part)
            texts.append(text)
            length += len(text)
        whole = "".join(texts)
        n_ahead = len(whole) - len(whole.lstrip())
        self._around = whole[:n_ahead], whole[len(whole.rstrip()) :]
        marks = tuple((a - n_ahead, b - n_ahead) for a, b in spans)
        self.passage = Passage(whole.strip(), marks, tuple(self.kept))

    def written(self, marked: MarkedText) -> list[tuple[T | None, list[str | T]]]:
        """The pieces of a translation: the mark or None, and texts and what stays in it.

        Nothing, if it says what the passage says.
        """
        if marked == split_at_marks(self.passage.text, self.passage.marks):
            return []
        ahead, behind = ([(space, None)] if space else [] for space in self._around)
        return [
            (None if mark is None else self.marked[mark], self._parts(text))
            for text, mark in marked_text([*ahead, *marked, *behind])
        ]

    def _parts(self, text: str) -> list[str | T]:
        parts: list[str | T] = []
        for token, group in itertools.groupby(
            STAYS.split(text), lambda part: part if part in self.kept else None
        ):
            own = "".join(group)
            parts += [self.kept[token]] if token else [own] if own else []
        return parts


def marked_text(pieces: Iterable[tuple[str, int | None]]) -> MarkedText:
    """Neighbours of one mark as one piece."""
    return [
        ("".join(text for text, _ in group), mark)
        for mark, group in itertools.groupby(pieces, lambda piece: piece[1])
    ]


def saying(say: Callable[[str], None]) -> Put:
    """Puts a translation by its text alone."""
    return lambda marked: say(plain(marked))


def plain(marked: Sequence[tuple[str, int | None]]) -> str:
    """The text without its marks."""
    return "".join(text for text, _ in marked)
