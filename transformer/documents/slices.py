"""Texts of which some slices are translated: values, entries of catalogues, lines."""

import re
from collections.abc import Callable

from transformer.documents.messages import Message
from transformer.documents.passages import (
    KEPT,
    About,
    Line,
    Passage,
    Told,
    Unit,
    Written,
    has_words,
    saying,
)
from transformer.text.markup import MarkedText

# The sign ahead of the letter that chooses an entry of a menu: &File, E&xit, _File.
_ACCELERATOR = re.compile(
    r"(?:^|(?<=[\s(]))[&_](?=[^\W\d_])(?!\w++[;_])|(?<=[A-Za-z])&(?=[a-z])(?!\w++;)|(?<=\b[A-Z])_(?=[a-z])"
)
_LETTER = re.compile(r"[^\W\d_]")


def spoken(said: str, say: Callable[[str], None]) -> list[Unit]:
    """The passages of a text or a message, if it has words; it is said again with the last."""
    message = Message(said)
    if message.units:
        return [*message.spoken(say)]
    if message or not has_words(said):
        return []
    signs = [*_ACCELERATOR.finditer(said)]
    if len(signs) != 1 or said.count(signs[0].group()) != 1:
        return [(Passage(said), saying(say))]
    sign = signs[0].group()
    plain = said.replace(sign, "")

    def say_again(text: str) -> None:
        say(said if text == plain else _LETTER.sub(lambda letter: sign + letter[0], text, count=1))

    return [(Passage(plain), saying(say_again))]


class Source(str):
    """What stays in a line as it is written."""


class Slices:
    """A text of which some slices are passages; every other character stays as it is."""

    def __init__(self, text: str) -> None:
        self._text, self._parts = text, list[str]()
        self.units: list[Unit] = []
        self.end = 0  # of the last slice

    def replace(self, start: int, stop: int, text: str) -> int:
        """Writes another text behind the last slice; gives its place."""
        self._parts += [self._text[self.end : start], text]
        self.end = stop
        return len(self._parts) - 1

    def translate(self, start: int, stop: int, said: str, render: Callable[[str], str]) -> None:
        """A slice that says a text or a message; without words, or without a change, it stays."""
        source = self._text[start:stop]
        place = len(self._parts) + 1

        def say(text: str) -> None:
            self._parts[place] = source if text == said else render(text)

        if units := spoken(said, say):
            self.replace(start, stop, source)
            self.units += units

    def insert(self, place: int, ahead: str, said: str, render: Callable[[str], str]) -> None:
        """Adds a text that is translated, with something ahead of it, behind the last slice."""
        self.replace(place, place, ahead)
        number = self.replace(place, place, render(said))

        def say(text: str) -> None:
            self._parts[number] = render(text)

        self.units += spoken(said, say)

    def line(
        self, start: int, stop: int, line: Line["Source"], render: Callable[[str], str]
    ) -> None:
        """A slice in which something stays as it is written: what stays in a line are sources."""
        if not has_words(KEPT.sub("", line.passage.text)):
            return
        place = self.replace(start, stop, self._text[start:stop])

        def put(marked: MarkedText) -> None:
            if pieces := line.written(marked):
                own = (part for _, parts in pieces for part in parts)
                self._parts[place] = "".join(
                    part if isinstance(part, Source) else render(part) for part in own
                )

        self.units.append((line.passage, put))

    def written(self, about: About = About()) -> Written:  # noqa: B008
        """The passages, and the text with their translations."""
        rest = self._text[self.end :]
        return Told(self.units, about), lambda: "".join([*self._parts, rest])
