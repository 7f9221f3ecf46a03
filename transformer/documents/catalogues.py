"""Catalogues of translators: PO, XLIFF and TMX get what they lack; what is translated stays."""

import re
from collections.abc import Sequence

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.passages import Opened, Options, Slices, Unit, text_of

_FIELD = re.compile(
    r"^(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?)(?P<gap>[ \t]*+)"
    r'(?P<value>"(?:[^"\\\n]|\\.)*+"(?:[ \t]*\r?\n[ \t]*"(?:[^"\\\n]|\\.)*+")*+)',
    re.MULTILINE,
)
_PART = re.compile(r'"((?:[^"\\\n]|\\.)*+)"')
_LANGUAGE = re.compile(r'("Language:[ \t]*+)[^"\\]*+(?=\\n")')
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\\\": "\\"}
_ESCAPED = re.compile(r"\\[ntr\"\\]")
_WRITTEN = {char: code for code, char in _ESCAPES.items()}
_XLIFF = html.Language(
    inline=frozenset({"g", "mrk", "pc", "hi"}),
    kept=frozenset({"x", "bx", "ex", "ph", "it", "bpt", "ept", "ut", "sc", "ec", "cp"}),
)


def po(content: bytes, options: Options) -> Opened:
    """The entries of a PO file whose translation is empty."""
    text = text_of(content)
    slices = Slices()
    end = 0
    message = plural = ""
    for match in _FIELD.finditer(text):
        name = match["name"]
        value = "".join(_unescaped(part) for part in _PART.findall(match["value"]))
        if name == "msgid":
            message, plural = value, ""
        elif name == "msgid_plural":
            plural = value
        elif name.startswith("msgstr"):
            slices.keep(text[end : match.start("value")])
            end = match.end()
            said = plural if plural and not name.endswith("[0]") else message
            if message and not value:
                slices.translate_plain(match["value"], said, _po_string)
            elif not message and options.target:
                slices.keep(_LANGUAGE.sub(rf"\g<1>{options.target}", match["value"]))
            else:
                slices.keep(match["value"])
    slices.keep(text[end:])
    return slices.opened()


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text)


def _po_string(text: str) -> str:
    lines = ["".join(_WRITTEN.get(char, char) for char in line) for line in text.splitlines(True)]
    return "\n".join(f'"{line}"' for line in (["", *lines] if len(lines) > 1 else lines))


class _Elements:
    """Where the elements of a file end."""

    def __init__(self, tokens: Sequence[html.Token]) -> None:
        self._tokens, self._ends = tokens, html.closes(tokens, range(len(tokens)))

    def end(self, start: int) -> int:
        """Behind the element that begins at a token; UserError where it has no end."""
        if self._tokens[start].kind != "open":
            return start + 1
        if start not in self._ends:
            raise UserError(f"expected an end of <{self._tokens[start].name}>")
        return self._ends[start] + 1


def xliff(content: bytes, options: Options) -> Opened:
    """The segments of an XLIFF file, 1.2 or 2, without a translation."""
    tokens = html.tokens_of(text_of(content), _XLIFF)
    elements, written = _Elements(tokens), list[html.Token]()
    units: list[Unit] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "open" and token.name in ("file", "xliff") and options.target:
            name = "target-language" if token.name == "file" else "trgLang"
            values = html.attributes(token.source)
            if name.lower() in values:
                token.source = html.with_values(token.source, {name.lower(): options.target})
            elif token.name == "file" and "source-language" in values:
                token.source = f'{token.source[:-1]} {name}="{options.target}">'
        if token.kind != "open" or token.name != "source":
            written.append(token)
            place += 1
            continue
        end = elements.end(place)
        written += tokens[place:end]
        copies, own = _copies(tokens[place + 1 : end - 1])
        space, target = _next(tokens, end)
        if target is None:
            place = end
            units += own
            written += [html.Token("<target>", "block"), *copies, html.Token("</target>", "block")]
            continue
        stop = elements.end(target)
        place = stop
        if "".join(token.source for token in tokens[target + 1 : stop - 1]).strip():
            written += tokens[end:stop]
            continue
        units += own
        head = f"{tokens[target].source.removesuffix('>').removesuffix('/').rstrip()}>"
        written += [*space, html.Token(head, "block"), *copies, html.Token("</target>", "block")]
    return units, lambda: "".join(token.source for token in written).encode()


def _copies(tokens: Sequence[html.Token]) -> tuple[list[html.Token], list[Unit]]:
    """The inside of a source once more, to be translated."""
    copies = [html.Token(token.source, token.kind, token.name) for token in tokens]
    return copies, [*html.lines(copies, _XLIFF)]


def _next(tokens: Sequence[html.Token], start: int) -> tuple[Sequence[html.Token], int | None]:
    """White space, and the target that follows it, if one does."""
    place = start
    while place < len(tokens) and not tokens[place].source.strip():
        place += 1
    is_target = (
        place < len(tokens)
        and tokens[place].name == "target"
        and tokens[place].kind in ("open", "empty")
    )
    return tokens[start:place], place if is_target else None


def tmx(content: bytes, options: Options) -> Opened:
    """The units of a TMX file that have a text in the source language and none in the target."""
    if not options.target:
        raise UserError("expected a target language for a TMX file")
    tokens = html.tokens_of(text_of(content), _XLIFF)
    elements, written = _Elements(tokens), list[html.Token]()
    units: list[Unit] = []
    place = 0
    while place < len(tokens):
        written.append(tokens[place])
        place += 1
        if tokens[place - 1].name != "tu" or tokens[place - 1].kind != "open":
            continue
        end = elements.end(place - 1)
        variants = {
            _code(tokens[i].source): i
            for i in range(place, end)
            if tokens[i].name == "tuv" and tokens[i].kind == "open"
        }
        start = variants.get(options.source, min(variants.values(), default=None))
        if (
            start is None
            or options.target in variants
            or (options.source and options.source not in variants)
        ):
            written += tokens[place:end]
            place = end
            continue
        stop = elements.end(start)
        copies, own = _copies(tokens[start:stop])
        name = "xml:lang" if "xml:lang" in html.attributes(copies[0].source) else "lang"
        copies[0].source = html.with_values(copies[0].source, {name: options.target})
        units += own
        written += [*tokens[place:stop], *copies, *tokens[stop:end]]
        place = end
    return units, lambda: "".join(token.source for token in written).encode()


def _code(tag: str) -> str:
    values = html.values_of(tag)
    return values.get("xml:lang", values.get("lang", "")).lower().split("-")[0]
