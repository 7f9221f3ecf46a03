"""HTML and XML as tokens, by one linear scan that keeps every byte; and the attributes of tags."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from transformer.documents.passages import unescape
from transformer.text.spans import Span

# Possessive repeats, and an end of the scan where an end is missing, keep it linear.
_ATTRIBUTE = r"""(?:=?+[^\s/>=]++|=)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+"""
TAG = re.compile(rf"<(?P<slash>/?)(?P<name>[A-Za-z][^\s/>]*+)(?:[\s/]++|{_ATTRIBUTE})*+>")
_PARSED = re.compile(
    r"""(?P<name>=?+[^\s/>=]++|=)(?P<is>\s*+=\s*+)?+"""
    r"""(?P<value>(?(is)(?:"[^"]*+"|'[^']*+'|[^\s>]*+)))"""
)
# Tags of Jinja, Twig, Liquid, Handlebars, Hugo and ERB.
TEMPLATE = (
    r"\{{2,3}[^{}]*+\}{2,3}|\{%(?:[^%{]++|%(?!\})|\{(?!%))*+%\}|\{#[^{}#]++#\}"
    r"|<%(?:[^%<]++|%(?!>)|<(?!%))*+%>"
)
_HTML_PIECE, _XML_PIECE = (
    re.compile(
        rf"(?P<kept>{template}"
        rf"|(?s:<!--(?:-?>|.*?--!?>)|<!\[CDATA\[.*?{cdata}|<\?.*?{instruction}))"
        rf"|(?P<text>(?:[^<{{]++|(?!{template})(?:\{{|<(?![A-Za-z/!?])))++)|(?P<tag>{TAG.pattern})"
        r"|(?P<block><(?!/?[A-Za-z]|!--|!\[CDATA\[|\?)[^>]*+>)"
    )
    for cdata, instruction, template in ((">", ">", TEMPLATE), (r"\]\]>", r"\?>", r"(?!)"))
)
TEMPLATES = re.compile(f"({TEMPLATE})")
_NAME = re.compile(r"</?[^\s/>]*+")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source",
         "track", "wbr"}  # fmt: skip
_RAW_XML = {"script", "style"}
_RAW = _RAW_XML | {"textarea", "title", "xmp", "iframe", "noembed", "noframes"}


@dataclass(slots=True)
class Token:
    """A piece of the source: text, a tag (open, close, empty) or what stays (kept, block)."""

    source: str
    kind: str
    name: str = ""
    decoded: str | None = None  # what a text says, if not its source with entities replaced

    @property
    def text(self) -> str:
        """What a text says."""
        return unescape(self.source) if self.decoded is None else self.decoded


def tokenize(text: str, is_xml: bool) -> Iterator[Token]:
    """The tokens of a text, whose sources joined are the text."""
    place = 0
    while match := (_XML_PIECE if is_xml else _HTML_PIECE).match(text, place):
        source, kind, place = match.group(), match.lastgroup or "", match.end()
        if kind != "tag":
            is_text = is_xml and source.startswith("<![CDATA[")
            yield Token(source, "text", decoded=source[9:-3]) if is_text else Token(source, kind)
            continue
        name = match["name"] if is_xml else match["name"].lower()
        is_empty = source.endswith("/>") if is_xml else name in _VOID
        kind = "close" if match["slash"] else "empty" if is_empty else "open"
        yield Token(source, kind, name)
        if kind == "open" and name in (_RAW_XML if is_xml else _RAW):
            end_tag = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, place)
            if not end_tag:
                break
            for number, source in enumerate(TEMPLATES.split(text[place : end_tag.start()])):
                yield Token(source, "kept" if number % 2 else "text")
            place = end_tag.start()
    if place < len(text):
        yield Token(text[place:], "block")  # what never ends


def attribute_spans(tag: str) -> dict[str, Span]:
    """Names in small letters and where their values stand, with their quotes; the first counts."""
    start = _NAME.match(tag)
    match = _PARSED.finditer(tag, start.end() if start else 0, len(tag) - 1)
    spans: dict[str, Span] = {}
    for attribute in match:
        if attribute["is"]:
            spans.setdefault(attribute["name"].lower(), attribute.span("value"))
    return spans


def attribute_values(tag: str) -> dict[str, str]:
    """The attributes of a tag, or of what begins with one, that have a value."""
    tag = match.group() if (match := TAG.match(tag)) else tag
    return {
        name: unescape(tag[a + 1 : b - 1] if tag[a : a + 1] in ("'", '"') else tag[a:b])
        for name, (a, b) in attribute_spans(tag).items()
    }


def replace_attributes(tag: str, values: Mapping[str, str]) -> str:
    """A tag with other values of attributes that it has."""
    parts, end = list[str](), 0
    for name, (a, b) in attribute_spans(tag).items():
        if name in values:
            parts += [tag[end:a], f'"{escape(values[name])}"']
            end = b
    return "".join([*parts, tag[end:]])
