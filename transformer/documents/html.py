"""HTML and XML: the lines of text between their tags, and the texts in their attributes.

A line is what is read as one: text with simple elements (bold words, links) as its marks, and
with code and pictures, which stay, as <0/>. Tags, comments and scripts stay as they are.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import NamedTuple

from transformer.config import UserError
from transformer.documents.messages import parse_message
from transformer.documents.passages import (
    InlineContent,
    Options,
    Parsed,
    Unit,
    has_words,
    text_unit,
)
from transformer.documents.tokens import (
    TAG,
    TEMPLATES,
    Token,
    attribute_values,
    join_tokens,
    replace_attribute,
    tokenize,
)
from transformer.text.markup import MarkedText

_ENTITIES = re.compile(r"\s*+(?:<[?!](?!DOCTYPE)[^>]*+>\s*+)*+<!DOCTYPE[^>\[]*+\[")
_BLANKS = " \t\r\n\f"
_SPACE = re.compile(rf"[{_BLANKS}]+")
_NESTING = {"open": 1, "close": -1}
MAX_NESTED = 8  # simple elements around one text


@dataclass(frozen=True, slots=True)
class MarkupRules:
    """The rules of a markup language: what its elements and attributes mean.

    `inline` elements may be marks of a passage; `untranslatable` ones stay with all that they hold;
    `attributes` have texts. Only `text_elements` hold text, or all if none; `nested` ones, in a
    line, have texts of their own. An element with `computed_attribute`, of an office program,
    stays. `escape` writes a text, given the source that it replaces. `is_xml`: it is read as XML,
    not HTML. `preserve_space`: no run of white space is read as one space.
    """

    inline: frozenset[str]
    untranslatable: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    text_elements: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    computed_attribute: str = ""
    is_xml: bool = True
    escape: Callable[[str, str], str] = lambda text, source: escape(text, quote=False)
    preserve_space: bool = False


def _escape_html(text: str, source: str) -> str:
    text = escape(text, quote=False)
    return text.replace("\xa0", "&nbsp;") if "&nbsp;" in source else text


_INLINE = """a abbr b bdi bdo big cite del dfn em font i ins label mark q s small span strong sub
    sup time tt u"""
_STAYING = "code kbd samp var math img wbr object audio video canvas"
_METAS = {"description", "keywords", "og:title", "og:description", "og:image:alt",
          "twitter:title", "twitter:description", "twitter:image:alt"}  # fmt: skip
_BLOCKS = {"script", "style", "template", "xmp", "iframe", "noembed", "noframes"}
HTML = MarkupRules(
    inline=frozenset(_INLINE.split()),
    untranslatable=frozenset(_STAYING.split()) | _BLOCKS,
    attributes=frozenset({"alt", "title", "placeholder", "aria-label", "label"}),
    nested=frozenset({"svg"}),
    is_xml=False,
    escape=_escape_html,
)
XHTML = replace(HTML, is_xml=True)


def parse(text: str, options: Options, rules: MarkupRules = HTML) -> Parsed[str]:
    """Parse a page or a part of one; UserError for XML that declares entities.

    Units of nested elements and attributes come first, as their tokens go into lines.
    """
    if rules.is_xml and _ENTITIES.match(text):
        raise UserError("expected XML without entities of its own in the file")
    tokens = merge_untranslatable(tokenize(text, rules.is_xml), rules, options.source)
    units: list[Unit] = []
    for token in tokens:
        if token.kind == "kept" and token.name in rules.nested:
            nested = parse(token.source, options, replace(rules, nested=frozenset()))
            token.render = nested.render
            units += nested.units
    units += _attribute_units(tokens, rules, options)
    units += extract_units(tokens, rules)
    return Parsed(units, lambda: join_tokens(tokens))


def merge_untranslatable(
    tokens: Iterable[Token], rules: MarkupRules, source: str = ""
) -> list[Token]:
    """Merge the tokens of each element that stays into one.

    Given a `source` language, inline elements that name another one stay too.
    """
    merged: list[Token] = []
    inside: list[Token] = []
    depth = 0
    for token in tokens:
        if not inside and not _is_untranslatable(token, rules, source):
            merged.append(token)
            continue
        inside.append(token)
        if token.name == inside[0].name:
            depth += _NESTING.get(token.kind, 0)
        if depth == 0:
            merged.append(_merge(inside, rules))
            inside = []
    return [*merged, _merge(inside, rules)] if inside else merged


def _is_untranslatable(token: Token, rules: MarkupRules, source: str) -> bool:
    if token.kind not in ("open", "empty"):
        return False
    if token.name in rules.untranslatable or token.name in rules.nested:
        return True
    if rules.computed_attribute and f" {rules.computed_attribute}=" in token.source:
        return True
    if "translate" not in token.source and "lang" not in token.source:
        return False
    values = attribute_values(token.source)
    if source and token.name in rules.inline:  # templates often name a wrong one for the page
        own = values.get("lang", values.get("xml:lang", "")).lower().split("-")[0]
        if own not in ("", source):
            return True
    return "notranslate" in values.get("class", "").split() or values.get("translate") == "no"


def _merge(tokens: Sequence[Token], rules: MarkupRules) -> Token:
    name = tokens[0].name
    is_known = name in rules.untranslatable or name in rules.nested
    is_inline = name in rules.inline or (is_known and name not in _BLOCKS)
    return Token(join_tokens(tokens), "kept" if is_inline else "block", name)


class _Item(NamedTuple):
    """A part of a line: a text, a token that stays, or a simple element with its text inside."""

    tokens: Sequence[Token]
    text: Token | None

    @property
    def is_mark(self) -> bool:
        return self.text is not None and len(self.tokens) > 1


def extract_units(tokens: Sequence[Token], rules: MarkupRules) -> Iterator[Unit]:
    """Yield the units (passage, setter) of the lines between block tokens."""
    for run, keep_space in _inline_runs(tokens, rules):
        line: list[_Item] = []
        ends = matching_ends(tokens, run)
        place = run.start
        while place < run.stop:
            last = min(ends.get(place, place), place + 2 * MAX_NESTED + 1)
            item = _item(tokens[place : last + 1])
            if item is None:
                yield from _line_units(line, rules, keep_space)
                line = []
                place += 1
            else:
                line.append(item)
                place += len(item.tokens)
        yield from _line_units(line, rules, keep_space)


def _inline_runs(tokens: Sequence[Token], rules: MarkupRules) -> Iterator[tuple[range, bool]]:
    """Yield runs of text and inline elements, and whether white space counts there."""
    start, depth, pre = 0, 0, 0
    for i, token in enumerate([*tokens, Token("", "block")]):
        if token.kind in ("text", "kept") or (token.name in rules.inline and token.kind != "empty"):
            continue
        if start < i and (depth > 0 or not rules.text_elements):
            yield range(start, i), pre > 0 or rules.preserve_space
        start = i + 1
        change = _NESTING.get(token.kind, 0)
        depth += change if token.name in rules.text_elements else 0
        pre += change if token.name in ("pre", "textarea") else 0


def matching_ends(tokens: Sequence[Token], run: range) -> dict[int, int]:
    """Return the indices of end tags by those of their start tags, for well-nested elements."""
    ends: dict[int, int] = {}
    stack: list[int] = []
    for i in run:
        if tokens[i].kind == "open":
            stack.append(i)
        elif tokens[i].kind == "close" and stack and tokens[stack[-1]].name == tokens[i].name:
            ends[stack.pop()] = i
    return ends


def _item(tokens: Sequence[Token]) -> _Item | None:
    """Return the item of a text, of a token that stays, or of an element; None if not simple."""
    first = tokens[0]
    if first.kind in ("text", "kept"):
        return _Item(tokens, first if first.kind == "text" else None)
    if not 1 < len(tokens) <= 2 * MAX_NESTED + 1:
        return None
    source = "".join(token.source for token in tokens if token.kind == "text").strip()
    if not source or (first.name in ("sub", "sup") and not has_words(source)):  # as in H2O
        return _Item(tokens, None)
    half = len(tokens) // 2
    is_simple = [t.kind for t in tokens] == ["open"] * half + ["text"] + ["close"] * half
    return _Item(tokens, tokens[half]) if is_simple else None


def _line_units(line: Sequence[_Item], rules: MarkupRules, keep_space: bool) -> Iterator[Unit]:
    """Yield the unit (passage, setter) of a line; one for each element if only these have words.

    With `keep_space` white space stays as it is; otherwise each run of it is one space.
    """
    texts = [i for i, item in enumerate(line) if item.text and item.text.source.strip()]
    if any(not line[i].is_mark and has_words(line[i].text.text) for i in texts):  # type: ignore[union-attr]
        yield from _unit(line[texts[0] : texts[-1] + 1], rules, keep_space)
    else:
        for token in (line[i].text for i in texts):
            yield from _unit([_Item([token], token)], rules, keep_space)  # type: ignore[list-item]


def token_units(token: Token, parsed: Parsed[str], rules: MarkupRules) -> Sequence[Unit]:
    """Return the units of `parsed`, which is what `token` says; it will render the translation."""

    def render() -> str:
        new = parsed.render()
        return token.source if new == token.text else rules.escape(new, token.source)

    token.render = render
    return parsed.units


def _unit(line: Sequence[_Item], rules: MarkupRules, keep_space: bool) -> Iterator[Unit]:
    """Yield the unit (passage, setter) of a line, or those of a message; none without words."""
    texts = [item.text.text if item.text else None for item in line]
    if not keep_space:
        texts = [text and _SPACE.sub(" ", text) for text in texts]
    content = InlineContent(zip(texts, (item.is_mark for item in line), line, strict=True))
    if not content.passage.is_translatable:
        if len(line) == 1 and (token := line[0].text) and (message := parse_message(token.text)):
            yield from token_units(token, message, rules)
        return

    def set_marked(marked: MarkedText) -> None:
        source = "".join(item.text.source for item in line if item.text)
        numbers = _fixed_numbers(content.passage.text)
        marked = [(_keep_nbsp(text, *numbers), mark) for text, mark in marked]
        written = []
        for mark, pieces in content.render(marked):
            tokens = mark.tokens if mark else ()
            half = len(tokens) // 2
            inside = (
                rules.escape(piece, source) if isinstance(piece, str) else join_tokens(piece.tokens)
                for piece in pieces
            )
            written += [join_tokens(tokens[:half]), *inside, join_tokens(tokens[half + 1 :])]
        if written:
            tokens = [token for item in line for token in item.tokens]
            _replace_line(tokens, "".join(written), keep_space)

    yield content.passage, set_marked


def _replace_line(tokens: Sequence[Token], written: str, keep_space: bool) -> None:
    """Write the markup `written` into the first of a line's tokens and empty the others.

    The white space around the line is put back, or with `keep_space` is that of `written`.
    """
    first, last = tokens[0], tokens[-1]
    if not keep_space and first.kind == "text":
        indent = first.source[: -len(first.source.lstrip(_BLANKS))]
        written = indent + written.lstrip(_BLANKS)
    if not keep_space and last.kind == "text":
        written = written.rstrip(_BLANKS) + last.source[len(last.source.rstrip(_BLANKS)) :]
    for token in tokens:
        token.source, token.render = "", None
    first.source = written


def _fixed_numbers(source: str) -> tuple[set[str], set[str]]:
    """Return the numbers of a text before a no-break space, and those after one."""
    chunks = source.split("\xa0")
    ahead = {chunk.rpartition(" ")[2] for chunk in chunks[:-1]}
    behind = {chunk.partition(" ")[0] for chunk in chunks[1:]}
    ahead, behind = ({w for w in own if any(map(str.isdigit, w))} for own in (ahead, behind))
    return ahead, behind


def _keep_nbsp(text: str, ahead: Collection[str], behind: Collection[str]) -> str:
    """Make the space after a number of `ahead`, or before one of `behind`, a no-break space."""
    words = text.split(" ")
    parts = words[:1]
    for left, right in pairwise(words):
        parts += ["\xa0" if left in ahead or right in behind else " ", right]
    return "".join(parts)


def _attribute_units(
    tokens: Sequence[Token], rules: MarkupRules, options: Options
) -> Iterator[Unit]:
    """Yield the units of texts in attributes; in `tokens`, a source `lang` becomes the target."""
    for token in tokens:
        tag = TAG.match(token.source)
        if token.render or tag is None or tag["slash"] or "=" not in tag.group():
            continue
        if "notranslate" in tag.group():
            continue
        values = attribute_values(tag.group())
        for name in ("lang", "xml:lang"):
            code = values.get(name, "-").lower().split("-")[0]
            if options.target and code == options.source:
                _attribute_setter(token, name)(options.target)
        for name, value in values.items() if values.get("translate") != "no" else ():
            is_text = has_words(value) and not TEMPLATES.search(value)
            if is_text and _is_seen(token.name, name, values, rules):
                yield text_unit(value, _attribute_setter(token, name))


def _is_seen(tag: str, name: str, values: Mapping[str, str], rules: MarkupRules) -> bool:
    """Return whether the attribute `name` of a `tag` with these `values` is visible to readers."""
    if tag == "input" and name == "value":
        return values.get("type", "").lower() in ("submit", "button", "reset")
    if tag == "meta" and name == "content":
        return values.get("property", values.get("name", "")).lower() in _METAS
    return name in rules.attributes


def _attribute_setter(token: Token, name: str) -> Callable[[str], None]:
    """Return a function that sets an attribute in `token.source` to a text, escaped, if new."""

    def set_value(new: str) -> None:
        tag = TAG.match(token.source)
        if tag and attribute_values(tag.group())[name] != new:
            token.source = replace_attribute(tag.group(), name, new) + token.source[tag.end() :]

    return set_value
