"""Texts of which some slices are translated: values, entries of catalogues, lines."""

from collections.abc import Callable

from transformer.documents.messages import Message
from transformer.documents.passages import Passage, Unit, Written, has_words, saying


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
        message = Message(said)
        if not message.units and (message or not has_words(said)):
            return
        source = self._text[start:stop]
        place = self.replace(start, stop, source)

        def say(text: str) -> None:
            self._parts[place] = source if text == said else render(text)

        self.units += message.spoken(say) if message.units else [(Passage(said), saying(say))]

    def written(self) -> Written:
        """The passages, and the text with their translations."""
        rest = self._text[self.end :]
        return self.units, lambda: "".join([*self._parts, rest])
