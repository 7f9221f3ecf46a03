"""Messages of ICU MessageFormat: the text of each branch is a passage of its own.

Arguments, `#` and quoted text become placeholders in their sentence; keywords and selectors stay.
A message whose translation would not parse into the same parts stays as it was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from transformer.documents.passages import ICU_ARGUMENT, InlineContent, Parsed, Unit
from transformer.text.markup import MarkedText

_SIGNS = "$#%"  # ahead of an argument they are a part of it, in templates
# An apostrophe that would begin a quotation: at the end of the message, and before other parts.
_OPENING_QUOTE = {True: re.compile(r"'(?=')"), False: re.compile(r"'(?='|\Z)")}
_SIMPLE = r"""\{\s*+[\w.-]++\s*+(?:,\s*+(?:number|date|time|spellout|ordinal|duration|choice)\s*+
    (?:,(?:[^{}']++|'[^']*+')*+)?+)?+\}"""
_BEGIN = r"""\{\s*+[\w.-]++\s*+,\s*+(?P<type>plural|selectordinal|select)\s*+,\s*+
    (?:offset:\s*+\d++(?=\s))?+"""
_BRANCH = re.compile(r"\s*+(?:(?P<selector>[^\s{}',#]++)\s*+(?P<open>\{)|(?P<close>\}))")


def _text_pattern(signs: str) -> re.Pattern[str]:
    """Return a pattern: groups text (no `signs`), placeholder, begin ({n, plural,) and end (})."""
    return re.compile(
        rf"(?P<text>(?:[^'{signs}]++|''|'(?![{signs}]))++)"
        rf"|(?P<placeholder>'(?:[^']++|'')*+(?:'|\Z)|\#|{_SIMPLE})|(?P<begin>{_BEGIN})|(?P<end>\}})",
        re.VERBOSE,
    )


_IN_PLURAL, _ELSEWHERE = _text_pattern("{}\\#"), _text_pattern("{}")


@dataclass(slots=True)
class _Piece:
    """A part of the source: `text`, a `placeholder` in a sentence, or `syntax` between them."""

    source: str
    kind: str


def _parse(text: str) -> list[_Piece]:
    """Split a message into pieces, whose sources joined are the text; none if it is not sound."""
    pieces: list[_Piece] = []
    arguments: list[tuple[bool, set[str]]] = []  # open ones: whether `#` is syntax, the selectors
    place, in_text = 0, True
    while place < len(text):
        is_plural = bool(arguments) and arguments[-1][0]
        pattern = (_IN_PLURAL if is_plural else _ELSEWHERE) if in_text else _BRANCH
        match = pattern.match(text, place)
        kind = match.lastgroup if match else ""
        if not match or (kind == "end" and not arguments):
            return []
        if kind == "begin":
            arguments.append((is_plural or match["type"] != "select", set()))
        elif kind == "open":
            arguments[-1][1].add(match["selector"])
        elif kind == "close" and "other" not in arguments.pop()[1]:
            return []
        in_text = kind in ("text", "placeholder", "open", "close")
        source, place = match.group(), match.end()
        if kind == "placeholder" and source[0] == "{" and pieces and pieces[-1].kind == "text":
            before = pieces[-1].source
            pieces[-1].source = before.rstrip(_SIGNS)
            source = before[len(pieces[-1].source) :] + source
        pieces.append(_Piece(source, kind if kind in ("text", "placeholder") else "syntax"))
    return [] if arguments else pieces


def _structure(pieces: Sequence[_Piece]) -> list[list[str]]:
    """Return by turns a sentence's sorted placeholders and the syntax behind it, each as a list."""
    structure = list[list[str]]([[]])
    for piece in pieces:
        if piece.kind == "syntax":
            structure += [[piece.source], []]
        elif piece.kind == "placeholder":
            structure[-1].append(piece.source)
    return [sorted(sources) for sources in structure]


def _escape(parts: Sequence[str | _Piece], is_doubled: bool, is_last: bool) -> str:
    """Return the parts of a sentence's translation as they are written in a message.

    With `is_doubled`, as the message doubles its own, every apostrophe of the texts is doubled;
    otherwise only one that would begin a quotation. `is_last`: the sentence ends the message, so
    that an apostrophe at its end begins none.
    """
    written = ""
    for number, part in enumerate(parts, 1):
        if isinstance(part, _Piece):
            written += part.source
        elif is_doubled:
            written += part.replace("'", "''")
        else:
            written += _OPENING_QUOTE[is_last and number == len(parts)].sub("''", part)
    return written


def parse_message(text: str) -> Parsed[str] | None:
    """Parse the sentences of an ICU message; None for one without arguments or unsound."""
    pieces = _parse(text) if "{" in text else []
    if all(piece.source.lstrip(_SIGNS)[:1] != "{" for piece in pieces):
        return None
    structure, units, written = _structure(pieces), list[Unit](), list[str]()
    plain = "".join(piece.source for piece in pieces if piece.kind == "text")
    is_doubled = "''" in plain or ("'" not in plain and bool(ICU_ARGUMENT.search(text)))

    def set_sentence(place: int, content: InlineContent[_Piece], marked: MarkedText) -> None:
        for _, parts in content.render(marked):
            written[place] = _escape(parts, is_doubled, is_last=place == len(written) - 1)

    def render() -> str:
        message = "".join(written)
        return message if _structure(_parse(message)) == structure else text

    for is_syntax, group in groupby(pieces, lambda piece: piece.kind == "syntax"):
        sentence = [*group]
        written.append("".join(piece.source for piece in sentence))
        content = InlineContent(
            (piece.source.replace("''", "'") if piece.kind == "text" else None, False, piece)
            for piece in sentence
        )
        if not is_syntax and content.passage.is_translatable:
            units.append((content.passage, partial(set_sentence, len(written) - 1, content)))
    return Parsed(units, render)
