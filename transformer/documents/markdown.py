"""Markdown: its paragraphs, headings and cells, as markdown-it reads them, line by line.

Code, fences, addresses, HTML in a paragraph, formulas, tags of templates, pictures with their texts
and the head of a file but its title and description stay; bold words and links are marks. A
paragraph of several lines comes out as one.
"""

import contextlib
import functools
import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from transformer.config import UserError
from transformer.documents import html, values
from transformer.documents.edits import TextEdits
from transformer.documents.passages import Options, Parsed, Unit
from transformer.documents.tokens import TEMPLATE, Token, join_tokens

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token as MarkdownToken

_HEAD = re.compile(
    r"(---|\+\+\+)[ \t]*\r?\n(?=\S)(?P<inside>(?:(?!\1)[^\n]*+\n)*+)\1[ \t]*(?:\r?\n|\Z)"
)
_HEADINGS = "title", "description"  # of a head, which are read
# Notes, attributes, variables, formulas and tasks are signs to other readers of Markdown.
_BOX = r"\[!\w++\]|(?:!!!|\?\?\?\+?)[ \t]++[\w-]++|:{3,}+[ \t]*+[\w-]*+"  # begins a line, or is one
_VALUE = r"""(?:"[^"\n]*+"|'[^'\n]*+'|[^\s[\]"']++)"""
_SHORT = rf"\[/[a-z][\w-]*+\]|\[[a-z][\w-]*+(?:\s++[\w-]++={_VALUE})++\s*+/?\](?![(\[:])"
_SIGNS = re.compile(
    rf"(?<![^\n])(?:{_BOX})|{TEMPLATE}|{_SHORT}|"
    r"\[\^[^\]\s]++\]:?|\[[ xX]\](?=\s)|\{[#.:%][^{}\n]*+\}"
    r"|\$\$[^$]++\$\$|\$(?=\S)[^$\n]*[^$\s]\$(?!\d)"
    r"|\\begin\{(?P<formula>\w++\*?)\}[\s\S]{0,2000}?\\end\{(?P=formula)\}"
    r"|!?\[\[(?:[^\[\]|\n]++\|(?P<label>[^\[\]|\n]++)|[^\[\]\n]++)\]\](?!\()"  # of a wiki
    r"|==(?P<marked>(?![\s=])[^=\n]++(?<!\s))==(?!=)"
)
_OWN = re.compile(rf"(?:{TEMPLATE}|{_SHORT})[ \t]*+(?:\n|\Z)")  # alone on a line
_LINE = re.compile(rf"\[[^\[\]\n]++\]:|:\s|{_BOX}")  # or a note, an address, a definition
_BOXED = re.compile(_BOX)
_TARGET = r"""(?:\((?:[^()"'\\\n]++|\\.|"[^"]*+"|'[^']*+'|\([^()]*+\)|['"])*+\)|\[[^\[\]]*+\])?+"""
_LINK_END = re.compile(rf"\]{_TARGET}")
_IMAGE = re.compile(rf"!\[(?:[^\[\]\\]++|\\.|\[[^\[\]]*+\])*+\]{_TARGET}")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_STAYING = {"code_inline": _CODE, "image": _IMAGE}
_LINE_END = re.compile(r"\n|\r(?!\n)")
_BREAK = re.compile(r" *+\\?\n[ \t]*+")
_BLOCK = re.compile(r"(?m)^([-+*#>]+|\d{1,9})(?=[.)]?\s)")  # no space ahead: a line's beginning


def _verbatim_rule(state: "StateInline", silent: bool) -> bool:
    """Parse syntax of other dialects, which stays; return False if none (a markdown-it rule)."""
    match = _SIGNS.match(state.src, state.pos)
    if match is None:
        return False
    name = "label" if match["label"] else "marked"
    if not silent and match[name]:
        state.push("signs_open", "", 1).markup = state.src[state.pos : match.start(name)]
        end, (state.pos, state.posMax) = state.posMax, match.span(name)
        state.md.inline.tokenize(state)
        state.posMax = end
        state.push("signs_close", "", -1).markup = state.src[match.end(name) : match.end()]
    elif not silent:
        state.push("verbatim", "", 0).content = match.group()
    state.pos = match.end()
    return True


def _escape(text: str, source: str) -> str:
    """Escape the signs of Markdown in a translation of `source`, the text in the file.

    Signs that `source` has without a backslash stay.
    """
    signs = [sign for sign in "`*_[]<|" if sign not in source or f"\\{sign}" in source]
    text = re.sub(r"\\(?=[!-/:-@\[-`{-~])", r"\\\\", text)
    text = re.sub(r"&(?=#?\w++;)", "&amp;", text)
    for sign in signs:
        text = text.replace(sign, f"\\{sign}")
    if _BLOCK.match(source):
        return text
    return _BLOCK.sub(lambda m: m[1] + "\\" if m[1].isdigit() else "\\" + m[1], text)


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    parser.inline.ruler.before("text", "verbatim", _verbatim_rule)
    return parser


MARKDOWN = html.MarkupRules(
    inline=frozenset({"strong", "em", "s", "link", "signs"}), escape=_escape
)


def _front_matter(inside: str, is_yaml: bool, options: Options) -> Parsed[str]:
    """Parse title and description of front matter, YAML or else TOML; none if it is not sound."""
    names = [name for name in _HEADINGS if re.search(rf"^{name}\b", inside, re.MULTILINE)]
    edits, known = TextEdits(inside), dict[str, Any]()
    with contextlib.suppress(UserError, ValueError, RecursionError):
        if is_yaml and names:
            return values.parse_yaml(inside, replace(options, columns=tuple(names)))
        known = {} if is_yaml else tomllib.loads(inside.replace("\r\n", "\n"))
    escape = functools.partial(json.dumps, ensure_ascii=False)
    for value in (known[name] for name in sorted(names, key=inside.find) if name in known):
        for source in (escape(value), f"'{value}'") if isinstance(value, str) else ():
            if (start := inside.find(source, edits.end)) >= 0:
                edits.translate(start, start + len(source), value, escape)
    return edits.parsed()


def parse(text: str, options: Options) -> Parsed[str]:
    """Parse the paragraphs, headings, cells and HTML blocks of a Markdown file."""
    head = _HEAD.match(text)
    start = head.end() if head else 0
    end = 0
    offsets = [start, *(line_end.end() for line_end in _LINE_END.finditer(text, start))]
    offsets.append(len(text) + 1)
    tokens: list[Token] = []
    units: list[Unit] = []

    def add_nested(first: int, stop: int, parsed: Parsed[str]) -> None:
        nonlocal end
        units.extend(parsed.units)
        nested = Token(text[first:stop], "block", render=parsed.render)
        tokens.extend([Token(text[end:first], "block"), nested])
        end = stop

    if head:
        add_nested(*head.span("inside"), _front_matter(head["inside"], head[1] == "---", options))
    for token in _parser().parse(text[start:]):
        if token.type == "html_block" and token.map and not token.level:
            first, stop = (min(offsets[line], len(text)) for line in token.map)
            add_nested(first, stop, html.parse(text[first:stop], options))
        is_text = token.type == "inline" and token.map and token.content.strip()
        if is_text and (places := _places(token, text, offsets, end)):
            tokens.append(Token(text[end : places[0]], "block"))
            tokens += _inline_tokens(token, text, places)
            end = places[-1]
    tokens.append(Token(text[end:], "block"))
    units += html.extract_units(tokens, MARKDOWN)
    return Parsed(units, lambda: join_tokens(tokens))


def _places(token: "MarkdownToken", text: str, offsets: list[int], end: int) -> list[int]:
    """Return the place in `text` of each character of a token's content, and of its end.

    The list is empty if the content is not found after `end`; `offsets` are the starts of lines.
    """
    places: list[int] = []
    first, last = token.map or (0, 0)
    for row, line in enumerate(token.content.split("\n"), first):
        row = min(row, last - 1)
        start, stop, step = max(end, offsets[row]), offsets[row + 1], 1
        place = text.find(line, start, stop)
        if place < 0:  # in a cell of a table a bar has a backslash
            place, step = text.find(line.replace("|", "\\|"), start, stop), 2
        if place < 0:
            return []
        steps = (step if char == "|" else 1 for char in line)
        places += itertools.accumulate(steps, initial=place)
        end = places[-1]
    return places


def _inline_tokens(token: "MarkdownToken", text: str, places: list[int]) -> list[Token]:
    """Return a paragraph's tokens, by its `_places`; one text token if a part was not found."""
    content = token.content
    tokens: list[Token] = []
    end = 0
    for kind, name, start, stop, decoded in _spans(token.children or [], content):
        if start < end or stop < start:
            return [Token(text[places[0] : places[-1]], "text", decoded=content)]
        source = text[places[end] : places[stop]]
        if kind == "text" and tokens and tokens[-1].kind == "text":
            tokens[-1].source += source
            tokens[-1].decoded = (tokens[-1].decoded or "") + decoded
        else:
            tokens.append(Token(source, kind, name, decoded))
        end = stop
    tail = text[places[end] : places[-1]]
    return [*tokens, Token(tail, "block")] if tail else tokens


def _spans(
    children: "list[MarkdownToken]", content: str
) -> Iterator[tuple[str, str, int, int, str]]:
    """Yield (kind, name, start, end, text) of each part of a paragraph's `content`.

    The kind is one of a `Token`: text, open, close, kept or block (a line break that stays). The
    name is markdown-it's, as em, link or code_inline. The text is what a reader sees: * for \\* or
    &#42;, a space for a line break; of a kept part its content, as code without backticks; else "".
    The end of a part that was not found is -1; the spans after it mean nothing.
    """
    end = 0
    following = iter(children)
    for child in following:
        kind, decoded, start = "text", child.content, end
        name = child.type.removesuffix("_open").removesuffix("_close")
        if child.markup == "autolink":
            next(following), next(following)  # its text and its end
            kind, end = "kept", content.find(">", end) + 1
        elif child.type in ("text", "text_special"):
            source = child.markup if child.type == "text_special" else decoded
            start = content.find(source, end)
            end = start + len(source) if start >= 0 else -1
        elif child.type in ("softbreak", "hardbreak"):
            end = _match_end(_BREAK, content, end)
            line = content.rfind("\n", 0, start) + 1
            is_own = _LINE.match(content, end) or _BOXED.match(content, line)
            is_own = is_own or _OWN.match(content, end) or _OWN.match(content, line)
            is_text = child.type == "softbreak" and not is_own
            kind, decoded = ("text", " ") if is_text else ("block", "")
        elif child.type in _STAYING:
            kind, end = "kept", _match_end(_STAYING[child.type], content, end)
        elif child.type in ("html_inline", "verbatim"):
            kind, end = "kept", end + len(decoded)
        elif child.type == "link_close":
            kind, end = "close", _match_end(_LINK_END, content, end)
        else:
            kind, end = "close" if child.nesting < 0 else "open", end + len(child.markup or "[")
        if child.type != "text" or decoded:
            yield kind, name, start, end, decoded


def _match_end(pattern: re.Pattern[str], content: str, start: int) -> int:
    match = pattern.match(content, max(0, start))
    return match.end() if match else -1
