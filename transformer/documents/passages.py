"""What all formats share: passages to translate, and what is asked of a file."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from transformer.config import UserError
from transformer.text.markup import MarkedText, Span

KEPT = re.compile(r"<(\d{1,5})/>")
STAYS = re.compile(r"(<\d{1,5}/>)")  # the same, to split by


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a file; spans of bold words and links; and what stands in it as <0/> and stays."""

    text: str
    marks: tuple[Span, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """The languages, for files that name theirs; columns of a table (none: all); a limit."""

    source: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()
    max_bytes: int = 2**26  # of a file, unpacked


Put = Callable[[MarkedText], None]
Unit = tuple[Passage, Put]
Units = Iterable[Unit]
Opened = tuple[Units, Callable[[], bytes]]  # passages with their places, and the file of them all


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter."""
    return any(map(str.isalpha, text))


def text_of(content: bytes | str) -> str:
    """UTF-8, or UTF-16 with its mark, as text without its mark; UserError for other bytes."""
    if isinstance(content, str):
        return content
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(
            f"expected UTF-8 text in the file, got other bytes at {error.start}"
        ) from None
    if "\0" in text:
        raise UserError("expected text in the file, got a zero byte")
    return text


class Slices:
    """A text in slices, some of which are passages; every other character stays as it is."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.units: list[Unit] = []

    def keep(self, text: str) -> None:
        """What stays."""
        self._parts.append(text)

    def translate(self, text: str, passage: Passage, render: Callable[[MarkedText], str]) -> None:
        """A slice and what it says; an unchanged passage leaves the slice unchanged."""
        place = len(self._parts)
        self._parts.append(text)

        def put(marked: MarkedText) -> None:
            if plain(marked) != passage.text:
                self._parts[place] = render(marked)

        self.units.append((passage, put))

    def translate_plain(self, text: str, passage: str, render: Callable[[str], str]) -> None:
        """A slice that says a text without marks; one without words stays."""
        if has_words(passage):
            self.translate(text, Passage(passage), lambda marked: render(plain(marked)))
        else:
            self.keep(text)

    def opened(self) -> Opened:
        """The passages, and the text with their translations in UTF-8."""
        return self.units, lambda: "".join(self._parts).encode()


def plain(marked: Sequence[tuple[str, int | None]]) -> str:
    """The text without its marks."""
    return "".join(text for text, _ in marked)
