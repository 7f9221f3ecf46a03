"""XML files whose every byte stays but for their texts: expat says where each piece stands."""

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from xml.parsers import expat

from transformer.config import UserError
from transformer.documents import edits, html
from transformer.documents.html import MarkupRules
from transformer.documents.passages import Metadata, Parsed, Unit
from transformer.documents.tokens import Token, attribute_values, replace_attributes, tokenize

CDATA = "<![CDATA[", "]]>"
_has_bare = functools.lru_cache(maxsize=1)(re.compile(r"&(?!#?\w+;)").search)


def tokens_of(text: str) -> list[Token]:
    """The pieces of a file, whose sources joined are the text; UserError where it is not sound."""
    content, parser = text.encode(errors="surrogatepass"), expat.ParserCreate("utf-8")
    begun: list[tuple[int, str, str]] = []  # where, kind, name
    said: dict[int, list[str]] = {}  # of CDATA, by its number
    inside = [""]  # a document type, or CDATA

    def begin(kind: str, name: str = "") -> None:
        if inside[-1] != "type" and not (kind == "text" == (begun and begun[-1][1])):
            begun.append((parser.CurrentByteIndex, kind, name))

    def characters(data: str) -> None:
        if inside[-1] == "cdata":
            said[len(begun) - 1].append(data)
        else:
            begin("text")

    def end(name: str) -> None:
        place, kind, _ = begun[-1]
        if kind == "open" and content.endswith(b"/>", place, parser.CurrentByteIndex):
            begun[-1] = (place, "empty", name)
        else:
            begin("close", name)

    def cdata() -> None:
        begin("cdata")
        said[len(begun) - 1] = []
        inside.append("cdata")

    def other(data: str) -> None:
        begin("block" if data == "<!DOCTYPE" else "text")
        if data == "<!DOCTYPE":
            inside.append("type")

    def entity(*args: object) -> None:
        raise UserError("expected XML without entities of its own in the file")

    parser.StartElementHandler = lambda name, attributes: begin("open", name)
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.XmlDeclHandler = lambda version, encoding, alone: begin("kept")
    parser.CommentHandler = lambda data: begin("kept")
    parser.ProcessingInstructionHandler = lambda target, data: begin("kept")
    parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = cdata, inside.pop
    parser.DefaultHandler, parser.EndDoctypeDeclHandler = other, inside.pop
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UserError(f"expected sound XML: {error}") from None
    ends = [*(place for place, _, _ in begun[1:]), len(content)]
    return [
        Token(
            content[place:end].decode(errors="surrogatepass"), "text", decoded="".join(said[number])
        )
        if kind == "cdata"
        else Token(content[place:end].decode(errors="surrogatepass"), kind, name)
        for number, ((place, kind, name), end) in enumerate(zip(begun, ends, strict=True))
    ]


class Elements:
    """The elements of a file, and what is added behind some of them."""

    def __init__(self, text: str, rules: MarkupRules) -> None:
        self.rules = rules
        self.tokens = html.merge_untranslatable(tokens_of(text), rules)
        self.units: list[Unit] = []
        self._ends = html.matching_ends(self.tokens, range(len(self.tokens)))
        self._added: dict[int, list[Token]] = {}

    def find(
        self, *names: str, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Where those with such a name begin and end, but for what is inside of them."""
        done = start
        for place in range(start, len(self.tokens) if stop is None else stop):
            token = self.tokens[place]
            if token.name in names and place >= done and token.kind in ("open", "empty"):
                done = self.end(place)
                yield place, done

    def end(self, start: int) -> int:
        """Where an element ends."""
        return self._ends.get(start, start)

    def next_place(self, place: int) -> int:
        """What follows a token, white space and comments apart."""
        later = range(place + 1, len(self.tokens))
        return next((p for p in later if not self._is_between(self.tokens[p])), place)

    @staticmethod
    def _is_between(token: Token) -> bool:
        return not token.source.strip() or token.source.startswith("<!--")

    def attributes(self, place: int) -> dict[str, str]:
        """The attributes of an element, their names in small letters."""
        return attribute_values(self.tokens[place].source)

    def set(self, place: int, **values: str) -> None:
        """Gives attributes that an element has other values."""
        token = self.tokens[place]
        token.source = replace_attributes(token.source, values)

    def source(self, start: int, stop: int) -> str:
        """The sources of some tokens."""
        return "".join(token.source for token in self.tokens[start:stop])

    def clear(self, start: int, stop: int) -> None:
        """Leaves out some tokens."""
        for token in self.tokens[start:stop]:
            token.source = ""

    def translate(self, start: int, stop: int) -> None:
        """Translates what stands between two places."""
        pieces = []
        for place in range(start, stop):
            inside = _inside(self.tokens[place])
            if inside:
                self.clear(place, place + 1)
                self._added[place] = inside
            pieces += inside or [self.tokens[place]]
        self.units += text_units(pieces, self.rules) or html.extract_units(pieces, self.rules)

    def insert_copy(
        self, place: int, first: int, stop: int, before: str = "", behind: str = ""
    ) -> list[Token]:
        """Puts a copy of tokens behind a place, and something around it."""
        copies = [
            piece
            for token in self.tokens[first:stop]
            for piece in _inside(token) or [replace(token)]
        ]
        self._added[place] = [Token(before, "block"), *copies, Token(behind, "block")]
        return copies

    def parsed(self, metadata: Metadata = Metadata()) -> Parsed[str]:  # noqa: B008
        """The passages, and the file with what was added."""
        return Parsed(
            self.units,
            lambda: "".join(
                written.source
                for place, token in enumerate(self.tokens)
                for written in (token, *self._added.get(place, ()))
            ),
            metadata,
        )


def _inside(token: Token) -> list[Token]:
    """The pieces of a CDATA section with tags in it, as of a page; else none."""
    if token.decoded is None:
        return []
    inside = [*tokenize(token.source[len(CDATA[0]) : -len(CDATA[1])], is_xml=False)]
    is_page = any(piece.kind != "text" for piece in inside)
    return [Token(CDATA[0], "block"), *inside, Token(CDATA[1], "block")] if is_page else []


def text_units(tokens: list[Token], rules: MarkupRules) -> list[Unit]:
    """The passages of a text alone, which may be a message or have a letter that chooses it."""
    if [token.kind for token in tokens] != ["text"]:
        return []
    source = tokens[0].source

    def say(text: str) -> None:
        tokens[0].source = source if text == said else rules.escape(text, source)

    said = tokens[0].text
    return edits.text_units(said, say)


def escape_text(text: str, source: str) -> str:
    """A text as XML, in CDATA where that was its source."""
    if source.startswith(CDATA[0]) and CDATA[1] not in text:
        return text.join(CDATA)
    if _has_bare(source):  # only in a CDATA section with tags
        return text.replace("<", "&lt;").replace("]]>", "]]&gt;")
    return escape(text, quote=False)
