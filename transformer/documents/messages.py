"""Messages of ICU (MessageFormat): the text of each branch is a passage of its own.

Arguments, `#` and what is quoted stay in their sentence as <0/>; keywords and selectors stay where
they are. A message whose translation would not parse into the same parts stays as it was.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from transformer.documents.passages import ICU_ARGUMENT, InlineContent, Setter, Unit
from transformer.text.markup import MarkedText

_SIGNS = "$#%"  # ahead of an argument they are a part of it, in templates
# An apostrophe that what follows would give a meaning: in the last text, and in any other.
_MEANING = {True: re.compile(r"'(?=')"), False: re.compile(r"'(?='|\Z)")}
_SIMPLE = r"""\{\s*+[\w.-]++\s*+(?:,\s*+(?:number|date|time|spellout|ordinal|duration|choice)\s*+
    (?:,(?:[^{}']++|'[^']*+')*+)?+)?+\}"""
_BEGIN = r"""\{\s*+[\w.-]++\s*+,\s*+(?P<type>plural|selectordinal|select)\s*+,\s*+
    (?:offset:\s*+\d++(?=\s))?+"""
_BRANCH = re.compile(r"\s*+(?:(?P<selector>[^\s{}',#]++)\s*+(?P<open>\{)|(?P<close>\}))")


def _text(signs: str) -> re.Pattern[str]:
    """What a text in which these signs mean something begins with."""
    return re.compile(
        rf"(?P<text>(?:[^'{signs}]++|''|'(?![{signs}]))++)"
        rf"|(?P<stays>'(?:[^']++|'')*+(?:'|\Z)|\#|{_SIMPLE})|(?P<begin>{_BEGIN})|(?P<end>\}})",
        re.VERBOSE,
    )


_IN_PLURAL, _ELSEWHERE = _text("{}\\#"), _text("{}")


@dataclass(slots=True)
class _Piece:
    """A part of the source: text, what stays in its sentence, or what is between sentences."""

    source: str
    kind: str


def _pieces(text: str) -> list[_Piece]:
    """The parts of a message, whose sources joined are the text; none where it is not sound."""
    pieces: list[_Piece] = []
    arguments: list[tuple[bool, set[str]]] = []  # is it or one around it a plural? its selectors
    place, is_said = 0, True
    while place < len(text):
        is_plural = bool(arguments) and arguments[-1][0]
        said = _IN_PLURAL if is_plural else _ELSEWHERE
        match = (said if is_said else _BRANCH).match(text, place)
        kind = match.lastgroup if match else ""
        if not match or (kind == "end" and not arguments):
            return []
        if kind == "begin":
            arguments.append((is_plural or match["type"] != "select", set()))
        elif kind == "open":
            arguments[-1][1].add(match["selector"])
        elif kind == "close" and "other" not in arguments.pop()[1]:
            return []
        is_said = kind in ("text", "stays", "open", "close")
        source, place = match.group(), match.end()
        if kind == "stays" and source[0] == "{" and pieces and pieces[-1].kind == "text":
            before = pieces[-1].source
            pieces[-1].source = before.rstrip(_SIGNS)
            source = before[len(pieces[-1].source) :] + source
        pieces.append(_Piece(source, kind if kind in ("text", "stays") else "between"))
    return [] if arguments else pieces


def _shape(pieces: Sequence[_Piece]) -> list[list[str]]:
    """What is between the sentences of a message, and what stays in each."""
    shape = list[list[str]]([[]])
    for piece in pieces:
        if piece.kind == "between":
            shape += [[piece.source], []]
        elif piece.kind == "stays":
            shape[-1].append(piece.source)
    return [sorted(own) for own in shape]


class Message:
    """A text with arguments, if it is a sound one: the passages in it, and what it then says."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = _pieces(text) if "{" in text else []
        if all(piece.source.lstrip(_SIGNS)[:1] != "{" for piece in self._pieces):
            self._pieces = []  # no argument
        said = "".join(piece.source for piece in self._pieces if piece.kind == "text")
        self._is_doubled = "''" in said or ("'" not in said and bool(ICU_ARGUMENT.search(text)))
        self._shape = _shape(self._pieces)
        self.units: list[Unit] = []
        for is_between, own in groupby(self._pieces, lambda piece: piece.kind == "between"):
            if not is_between:
                self._read([*own])

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def _read(self, own: Sequence[_Piece]) -> None:
        line = InlineContent(
            (piece.source.replace("''", "'") if piece.kind == "text" else None, False, piece)
            for piece in own
        )

        def put(marked: MarkedText) -> None:
            for _, parts in line.render(marked):
                self._write(own, parts)

        if line.passage.is_translatable:
            self.units.append((line.passage, put))

    def _write(self, own: Sequence[_Piece], parts: Sequence[str | _Piece]) -> None:
        """A sentence's parts in place of its own; no apostrophe of its texts begins a quotation."""
        said = []
        for number, part in enumerate(parts, 1):
            if isinstance(part, _Piece):
                said.append(part.source)
            elif self._is_doubled:
                said.append(part.replace("'", "''"))
            else:
                is_end = number == len(parts) and own[-1] is self._pieces[-1]
                said.append(_MEANING[is_end].sub("''", part))
        for piece in own:
            piece.source = ""
        own[0].source = "".join(said)

    def text_units(self, say: Callable[[str], None]) -> Iterator[Unit]:
        """Its passages; with the last that is translated the whole message is said again."""
        yield from self.units[:-1]
        for passage, put in self.units[-1:]:
            yield passage, partial(self._say, put, say)

    def _say(self, put: Setter, say: Callable[[str], None], marked: MarkedText) -> None:
        put(marked)
        say(self.written())

    def written(self) -> str:
        """The message with the translations that it got."""
        text = "".join(piece.source for piece in self._pieces)
        return text if _shape(_pieces(text)) == self._shape else self.text
