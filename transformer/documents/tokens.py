"""HTML and XML as tokens, by one linear scan that keeps every byte; and the attributes of tags."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

from transformer.documents.passages import unescape
from transformer.text.spans import Span

# Possessive repeats, and an end of the scan where an end is missing, keep it linear.
_ATTRIBUTE = r"""(?:=?+[^\s/>=]++|=)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+"""
_TAG = rf"<(?P<slash>/?)(?P<name>[%s][^\s/>]*+)(?:[\s/]++|{_ATTRIBUTE})*+>"
TAG = re.compile(_TAG % "A-Za-z")
_PARSED = re.compile(
    r"""(?P<name>=?+[^\s/>=]++|=)(?P<is>\s*+=\s*+)?+"""
    r"""(?P<value>(?(is)(?:"[^"]*+"|'[^']*+'|[^\s>]*+)))"""
)
# Tags of Jinja, Twig, Liquid, Handlebars, Hugo and ERB.
TEMPLATE = (
    r"\{{2,3}[^{}]*+\}{2,3}|\{%(?:[^%{]++|%(?!\})|\{(?!%))*+%\}|\{#[^{}#]++#\}"
    r"|<%(?:[^%<]++|%(?!>)|<(?!%))*+%>"
)
TEMPLATES = re.compile(f"({TEMPLATE})")


def _pattern(
    first_letters: str, comment_end: str, cdata_end: str, instruction_end: str, template: str
) -> re.Pattern[str]:
    """Return the pattern of a token in HTML or XML, made of these regular expressions.

    `first_letters` of names are characters of a class, as A-Z; `template` matches a template's tag.
    """
    return re.compile(
        rf"(?P<kept>{template}|(?s:<!--(?:{comment_end})"
        rf"|<!\[CDATA\[.*?{cdata_end}|<\?.*?{instruction_end}))"
        rf"|(?P<text>(?:[^<{{]++|(?!{template})(?:\{{|<(?![{first_letters}/!?])))++)"
        rf"|(?P<tag>{_TAG % first_letters})"
        rf"|(?P<block><(?!/?[{first_letters}]|!--|!\[CDATA\[|\?)[^>]*+>)"
    )


_HTML = _pattern("A-Za-z", "-?>|.*?--!?>", ">", ">", TEMPLATE)
_XML = _pattern(r"A-Za-z_:\x80-\U0010ffff", ".*?-->", r"\]\]>", r"\?>", "(?!)")
_NAME = re.compile(r"</?[^\s/>]*+")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source",
         "track", "wbr"}  # fmt: skip
_RAW_XML = {"script", "style"}
_RAW = _RAW_XML | {"textarea", "title", "xmp", "iframe", "noembed", "noframes"}


@dataclass(slots=True)
class Token:
    """A piece of a file of a `kind`: text, a tag (open, close, empty) or what stays (kept, block).

    A kept token stands within a passage, a block ends it. `name` is that of a tag. `decoded` is
    what a text says, if not its source with entities replaced; `render` returns what is written
    instead of the source.
    """

    source: str
    kind: str
    name: str = ""
    decoded: str | None = None
    render: Callable[[], str] | None = None

    @property
    def text(self) -> str:
        """The text of a text token, with its entities replaced."""
        return unescape(self.source) if self.decoded is None else self.decoded


def join_tokens(tokens: Iterable[Token]) -> str:
    """Return the text that tokens write: what each one renders, or its source."""
    return "".join(token.render() if token.render else token.source for token in tokens)


def tokenize(text: str, is_xml: bool) -> Iterator[Token]:
    """Yield the tokens of a text of XML or else HTML, whose sources joined are the text."""
    place = 0
    while match := (_XML if is_xml else _HTML).match(text, place):
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
    """Return the spans of values, quotes included, by lowercase name; the first of equal names."""
    start = _NAME.match(tag)
    spans: dict[str, Span] = {}
    for attribute in _PARSED.finditer(tag, start.end() if start else 0, len(tag) - 1):
        if attribute["is"]:
            spans.setdefault(attribute["name"].lower(), attribute.span("value"))
    return spans


def attribute_values(tag: str) -> dict[str, str]:
    """Return the values, unescaped, by lowercase name, of a tag or the one that begins a text."""
    tag = match.group() if (match := TAG.match(tag)) else tag
    return {
        name: unescape(tag[a + 1 : b - 1] if tag[a : a + 1] in ("'", '"') else tag[a:b])
        for name, (a, b) in attribute_spans(tag).items()
    }


def replace_attribute(tag: str, name: str, value: str) -> str:
    """Return a tag with another `value`, escaped here, of its attribute `name`, in lower case."""
    if name not in (spans := attribute_spans(tag)):
        return tag
    start, stop = spans[name]
    return f'{tag[:start]}"{escape(value)}"{tag[stop:]}'
