"""Catalogues of translators: PO, XLIFF and TMX get what they lack; what is translated stays.

Codes that begin and end a format (bpt and ept, bx and ex, sc and ec) are read as the tags of an
element, so that words stay between them.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.passages import Opened, Options, Unit, Written, text_file
from transformer.documents.slices import Slices

_FIELD = re.compile(
    r"^[ \t]*+(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?)(?P<gap>[ \t]*+)"
    r'(?P<value>"(?:[^"\\\n]|\\.)*+"(?:[ \t]*\r?\n[ \t]*"(?:[^"\\\n]|\\.)*+")*+)',
    re.MULTILINE,
)
_PART = re.compile(r'"((?:[^"\\\n]|\\.)*+)"')
_LANGUAGE = re.compile(r'("Language:[ \t]*+)[^"\\]*+(?=\\n")')
_CHARSET = re.compile(r"(?<=charset=)[\w-]++")
_CHARSET_NAMED = re.compile(rb"(?<=charset=)(?i:iso-?8859|windows-|cp|latin-?\d|koi8)[\w-]*+")
HEAD = 4096  # bytes of a file in which its encoding is named
_BETWEEN = re.compile(r"\s*+(?:<!--|\Z)")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\\\": "\\"}
_ESCAPED = re.compile(r"\\[ntr\"\\]")
_WRITTEN = {char: code for code, char in _ESCAPES.items()}
_XLIFF = html.Language(
    inline=frozenset({"g", "mrk", "pc", "hi"}),
    kept=frozenset({"x", "bx", "ex", "ph", "it", "bpt", "ept", "ut", "sc", "ec", "cp",
                    "note", "prop", "alt-trans"}),
)  # fmt: skip
_BEGIN, _END = {"bpt", "bx", "sc"}, {"ept", "ex", "ec"}
_NUMBERS = ("startref", "rid", "i", "id")  # the first of these attributes tells what it belongs to


def po_file(content: bytes | str, options: Options) -> Opened:
    """A PO file in the encoding that its head names; it is written in UTF-8."""
    if isinstance(content, bytes) and (named := _CHARSET_NAMED.search(content, 0, HEAD)):
        name = codecs.lookup(named[0].decode()).name
        content = _CHARSET.sub("UTF-8", content.decode(name), count=1)
    return text_file(po)(content, options)


def po(text: str, options: Options) -> Written:
    """The entries of a PO file whose translation is empty."""
    slices = Slices(text)
    message = plural = ""
    for match in _FIELD.finditer(text):
        name = match["name"]
        value = "".join(_unescaped(part) for part in _PART.findall(match["value"]))
        if name == "msgid":
            message, plural = value, ""
        elif name == "msgid_plural":
            plural = value
        elif name.startswith("msgstr"):
            said = plural if plural and not name.endswith("[0]") else message
            if message and not value:
                slices.translate(*match.span("value"), said, _po_string)
            elif not message and options.target:
                head = _LANGUAGE.sub(rf"\g<1>{options.target}", match["value"])
                head = _CHARSET.sub("UTF-8", head)  # ASCII, or the CHARSET of a template
                slices.replace(*match.span("value"), head)
    return slices.written()


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text)


def _po_string(text: str) -> str:
    lines = ["".join(_WRITTEN.get(char, char) for char in line) for line in text.splitlines(True)]
    return "\n".join(f'"{line}"' for line in (["", *lines] if len(lines) > 1 else lines))


class _Catalogue:
    """The elements of a file, and what is added behind some of them to be translated."""

    def __init__(self, text: str) -> None:
        self.tokens = html.tokens_of(text, _XLIFF)
        self.units: list[Unit] = []
        self._ends = html.closes(self.tokens, range(len(self.tokens)))
        self._added: dict[int, list[html.Token]] = {}

    def elements(self, *names: str) -> Iterator[tuple[int, int]]:
        """Where those with such a name begin and end, but for what is inside of them."""
        done = 0
        for place, token in enumerate(self.tokens):
            if token.kind == "open" and token.name in names and place >= done:
                done = self.end(place)
                yield place, done

    def end(self, start: int) -> int:
        """Where an element ends; UserError where it does not."""
        if start not in self._ends:
            raise UserError(f"expected an end of <{self.tokens[start].name}>")
        return self._ends[start]

    def after(self, place: int) -> int:
        """What follows a token, white space and comments apart."""
        later = range(place + 1, len(self.tokens))
        return next((p for p in later if not _BETWEEN.match(self.tokens[p].source)), place)

    def add(self, place: int, first: int, stop: int, around: tuple[str, str] = ("", "")) -> None:
        """A copy of tokens behind a place, and something around it."""
        copies = [replace(token) for token in self.tokens[first:stop]]
        self.units += html.lines(copies, _paired(copies))
        before, behind = (html.Token(text, "block") for text in around)
        self._added[place] = [before, *copies, behind]

    def written(self) -> Written:
        """The passages, and the file with what was added."""
        return self.units, lambda: "".join(
            written.source
            for place, token in enumerate(self.tokens)
            for written in (token, *self._added.get(place, ()))
        )


def _paired(tokens: Sequence[html.Token]) -> html.Language:
    """Makes tags of the codes that begin and end a format; what then is inline."""
    codes = [token for token in tokens if token.kind == "kept" and token.name in _BEGIN | _END]
    numbers = [_number(token.source) for token in codes]
    ends = {n for n, token in zip(numbers, codes, strict=True) if token.name in _END}
    paired = ends & {n for n, token in zip(numbers, codes, strict=True) if token.name in _BEGIN}
    for number, token in zip(numbers, codes, strict=True):
        if number in paired:  # the other one may be in another segment
            token.kind, token.name = "open" if token.name in _BEGIN else "close", number
    return replace(_XLIFF, inline=_XLIFF.inline | paired)


def _number(code: str) -> str:
    """The number that a code shares with its other end, which no name of an element is like."""
    values = html.values_of(next(html.scan(code, is_xml=True)).source)
    return "#" + next((values[name] for name in _NUMBERS if name in values), "")


def xliff(text: str, options: Options) -> Written:
    """The segments of an XLIFF file, 1.2 or 2, without a translation."""
    file = _Catalogue(text)
    tokens = file.tokens
    for token in tokens:
        if options.target and token.kind == "open" and token.name in ("file", "xliff"):
            name = "target-language" if token.name == "file" else "trgLang"
            values = html.attributes(token.source)
            if name.lower() in values:
                token.source = html.with_values(token.source, {name.lower(): options.target})
            elif values.keys() & {"source-language", "srclang"}:
                token.source = f'{token.source[:-1]} {name}="{options.target}">'
    for start, end in file.elements("source"):
        source, place = (start, end), file.after(end)
        if tokens[place].name == "seg-source" and tokens[place].kind == "open":
            source = place, file.end(place)
            place = file.after(source[1])
        target = tokens[place]
        if target.name != "target" or target.kind not in ("open", "empty"):
            file.add(source[1], source[0] + 1, source[1], ("<target>", "</target>"))
        elif target.kind == "empty":
            target.source = f"{target.source.removesuffix('/>').rstrip()}>"
            file.add(place, source[0] + 1, source[1], ("", "</target>"))
        elif _is_untranslated(file, start, place):
            for token in tokens[place + 1 : file.end(place)]:
                token.source = ""
            file.add(place, source[0] + 1, source[1])
    return file.written()


def _is_untranslated(file: _Catalogue, source: int, target: int) -> bool:
    """Whether a target has nothing but marks of its segments, or the source that it began as."""
    own = file.tokens[target + 1 : file.end(target)]
    if all(token.name == "mrk" or not token.source.strip() for token in own):
        return True
    states = {
        html.values_of(tag.source).get("state")
        for tag in file.tokens[max(source - 2, 0) : source] + file.tokens[target : target + 1]
    }
    is_new = not states.isdisjoint(("new", "needs-translation", "initial"))
    return is_new and own == file.tokens[source + 1 : file.end(source)]


def tmx(text: str, options: Options) -> Written:
    """The units of a TMX file that have a text in the source language and none in the target."""
    file = _Catalogue(text)
    for start, end in file.elements("tu"):
        variants = {
            _code(token.source): place
            for place, token in enumerate(file.tokens[start:end], start)
            if token.name == "tuv" and token.kind == "open"
        }
        place = variants.get(options.source, -1)
        if not options.source:
            place = min(variants.values(), default=-1)
        if place < 0 or options.target in variants:
            continue
        tag = file.tokens[place].source
        name = "xml:lang" if "xml:lang" in html.attributes(tag) else "lang"
        head = html.with_values(tag, {name: options.target})
        file.add(file.end(place), place + 1, file.end(place) + 1, (head, ""))
    units, finish = file.written()
    if options.target:
        return units, finish
    return units, _no_target  # what is only looked into, for its language, needs none


def _no_target() -> str:
    raise UserError("expected a target language for a TMX file")


def _code(tag: str) -> str:
    values = html.values_of(tag)
    return values.get("xml:lang", values.get("lang", "")).lower().split("-")[0]
