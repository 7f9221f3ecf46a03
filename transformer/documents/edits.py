"""Edits of a text at known places: values of files, entries of catalogues, lines."""

import re
from collections.abc import Callable

from transformer.documents.messages import message_units
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


def text_units(text: str, set_text: Callable[[str], None]) -> list[Unit]:
    """Return the units (passage, setter) of a text or an ICU message; none, if it has no words.

    `set_text` gets the whole text again with the last translation. An accelerator (&File) goes
    ahead of the first letter of the translation.
    """
    if (units := message_units(text, set_text)) is not None:
        return units
    if not has_words(text):
        return []
    signs = [*_ACCELERATOR.finditer(text)]
    if len(signs) != 1 or text.count(sign := signs[0].group()) != 1:
        return [text_unit(text, set_text)]
    plain = text.replace(sign, "")

    def set_with_sign(new: str) -> None:
        set_text(text if new == plain else _LETTER.sub(lambda first: sign + first[0], new, count=1))

    return [text_unit(plain, set_with_sign)]


class Verbatim(str):
    """A part of a text that stays as it is written."""


class TextEdits:
    """Replacements and translations of parts of a text, in order of place; all else stays."""

    def __init__(self, text: str) -> None:
        self._text, self._parts = text, list[str | Callable[[], str]]()
        self.units: list[Unit] = []
        self.end = 0  # of the last edit

    def replace(self, start: int, stop: int, new: str | Callable[[], str]) -> int:
        """Replace a part behind the last edit by `new` or its result; return its `_parts` index."""
        self._parts += [self._text[self.end : start], new]
        self.end = stop
        return len(self._parts) - 1

    def translate(self, start: int, stop: int, text: str, escape: Callable[[str], str]) -> None:
        """Add the units (passage, setter) of a part that says `text`; `escape` writes texts.

        The part stays as it is if it has no words or its translation is the same.
        """
        source = self._text[start:stop]
        index = len(self._parts) + 1

        def set_text(new: str) -> None:
            self._parts[index] = source if new == text else escape(new)

        if units := text_units(text, set_text):
            self.replace(start, stop, source)
            self.units += units

    def insert(self, place: int, prefix: str, text: str, escape: Callable[[str], str]) -> None:
        """Insert `prefix` and `text`, translated and written by `escape`, behind the last edit."""
        self.replace(place, place, prefix)
        index = self.replace(place, place, escape(text))

        def set_text(new: str) -> None:
            self._parts[index] = escape(new)

        self.units += text_units(text, set_text)

    def translate_inline(
        self, start: int, stop: int, content: InlineContent[Verbatim], escape: Callable[[str], str]
    ) -> None:
        """Add the unit of a part that says `content`, if it has words; `escape` writes texts."""
        if not content.passage.is_translatable:
            return
        index = self.replace(start, stop, self._text[start:stop])

        def set_marked(marked: MarkedText) -> None:
            if pieces := content.render(marked):
                self._parts[index] = "".join(
                    part if isinstance(part, Verbatim) else escape(part)
                    for _, parts in pieces
                    for part in parts
                )

        self.units.append((content.passage, set_marked))

    def parsed(self, metadata: Metadata = Metadata()) -> Parsed[str]:  # noqa: B008
        """Return the units, with a `render` that writes the text with their translations."""
        rest = self._text[self.end :]

        def render() -> str:
            parts = (part if isinstance(part, str) else part() for part in self._parts)
            return "".join([*parts, rest])

        return Parsed(self.units, render, metadata)
