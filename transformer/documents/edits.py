"""Edits of a text at known places: values of files, entries of catalogues, lines."""

import re
from collections.abc import Callable

from transformer.documents.messages import parse_message
from transformer.documents.passages import (
    InlineContent,
    Metadata,
    Parsed,
    Unit,
    has_words,
    text_unit,
)
from transformer.text.markup import MarkedText

# The sign ahead of the letter that chooses an entry of a menu: &File, E&xit, _File.
_ACCELERATOR = re.compile(
    r"(?:^|(?<=[\s(]))[&_](?=[^\W\d_])(?!\w++[;_])|(?<=[A-Za-z])&(?=[a-z])(?!\w++;)|(?<=\b[A-Z])_(?=[a-z])"
)
_LETTER = re.compile(r"[^\W\d_]")


def parse_text(text: str) -> Parsed[str]:
    """Parse a text or an ICU message; it has no units if it has no words.

    An accelerator (&File) goes ahead of the first letter of the translation.
    """
    if (message := parse_message(text)) is not None:
        return message
    if not has_words(text):
        return Parsed([], lambda: text)
    signs = [match.group() for match in _ACCELERATOR.finditer(text)]
    sign = signs[0] if len(signs) == 1 and text.count(signs[0]) == 1 else ""
    plain, written = text.replace(sign, ""), text

    def set_text(new: str) -> None:
        nonlocal written
        written = text if new == plain else _LETTER.sub(lambda first: sign + first[0], new, count=1)

    return Parsed([text_unit(plain, set_text)], lambda: written)


class Verbatim(str):
    """A part of a text that stays as it is written."""


class TextEdits:
    """Replacements and translations of parts of a text, in order of place; all else stays."""

    def __init__(self, text: str) -> None:
        self._text, self._parts = text, list[str | Callable[[], str]]()
        self.units: list[Unit] = []
        self.end = 0  # of the last edit

    def replace(self, start: int, stop: int, new: str | Callable[[], str]) -> None:
        """Replace [start:stop] of the original, behind the last edit (unchecked), by `new`.

        A function is called when the whole is written.
        """
        self._parts += [self._text[self.end : start], new]
        self.end = stop

    def translate(self, start: int, stop: int, text: str, escape: Callable[[str], str]) -> None:
        """Add the units (passage, setter) of a part that says `text`; `escape` writes texts.

        The part stays as it is if it has no words or its translation is the same.
        """
        source, parsed = self._text[start:stop], parse_text(text)

        def render() -> str:
            new = parsed.render()
            return source if new == text else escape(new)

        if parsed.units:
            self.replace(start, stop, render)
            self.units += parsed.units

    def insert(self, place: int, prefix: str, text: str, escape: Callable[[str], str]) -> None:
        """Insert `prefix` and `text`, translated and written by `escape`, behind the last edit."""
        parsed = parse_text(text)
        self.replace(place, place, lambda: prefix + escape(parsed.render()))
        self.units += parsed.units

    def translate_inline(
        self, start: int, stop: int, content: InlineContent[Verbatim], escape: Callable[[str], str]
    ) -> None:
        """Add the unit of a part that says `content`, if it has words; `escape` writes texts."""
        if not content.passage.is_translatable:
            return
        written = self._text[start:stop]

        def set_marked(marked: MarkedText) -> None:
            nonlocal written
            if pieces := content.render(marked):
                written = "".join(
                    part if isinstance(part, Verbatim) else escape(part)
                    for _, parts in pieces
                    for part in parts
                )

        self.replace(start, stop, lambda: written)
        self.units.append((content.passage, set_marked))

    def parsed(self, metadata: Metadata = Metadata()) -> Parsed[str]:  # noqa: B008
        """Return the units, with a `render` that writes the text with their translations."""
        rest = self._text[self.end :]

        def render() -> str:
            parts = (part if isinstance(part, str) else part() for part in self._parts)
            return "".join([*parts, rest])

        return Parsed(self.units, render, metadata)
