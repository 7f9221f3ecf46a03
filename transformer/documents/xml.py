"""XML files that keep every byte but their texts: localisation files and memories.

Expat checks that a file is sound; its tokens come from the same scan as those of HTML.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from xml.parsers import expat

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.edits import parse_text
from transformer.documents.html import MarkupRules
from transformer.documents.passages import Metadata, Parsed, Unit
from transformer.documents.tokens import Token, attribute_values, join_tokens, tokenize

CDATA = "<![CDATA[", "]]>"
_has_bare_ampersand = functools.lru_cache(maxsize=1)(re.compile(r"&(?!#?\w+;)").search)


def check_xml(text: str) -> None:
    """Raise UserError for XML that is not well-formed or that declares entities."""

    def refuse_entity(*args: object) -> None:
        raise UserError("expected XML without entities of its own in the file")

    parser = expat.ParserCreate("utf-8")
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(text.encode(errors="surrogatepass"), True)
    except expat.ExpatError as error:
        raise UserError(f"expected sound XML: {error}") from None


class Elements:
    """The elements of an XML file, and copies inserted behind some; a place indexes `tokens`."""

    def __init__(self, text: str, rules: MarkupRules) -> None:
        """Parse the text; UserError for XML that is not well-formed or declares entities."""
        check_xml(text)
        self.rules = rules
        self.tokens = html.merge_untranslatable(tokenize(text, is_xml=True), rules)
        self.units: list[Unit] = []
        self._ends = html.matching_ends(self.tokens, range(len(self.tokens)))

    def find(
        self, *names: str, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Yield the places of the start and end tags of outermost elements with such a name."""
        end = start
        for place in range(start, len(self.tokens) if stop is None else stop):
            token = self.tokens[place]
            if token.name in names and place >= end and token.kind in ("open", "empty"):
                end = self.end(place)
                yield place, end

    def end(self, start: int) -> int:
        """Return the place of an element's end tag; of an empty element it is `start`."""
        return self._ends.get(start, start)

    def next_place(self, place: int) -> int:
        """Return the next place of neither white space nor a comment; `place` if there is none."""
        for later in range(place + 1, len(self.tokens)):
            source = self.tokens[later].source
            if source.strip() and not source.startswith("<!--"):
                return later
        return place

    def attributes(self, place: int) -> dict[str, str]:
        """Return the attributes of an element by their lowercase names."""
        return attribute_values(self.tokens[place].source)

    def source(self, start: int, stop: int) -> str:
        """Return the source of tokens[start:stop]."""
        return "".join(token.source for token in self.tokens[start:stop])

    def clear(self, start: int, stop: int) -> None:
        """Delete the source of tokens[start:stop]."""
        for token in self.tokens[start:stop]:
            token.source = ""

    def translate(self, start: int, stop: int) -> None:
        """Add the units (passage, setter) of tokens[start:stop] to `units`."""
        pieces = []
        for token in self.tokens[start:stop]:
            inside = _cdata_tokens(token)
            if inside:
                token.render = functools.partial(join_tokens, inside)
            pieces += inside or [token]
        self.units += text_units(pieces, self.rules)

    def insert_copy(
        self, place: int, first: int, stop: int, before: str = "", behind: str = ""
    ) -> list[Token]:
        """Let token `place` render also a copy of tokens[first:stop] between texts; return that."""
        copies = [
            piece
            for token in self.tokens[first:stop]
            for piece in _cdata_tokens(token) or [replace(token, render=None)]
        ]
        token = self.tokens[place]
        token.render = lambda: token.source + before + join_tokens(copies) + behind
        return copies

    def fill(self, place: int, first: int, stop: int) -> list[Token]:
        """Let an element render a copy of tokens[first:stop] as all that it holds; return that."""
        token, behind = self.tokens[place], ""
        self.clear(place + 1, self.end(place))
        if token.kind == "empty":
            token.source = f"{token.source.removesuffix('/>').rstrip()}>"
            behind = f"</{token.name}>"
        return self.insert_copy(place, first, stop, behind=behind)

    def parsed(self, metadata: Metadata = Metadata()) -> Parsed[str]:  # noqa: B008
        """Return the units, with a `render` that writes the file with their translations."""
        return Parsed(self.units, lambda: join_tokens(self.tokens), metadata)


def _cdata_tokens(token: Token) -> list[Token]:
    """Return the tokens of a CDATA section that holds HTML; none of other tokens."""
    if token.kind != "text" or not token.source.startswith(CDATA[0]):
        return []
    inside = [*tokenize(token.source[len(CDATA[0]) : -len(CDATA[1])], is_xml=False)]
    is_html = any(piece.kind != "text" for piece in inside)
    return [Token(CDATA[0], "block"), *inside, Token(CDATA[1], "block")] if is_html else []


def text_units(tokens: Sequence[Token], rules: MarkupRules) -> Iterable[Unit]:
    """Return the units of `tokens`: of a single text, maybe with an accelerator, or of lines."""
    kinds = [token.kind for token in tokens]
    if kinds == ["text"] and (parsed := parse_text(tokens[0].text)).units:
        return html.token_units(tokens[0], parsed, rules)
    return html.extract_units(tokens, rules)


def escape_text(text: str, source: str) -> str:
    """Return a text as XML: in a CDATA section where its source was one, if it has no ]]>.

    If the source, then a piece of HTML in such a section, has a bare &, no & is escaped.
    """
    if source.startswith(CDATA[0]) and CDATA[1] not in text:
        return text.join(CDATA)
    if _has_bare_ampersand(source):  # only in a CDATA section that holds HTML
        return text.replace("<", "&lt;").replace("]]>", "]]&gt;")
    return escape(text, quote=False)
