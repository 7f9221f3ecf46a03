"""HTML and XML: the lines of text between their tags, and the texts in their attributes.

A line is what is read as one: text with simple elements (bold words, links) as its marks, and
with code and pictures, which stay, as <0/>. Tags, comments and scripts are left as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import pairwise
from typing import NamedTuple

from transformer.config import UserError
from transformer.documents.messages import message_units
from transformer.documents.passages import (
    InlineContent,
    Options,
    Parsed,
    Passage,
    Setter,
    Unit,
    has_words,
    plain_text,
)
from transformer.documents.tokens import (
    TAG,
    TEMPLATES,
    Token,
    attribute_values,
    replace_attributes,
    tokenize,
)
from transformer.text.markup import MarkedText

_ENTITIES = re.compile(r"\s*+(?:<[?!](?!DOCTYPE)[^>]*+>\s*+)*+<!DOCTYPE[^>\[]*+\[")
_BLANKS = " \t\r\n\f"
_SPACE = re.compile(rf"[{_BLANKS}]+")
MAX_NESTED = 8  # simple elements around one text


def _write(text: str, source: str) -> str:
    text = escape(text, quote=False)
    return text.replace("\xa0", "&nbsp;") if "&nbsp;" in source else text


@dataclass(frozen=True, slots=True)
class MarkupRules:
    """What the elements of a markup language mean."""

    inline: frozenset[str]
    untranslatable: frozenset[str]  # with all that they hold
    attributes: frozenset[str] = frozenset()
    text_elements: frozenset[str] = frozenset()  # elements that hold text; none: all do
    nested: frozenset[str] = frozenset()  # with texts of their own, which go where they stand
    computed_attribute: str = ""  # an attribute of what an office program computes, which stays
    is_xml: bool = True
    escape: Callable[[str, str], str] = lambda text, source: escape(text, quote=False)
    preserve_space: bool = False  # white space counts everywhere


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
    escape=_write,
)
XHTML = replace(HTML, is_xml=True)


def _is_kept(token: Token, rules: MarkupRules, source: str) -> bool:
    if token.kind not in ("open", "empty"):
        return False
    if token.name in rules.untranslatable or token.name in rules.nested:
        return True
    if rules.computed_attribute and f" {rules.computed_attribute}=" in token.source:
        return True
    if "translate" not in token.source and "lang" not in token.source:
        return False
    values = attribute_values(token.source)
    if source and token.name in rules.inline:  # of a page templates often name a wrong one
        own = values.get("lang", values.get("xml:lang", "")).lower().split("-")[0]
        if own not in ("", source):
            return True
    return "notranslate" in values.get("class", "").split() or values.get("translate") == "no"


def tokens_of(text: str, rules: MarkupRules, source: str = "") -> list[Token]:
    """Tokens with each element that stays as one; UserError for XML with entities of its own.

    Words and phrases stay that the text says are in another language than the source.
    """
    if rules.is_xml and _ENTITIES.match(text):
        raise UserError("expected XML without entities of its own in the file")
    return merge_untranslatable(tokenize(text, rules.is_xml), rules, source)


def merge_untranslatable(
    pieces: Iterable[Token], rules: MarkupRules, source: str = ""
) -> list[Token]:
    """Tokens with each element that stays as one."""
    tokens: list[Token] = []
    inside: list[Token] = []
    depth = 0
    for token in pieces:
        if not inside and not _is_kept(token, rules, source):
            tokens.append(token)
            continue
        inside.append(token)
        if token.name == inside[0].name:
            depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0:
            tokens.append(_as_one(inside, rules))
            inside = []
    return [*tokens, _as_one(inside, rules)] if inside else tokens


def _as_one(tokens: Sequence[Token], rules: MarkupRules) -> Token:
    name = tokens[0].name
    kept = rules.untranslatable | rules.nested
    is_inline = name in rules.inline or (name in kept and name not in _BLOCKS)
    source = "".join(token.source for token in tokens)
    return Token(source, "kept" if is_inline else "block", name)


class _Item(NamedTuple):
    """A simple element, or text, or what stays, of some tokens; where its text is, if any."""

    first: int
    last: int
    text: int | None

    @property
    def is_mark(self) -> bool:
        return self.text is not None and self.first < self.last


def extract_units(tokens: Sequence[Token], rules: MarkupRules) -> Iterator[Unit]:
    """What is read as one, with its place, line after line."""
    for run, is_pre in _runs(tokens, rules):
        line: list[_Item] = []
        ends = matching_ends(tokens, run)
        place = run.start
        while place < run.stop:
            item = _item(tokens, place, ends.get(place, place))
            if item is None:
                yield from _units(tokens, line, rules, is_pre)
                line = []
                place += 1
            else:
                line.append(item)
                place = item.last + 1
        yield from _units(tokens, line, rules, is_pre)


def _runs(tokens: Sequence[Token], rules: MarkupRules) -> Iterator[tuple[range, bool]]:
    """Stretches of text and inline elements, and whether their spaces count."""
    start, depth, pre = 0, 0, 0
    for i, token in enumerate([*tokens, Token("", "block")]):
        if token.kind in ("text", "kept") or (token.name in rules.inline and token.kind != "empty"):
            continue
        if start < i and (depth > 0 or not rules.text_elements):
            yield range(start, i), pre > 0 or rules.preserve_space
        start = i + 1
        change = {"open": 1, "close": -1}.get(token.kind, 0)
        depth += change if token.name in rules.text_elements else 0
        pre += change if token.name in ("pre", "textarea") else 0


def matching_ends(tokens: Sequence[Token], run: range) -> dict[int, int]:
    """Where the elements that begin in a run end, for those that are well nested."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for i in run:
        if tokens[i].kind == "open":
            opened.append(i)
        elif tokens[i].kind == "close" and opened and tokens[opened[-1]].name == tokens[i].name:
            ends[opened.pop()] = i
    return ends


def _item(tokens: Sequence[Token], first: int, last: int) -> _Item | None:
    """What begins at a token: text, what stays, an element that is simple; or None."""
    kind = tokens[first].kind
    if kind in ("text", "kept"):
        return _Item(first, first, first if kind == "text" else None)
    if not 0 < last - first <= 2 * MAX_NESTED:
        return None
    inner = tokens[first : last + 1]
    said = "".join(token.source for token in inner if token.kind == "text").strip()
    if not said or (tokens[first].name in ("sub", "sup") and not has_words(said)):  # as in H2O
        return _Item(first, last, None)
    middle = (first + last) // 2
    kinds = [token.kind for token in inner]
    half = middle - first
    simple = kinds == ["open"] * half + ["text"] + ["close"] * half
    return _Item(first, last, middle) if simple else None


def _units(
    tokens: Sequence[Token], line: Sequence[_Item], rules: MarkupRules, is_pre: bool
) -> Iterator[Unit]:
    """The line, or where no words stand beside its elements, each of its texts."""
    spoken = [
        i
        for i, item in enumerate(line)
        if item.text is not None and tokens[item.text].source.strip()
    ]
    if any(not line[i].is_mark and has_words(tokens[line[i].text or 0].text) for i in spoken):
        yield from _unit(tokens, line[spoken[0] : spoken[-1] + 1], rules, is_pre)
    else:
        for place in (line[i].text for i in spoken):
            if place is not None:
                yield from _unit(tokens, [_Item(place, place, place)], rules, is_pre)


def _unit(
    tokens: Sequence[Token], line: Sequence[_Item], rules: MarkupRules, is_pre: bool
) -> Iterator[Unit]:
    said = [None if item.text is None else tokens[item.text].text for item in line]
    spaced = [text if text is None or is_pre else _SPACE.sub(" ", text) for text in said]
    read = InlineContent(zip(spaced, (item.is_mark for item in line), line, strict=True))
    if not read.passage.is_translatable:
        if len(line) == 1 and said[0]:  # maybe a message
            token, text = tokens[line[0].first], said[0]
            before = token.source

            def say(message: str) -> None:
                token.source = before if message == text else rules.escape(message, before)

            yield from message_units(text, say) or ()
        return

    def source(first: int, stop: int) -> str:
        return "".join(token.source for token in tokens[first:stop])

    def put(marked: MarkedText) -> None:
        numbers = _fixed_numbers(read.passage.text)
        marked = [(_glued(text, numbers), mark) for text, mark in marked]
        own = "".join(tokens[item.text].source for item in line if item.text is not None)
        parts = []
        for mark, pieces in read.render(marked):
            inner = "".join(
                rules.escape(piece, own)
                if isinstance(piece, str)
                else source(piece.first, piece.last + 1)
                for piece in pieces
            )
            if mark is not None and mark.text is not None:
                inner = source(mark.first, mark.text) + inner + source(mark.text + 1, mark.last + 1)
            parts.append(inner)
        if parts:
            inside = tokens[line[0].first : line[-1].last + 1]
            written = "".join(parts)
            if not is_pre and inside[0].kind == "text":
                ahead = inside[0].source
                written = ahead[: -len(ahead.lstrip(_BLANKS))] + written.lstrip(_BLANKS)
            if not is_pre and inside[-1].kind == "text":
                behind = inside[-1].source
                written = written.rstrip(_BLANKS) + behind[len(behind.rstrip(_BLANKS)) :]
            for token in inside:
                token.source = ""
            inside[0].source = written

    yield read.passage, put


def _fixed_numbers(source: str) -> tuple[set[str], set[str]]:
    """The numbers of a text ahead of and behind a space that does not break."""
    ahead, behind = set[str](), set[str]()
    for left, right in pairwise(source.split("\xa0")):
        ahead.add(left.rpartition(" ")[2])
        behind.add(right.partition(" ")[0])
    ahead, behind = ({w for w in own if any(map(str.isdigit, w))} for own in (ahead, behind))
    return ahead, behind


def _glued(text: str, numbers: tuple[set[str], set[str]]) -> str:
    """A text with the spaces beside these numbers that do not break."""
    words = text.split(" ")
    parts = words[:1]
    for left, right in pairwise(words):
        is_fixed = left in numbers[0] or right in numbers[1]
        parts += ["\xa0" if is_fixed else " ", right]
    return "".join(parts)


def _said_by(tag: str, name: str, rules: MarkupRules) -> list[str]:
    """The attributes of a tag that a reader sees."""
    values = attribute_values(tag)
    seen = {*rules.attributes}
    if name == "input" and values.get("type", "").lower() in ("submit", "button", "reset"):
        seen.add("value")
    if name == "meta" and values.get("property", values.get("name", "")).lower() in _METAS:
        seen.add("content")
    return [
        own
        for own, value in values.items()
        if own in seen and has_words(value) and not TEMPLATES.search(value)
    ]


def attribute_units(
    tokens: Sequence[Token], rules: MarkupRules, options: Options
) -> Iterator[Unit]:
    """Texts in attributes, with their places; what names the language is put right at once."""
    for token in tokens:
        tag = TAG.match(token.source)
        if tag is None or tag["slash"] or "=" not in tag.group() or "notranslate" in tag.group():
            continue
        values = attribute_values(tag.group())
        codes = [
            name
            for name in ("lang", "xml:lang")
            if values.get(name, "-").lower().split("-")[0] == options.source
        ]
        if options.target and codes:
            _set(token, dict.fromkeys(codes, options.target))
        if values.get("translate") != "no":
            for name in _said_by(tag.group(), token.name, rules):
                yield Passage(values[name]), _setter(token, name, values[name])


def _setter(token: Token, name: str, before: str) -> Setter:
    return lambda marked: (
        None if plain_text(marked) == before else _set(token, {name: plain_text(marked)})
    )


def _set(token: Token, values: Mapping[str, str]) -> None:
    if tag := TAG.match(token.source):
        token.source = replace_attributes(tag.group(), values) + token.source[tag.end() :]


def _in_notes(tokens: Sequence[Token], rules: MarkupRules, options: Options) -> Iterator[Unit]:
    """What notes say; it is written before the lines that they stand in."""
    inside = replace(rules, nested=frozenset())
    for note in [token for token in tokens if token.kind == "kept" and token.name in rules.nested]:
        parsed = parse(note.source, options, inside)
        for passage, put in parsed.units:
            yield passage, partial(_put_in_note, note, put, parsed.render)


def _put_in_note(note: Token, put: Setter, finish: Callable[[], str], marked: MarkedText) -> None:
    put(marked)
    note.source = finish()


def parse(text: str, options: Options, rules: MarkupRules = HTML) -> Parsed[str]:
    """A page or a part of one as passages; attributes first, which stand inside of lines."""
    tokens = tokens_of(text, rules, options.source)
    units = [*_in_notes(tokens, rules, options), *attribute_units(tokens, rules, options)]
    units += extract_units(tokens, rules)
    return Parsed(units, lambda: "".join(token.source for token in tokens))
