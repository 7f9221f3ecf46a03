"""Strings of programs by their keys: .properties, Apple's .strings, INI, PHP and Fluent.

Keys, comments, the quotes and the layout stay; libraries tell where the texts stand.
"""

import configparser
import contextlib
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

from transformer.config import UserError
from transformer.documents.edits import TextEdits, Verbatim, text_units
from transformer.documents.passages import InlineContent, Options, Parsed, Unit

_STRINGS = re.compile(  # of Apple: comments, strings, names and signs
    r"(?P<stays>\s++|//[^\n]*+|/\*(?s:.*?)\*/)|\"(?P<string>(?:[^\"\\]++|\\(?s:.))*+)\""
    r"|(?P<name>[\w./:$-]++)|(?P<sign>[=;{}])"
)
_APPLE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|([0-7]{1,3})|(?s:(.)))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_PHP = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{1,2})|(?s:(.)))")
_COMMANDS = {"accesskey", "key", "keycode", "style", "href", "src"}  # attributes that say no text


def properties(text: str, options: Options) -> Parsed[str]:
    """The values of a .properties file; what is not ASCII is escaped, unless the file has some."""
    import javaproperties

    edits, end = TextEdits(text), 0
    for item in javaproperties.parse(text):
        start, end = end, end + len(item.source)
        if isinstance(item, javaproperties.KeyValue) and item.value:
            ahead = _ahead_of_value(javaproperties.loads, item.source)
            stop = end - len(item.source) + len(item.source.rstrip("\r\n"))
            edits.translate(
                start + ahead,
                stop,
                item.value,
                partial(_property, javaproperties.join_key_value, text.isascii()),
            )
    return edits.parsed()


def _ahead_of_value(loads: Callable[[str], dict[str, str]], source: str) -> int:
    """Where a value begins, the last place at which another one would have the same key."""
    known: list[int] = []
    for match in re.finditer(r"[=:\s]", source[:1000]):
        if [*loads(f"{source[: match.end()]}\1").values()] == ["\1"]:
            known.append(match.end())
        elif known:
            break
    return known[-1] if known else len(source)


def _property(join: Callable[..., str], is_ascii: bool, text: str) -> str:
    said = join("", text, separator="", ensure_ascii=is_ascii)
    return re.sub(r"\\([#!]|(?<=.\\)[=:])", r"\1", said)  # which only a key must escape


def strings(text: str, options: Options) -> Parsed[str]:
    """The values of an Apple .strings file: pairs of strings, with = between and ; behind."""
    edits, place, pair = TextEdits(text), 0, list[re.Match[str]]()
    while place < len(text):
        match = _STRINGS.match(text, place)
        if not match:
            raise UserError(f'expected strings as "key" = "value"; got {text[place:][:30]!r}')
        place = match.end()
        if match.lastgroup == "sign" and match["sign"] == ";":
            kinds = [part["sign"] or part.lastgroup for part in pair]
            if len(pair) != 3 or kinds[1] != "=":
                raise UserError('expected strings as "key" = "value";')
            if kinds[2] == "string":
                said = _APPLE.sub(_apple_said, pair[2]["string"].replace("\r\n", "\n"))
                edits.translate(*pair[2].span("string"), said, _apple)
            pair = []
        elif match.lastgroup != "stays":
            pair.append(match)
    if pair:
        raise UserError('expected strings as "key" = "value";')
    return edits.parsed()


def _apple_said(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return chr(int(match[1], 16) if match[1] else int(match[2], 8))
    return _LETTERS.get(match[3], match[3])


def _apple(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def ini(text: str, options: Options) -> Parsed[str]:
    """The values of an INI file, with or without a section at its beginning."""
    from iniparse import ini as iniparse

    newline, lines = "\r\n" if "\r\n" in text else "\n", text.replace("\r\n", "\n")
    head = "" if re.match(r"\s*+(?:[;#].*\s++)*+\[", lines) else "[texts]\n"
    config: Any = ""
    with contextlib.suppress(configparser.Error):
        config = iniparse.INIConfig(io.StringIO(head + lines), optionxformvalue=None)
    if str(config) != head + lines or lines.replace("\n", newline) != text:
        raise UserError("expected an INI file of sections, keys, values and comments")
    units: list[Unit] = []
    for section in config:
        for key in config[section]:
            value = config[section][key]
            quote = value[0] if len(value) > 1 and value[0] == value[-1] in "\"'" else ""
            said = value[1:-1] if quote else value
            units += text_units(said, partial(_set_option, config[section], key, said, quote))
    return Parsed(units, lambda: str(config).removeprefix(head).replace("\n", newline))


def _set_option(section: Any, key: str, before: str, quote: str, text: str) -> None:
    if text != before:
        section[key] = f"{quote}{text.replace(quote, chr(39)) if quote else text}{quote}"


def php(text: str, options: Options) -> Parsed[str]:
    """The strings of PHP that are values: of arrays, variables, constants and define()."""
    import tree_sitter
    import tree_sitter_php

    content = text.encode(errors="surrogatepass")
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_php.language_php()))
    root = parser.parse(content).root_node
    if root.has_error:
        raise UserError("expected sound PHP")
    places = _Places(content)
    edits = TextEdits(text)
    for node in _php_values(root):
        start, stop = (places.of(byte) for byte in (node.start_byte, node.end_byte))
        is_plain = node.type == "string"
        line = InlineContent(_php_parts(node, content, is_plain))
        edits.translate_inline(start + 1, stop - 1, line, partial(_php_text, is_plain))
    return edits.parsed()


class _Places:
    """Places in a text by those in its bytes, in ascending order."""

    def __init__(self, content: bytes) -> None:
        self._content, self._byte, self._place = content, 0, 0

    def of(self, byte: int) -> int:
        """The place of a character by that of its first byte."""
        own = self._content[self._byte : byte].decode(errors="surrogatepass")
        self._byte, self._place = byte, self._place + len(own)
        return self._place


def _php_values(root: Any) -> Iterator[Any]:
    """Strings that are values, in order."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.named_children
        if node.type in ("string", "encapsed_string"):
            yield node
        elif node.type in ("array_element_initializer", "assignment_expression", "const_element"):
            waiting += children[-1:]
        elif node.type == "function_call_expression":
            name, arguments = children[0], children[-1].named_children
            waiting += arguments[1:2] if name.text == b"define" else []
        elif node.type not in ("subscript_expression", "binary_expression"):
            waiting += children[::-1]


def _php_parts(
    node: Any, content: bytes, is_plain: bool
) -> Iterator[tuple[str | None, bool, Verbatim]]:
    end = node.start_byte + 1
    pieces: list[tuple[str | None, str]] = []
    for child in node.named_children:
        between = content[end : child.start_byte].decode()
        pieces += [(None, between)] if between else []
        own, end = child.text.decode(), child.end_byte
        if child.type == "string_content":
            pieces.append((own, own))
        elif child.type == "escape_sequence" and not is_plain:
            pieces.append((_PHP.sub(_php_said, own), own))
        else:
            pieces.append((own[1:], own) if child.type == "escape_sequence" else (None, own))
    rest = content[end : node.end_byte - 1].decode()
    pieces += [(None, rest)] if rest else []
    for stays, group in groupby(pieces, lambda piece: piece[0] is None):
        parts = [*group]
        own = "".join(source for _, source in parts)
        if stays:
            yield None, False, Verbatim(own)
            continue
        said = "".join(text or "" for text, _ in parts)
        for number, part in enumerate(re.split(r"((?<!\w):\w++)", said)):  # Laravel's placeholders
            yield (None if number % 2 else part), False, Verbatim(part)


def _php_said(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return chr(int(match[1] or match[2], 16))
    return _LETTERS.get(match[3], match[3])


def _php_text(is_plain: bool, text: str) -> str:
    text = text.replace("\\", "\\\\")
    if is_plain:
        return text.replace("'", "\\'")
    return text.replace('"', '\\"').replace("$", "\\$").replace("\n", "\\n").replace("\t", "\\t")


def fluent(text: str, options: Options) -> Parsed[str]:
    """Messages of Fluent and their attributes; terms, which are names, and arguments stay."""
    from fluent.syntax import FluentParser, ast

    edits = TextEdits(text)
    for entry in FluentParser().parse(text).body:
        if isinstance(entry, ast.Junk):
            raise UserError(f"expected sound Fluent, got {(entry.content or '')[:30]!r}")
        if not isinstance(entry, ast.Message):
            continue
        said = [a.value for a in entry.attributes if a.id.name not in _COMMANDS]
        for pattern in filter(None, [entry.value, *said]):
            _add_pattern(edits, text, pattern)
    return edits.parsed()


def _add_pattern(edits: TextEdits, text: str, pattern: Any) -> None:
    """Translates the texts of a pattern; each branch of a selection by itself."""

    def selection(element: Any) -> Any:
        return getattr(getattr(element, "expression", None), "variants", None)

    for is_text, group in groupby(pattern.elements, lambda element: not selection(element)):
        own = [*group]
        if is_text:
            line = InlineContent(_fluent_parts(own, text))
            newline = "\r\n" if "\r\n" in text else "\n"
            edits.translate_inline(
                own[0].span.start, own[-1].span.end, line, partial(_fluent, newline)
            )
        for variant in (v for element in own if not is_text for v in selection(element)):
            _add_pattern(edits, text, variant.value)


def _fluent_parts(elements: list[Any], text: str) -> Iterator[tuple[str | None, bool, Verbatim]]:
    for element in elements:
        source = Verbatim(text[element.span.start : element.span.end])
        yield getattr(element, "value", None), False, source


def _fluent(newline: str, text: str) -> str:
    first, *more = text.translate({ord(sign): f'{{"{sign}"}}' for sign in "{}"}).split("\n")
    said = (
        f'{{"{line[0]}"}}{line[1:]}' if line.startswith(("[", "*", ".")) else line for line in more
    )
    return f"{newline}    ".join([first, *said])
