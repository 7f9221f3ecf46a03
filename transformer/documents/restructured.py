"""reStructuredText, as docutils reads it: titles, paragraphs, items, terms, captions and notes.

Roles, references, literals, substitutions and formulas stay, and so do tables, names of fields,
comments and directives but for the text that they hold; emphasis and links are marks. A paragraph
of several lines comes out as one, and the adornments of a title get its length.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from transformer.documents import html
from transformer.documents.passages import Options, Parsed
from transformer.documents.tokens import Token, join_tokens

_LINK = re.compile(r"(`)([^`<]*[^`<\s])(\s*<[^<>]*>`__?)")
_EMPHASIS = re.compile(r"(\*\*?)([^*\\]+)(\*\*?)")
_SIGNS = re.compile(r"[\\*`|]|_(?!\w)")  # they would mean something
_ITEM = re.compile(r"(?=(?:[-*+•]|\(?\w{1,4}[.)]|\.\.|>>>|:\w+:)(?:\s|$))")
_UNDERLINE = re.compile(r"[ \t]*\r?\n(([!-/:-@\[-`{-~])\2*)(?=[ \t]*(?:\r?\n|\Z))")
_OVERLINE = re.compile(r"(([!-/:-@\[-`{-~])\2*)[ \t]*\r?\n[ \t]*\Z")


def _escape(text: str, source: str) -> str:
    text = _SIGNS.sub(r"\\\g<0>", text)
    return "\\" + text if _ITEM.match(text) and not _ITEM.match(source) else text


_RULES = html.MarkupRules(frozenset({"mark"}), escape=_escape)


def parse(text: str, options: Options) -> Parsed[str]:
    """Parse the passages of a reStructuredText file."""
    tokens: list[Token] = []
    end = 0
    for node, is_title in _text_nodes(text):
        places = _places(text, node.rawsource, end)
        if not places or places[0] < end:
            continue
        before, inline = Token(text[end : places[0]], "block"), _inline(node, text, places)
        end = places[-1]
        tokens += [before, *inline]
        if is_title and (under := _UNDERLINE.match(text, end)):
            if over := _OVERLINE.search(before.source[-len(under[1]) - 99 :]):
                before.source = before.source.removesuffix(over[0])
                rest = Token(over[0][len(over[1]) :], "block")
                tokens[-len(inline) : -len(inline)] = [_adornment(over[1], inline), rest]
            tokens.append(Token(text[end : under.start(1)], "block"))
            tokens.append(_adornment(under[1], inline))
            end = under.end(1)
    tokens.append(Token(text[end:], "block"))
    return Parsed([*html.extract_units(tokens, _RULES)], partial(join_tokens, tokens))


def _adornment(line: str, title: list[Token]) -> Token:
    """Return the token of the signs above or below a title's tokens, as long as these."""
    return Token(
        line, "block", render=lambda: line[0] * max(len(line), len(join_tokens(title).strip()))
    )


def _text_nodes(text: str) -> Iterator[tuple[Any, bool]]:
    """Yield the nodes of text of a file in order, and whether each is a title."""
    from docutils import nodes
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = 5  # what it does not know stays
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.syntax_highlight = "none"
    root = new_document("", settings)
    Parser().parse(text, root)
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, (nodes.table, nodes.system_message, nodes.substitution_definition)):
            continue
        is_text = isinstance(node, nodes.TextElement) and node.rawsource
        if is_text and not isinstance(node, nodes.field_name):
            yield node, isinstance(node, nodes.title)
        else:
            stack += [each for each in node.children[::-1] if isinstance(each, nodes.Element)]


def _places(text: str, source: str, end: int) -> list[int]:
    """Return the place in `text` of each character of a block `source`; none if not after `end`."""
    places: list[int] = []
    for line in source.split("\n"):
        at = text.find(line, end)
        if at < 0 or (places and text[end:at].strip()):
            return []
        places += range(at, at + len(line) + 1)
        end = at + len(line)
    return places


def _inline(node: Any, text: str, places: list[int]) -> list[Token]:
    """Return the tokens of a block; a block of code or a comment as one that stays."""
    from docutils import nodes

    source = node.rawsource
    if isinstance(node, nodes.FixedTextElement):
        return [Token(text[places[0] : places[-1]], "block")]
    tokens: list[Token] = []
    end = 0

    def add(stop: int, kind: str) -> None:
        nonlocal end
        if stop > end:
            decoded = re.sub(r"\\(\S)", r"\1", source[end:stop]) if kind == "text" else None
            tokens.append(Token(text[places[end] : places[stop]], kind, "mark", decoded))
        end = stop

    for child in node.children:
        raw = getattr(child, "rawsource", "")
        if isinstance(child, (nodes.Text, nodes.target)) or not raw:
            continue
        at = source.find(raw, end)
        if at < 0:
            break
        add(at, "text")
        if marked := (_EMPHASIS.fullmatch(raw) or _LINK.fullmatch(raw)):
            for group, kind in ((1, "open"), (2, "text"), (3, "close")):
                add(at + marked.end(group), kind)
        else:
            add(at + len(raw), "kept")
    add(len(source), "text")
    return tokens
