"""Resources of programs: .properties, Apple's, INI, PHP, Fluent, and in XML Android's and .NET's.

Keys, comments, quotes and layout stay. Libraries say where the texts stand, or where they cannot,
what they say.
"""

import configparser
import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from transformer.config import UserError
from transformer.documents import html, xml
from transformer.documents.edits import TextEdits, Verbatim, parse_text
from transformer.documents.passages import InlineContent, Options, Parsed, unescape
from transformer.documents.tokens import replace_attribute

_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_PHP_ESCAPE = re.compile(r"\\(?:(?:u\{|x)(?P<hex>[0-9A-Fa-f]{1,6})\}?|(?s:(?P<char>.)))")
_APPLE_ESCAPE = re.compile(
    r"\\(?:[Uu](?P<hex>[0-9A-Fa-f]{4})|(?P<octal>[0-7]{1,3})|(?s:(?P<char>.)))"
)
_ANDROID_PIECE = re.compile(r"\\(?:u(?P<hex>[0-9A-Fa-f]{4})|(?s:(?P<char>.)))|\"|\s++")
_COMMENTS = r"(?:\s++|//[^\n]*+|/\*(?s:.*?)\*/)*+"
_STRING, _NAME = r'"(?:[^"\\]++|\\(?s:.))*+"', r"[\w./:$-]++"
_APPLE_ENTRY = re.compile(
    rf"{_COMMENTS}(?:(?:{_STRING}|{_NAME}){_COMMENTS}={_COMMENTS}"
    rf"(?:(?P<value>{_STRING})|{_NAME}){_COMMENTS};|\Z)"
)
_PHP_PLACEHOLDER = re.compile(r"((?<!\w):\w++)")  # of Laravel
_FLUENT_COMMANDS = {"accesskey", "key", "keycode", "style", "href", "src"}  # attributes, no texts
_INLINE = "a annotation b big em font i small span strike strong sub sup tt u"
_RULES = html.MarkupRules(
    frozenset(_INLINE.split()),
    frozenset({"xliff:g"}),
    escape=xml.escape_text,
    preserve_space=True,
)
_APPLE_TEXTS = {"NSStringLocalizedFormatKey", "zero", "one", "two", "few", "many", "other"}


def _decode_escape(match: re.Match[str]) -> str:
    """Return the character of an escape sequence, by its code in `hex` or `octal`, or `char`."""
    groups = match.groupdict()
    if groups["hex"] or groups.get("octal"):
        return chr(int(groups["hex"], 16) if groups["hex"] else int(groups["octal"], 8))
    return _CONTROLS.get(groups["char"], groups["char"])


def _escape(signs: str, text: str) -> str:
    """Put a backslash before each of `signs` in a text; a line break becomes \\n, a tab \\t."""
    letters = {control: letter for letter, control in _CONTROLS.items()}
    return text.translate({ord(sign): f"\\{letters.get(sign, sign)}" for sign in signs})


def parse_properties(text: str, options: Options) -> Parsed[str]:
    """Parse a .properties file; values are written in ASCII if the whole file is."""
    import javaproperties
    from javaproperties.reading import SEPARATOR_RGX

    def escape(value: str) -> str:
        entry = javaproperties.join_key_value("", value, "", ensure_ascii=text.isascii())
        return re.sub(r"\\([#!]|(?<=.\\)[=:])", r"\1", entry)  # which only a key must escape

    edits = TextEdits(text)
    for pieces in _logical_lines(text):
        line = "".join(piece for _, piece in pieces)
        item = next(javaproperties.parse(line), None)
        if isinstance(item, javaproperties.KeyValue) and item.value:
            offset = SEPARATOR_RGX.search(line).end()  # type: ignore[union-attr]
            for start, piece in pieces:
                start, offset = start + offset, offset - len(piece)
                if offset < 0:
                    break
            edits.translate(start, pieces[-1][0] + len(pieces[-1][1]), item.value, escape)
    return edits.parsed()


def _logical_lines(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of a .properties file, each with those that continue it: place and text.

    The library joins continued lines, too, but in quadratic time.
    """
    pieces: list[tuple[int, str]] = []
    for match in re.finditer(r"[ \t\f]*+([^\r\n]*+)(\r\n?|\n|\Z)", text):
        line = match[1]
        is_comment = not pieces and line[:1] in ("#", "!")
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 and match[2] and not is_comment
        pieces.append((match.start(1), line[:-1] if is_continued else line))
        if not is_continued:
            yield pieces
            pieces = []


def parse_strings(text: str, options: Options) -> Parsed[str]:
    """Parse an Apple .strings file, entries "key" = "value";, whose values are translated.

    Raises UserError with the line number for anything else between them than comments.
    """
    edits, place = TextEdits(text), 0
    while place < len(text):
        entry = _APPLE_ENTRY.match(text, place)
        if not entry:
            rest = text[place:].lstrip()
            line = text.count("\n", 0, len(text) - len(rest)) + 1
            raise UserError(f'line {line}: expected strings as "key" = "value"; got {rest[:30]!r}')
        place = entry.end()
        if source := entry["value"]:
            decoded = _APPLE_ESCAPE.sub(_decode_escape, source[1:-1].replace("\r\n", "\n"))
            start, stop = entry.span("value")
            edits.translate(start + 1, stop - 1, decoded, partial(_escape, '\\"\n\t'))
    return edits.parsed()


def parse_ini(text: str, options: Options) -> Parsed[str]:
    """Parse an INI file, with or without a section at its beginning; iniparse writes it.

    Raises UserError if iniparse would not write the file as it is.
    """
    from iniparse import ini

    newline, lines = "\r\n" if "\r\n" in text else "\n", text.replace("\r\n", "\n")
    head = "" if re.match(r"\s*+(?:[;#].*\s++)*+\[", lines) else "[texts]\n"
    config: Any = ""
    with contextlib.suppress(configparser.Error):
        config = ini.INIConfig(io.StringIO(head + lines), optionxformvalue=None)
    if str(config) != head + lines or lines.replace("\n", newline) != text:
        raise UserError("expected an INI file of sections, keys, values and comments")
    values = list[tuple[Any, str, str, Parsed[str]]]()
    for section in (config[name] for name in config):
        for key in section:
            value = section[key]
            quote = value[0] if len(value) > 1 and value[0] == value[-1] in "\"'" else ""
            values.append((section, key, quote, parse_text(value[1:-1] if quote else value)))

    def render() -> str:
        for section, key, quote, parsed in values:
            if section[key] != f"{quote}{parsed.render()}{quote}":
                new = parsed.render().replace(quote or "'", "'")
                section[key] = f"{quote}{new}{quote}"
        return str(config).removeprefix(head).replace("\n", newline)

    return Parsed([unit for *_, parsed in values for unit in parsed.units], render)


def parse_php(text: str, options: Options) -> Parsed[str]:
    """Parse PHP: its strings that are values of arrays, variables, constants and define().

    Raises UserError for a syntax error.
    """
    import tree_sitter
    import tree_sitter_php

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_php.language_php()))
    # Letters of ASCII instead of others make its places in bytes those in the text.
    root = parser.parse(re.sub(r"[^\0-\x7f]", "z", text).encode()).root_node
    if root.has_error:
        raise UserError("expected sound PHP")
    edits = TextEdits(text)
    for node in _php_values(root):
        content = InlineContent(_php_parts(node, text))
        escape = partial(_escape, "\\'" if node.type == "string" else '\\"$\n\t')
        edits.translate_inline(node.start_byte + 1, node.end_byte - 1, content, escape)
    return edits.parsed()


def _php_values(root: Any) -> Iterator[Any]:
    """Yield the nodes of tree-sitter, below `root`, of strings that are values, in order."""
    stack = [root]
    while stack:
        node = stack.pop()
        children = node.named_children
        if node.type in ("string", "encapsed_string"):
            yield node
        elif node.type in ("array_element_initializer", "assignment_expression", "const_element"):
            stack += children[-1:]
        elif node.type == "function_call_expression":
            stack += children[-1].named_children[1:2] if children[0].text == b"define" else []
        elif node.type not in ("subscript_expression", "binary_expression"):
            stack += children[::-1]


def _php_parts(node: Any, text: str) -> Iterator[tuple[str | None, bool, Verbatim]]:
    """Yield a string's parts for `InlineContent`: (text or None for a variable, False, source)."""
    pieces: list[tuple[str | None, str]] = []  # what it says, if it is text, and its source
    end = node.start_byte + 1
    for child in node.named_children:
        source = decoded = text[child.start_byte : child.end_byte]
        if child.type == "escape_sequence":
            is_plain = node.type == "string"
            decoded = source[1:] if is_plain else _PHP_ESCAPE.sub(_decode_escape, source)
        is_text = child.type in ("string_content", "escape_sequence")
        pieces += [(None, text[end : child.start_byte]), (decoded if is_text else None, source)]
        end = child.end_byte
    pieces.append((None, text[end : node.end_byte - 1]))
    for is_code, group in groupby(filter(lambda p: p[1], pieces), lambda piece: piece[0] is None):
        parts = [*group]
        if is_code:
            yield None, False, Verbatim("".join(source for _, source in parts))
            continue
        decoded = "".join(decoded or "" for decoded, _ in parts)
        for number, part in enumerate(_PHP_PLACEHOLDER.split(decoded)):
            yield (None if number % 2 else part), False, Verbatim(part)


def parse_fluent(text: str, options: Options) -> Parsed[str]:
    """Parse messages of Fluent and their attributes; terms, which are names, and arguments stay.

    Raises UserError for a syntax error.
    """
    from fluent.syntax import FluentParser, ast

    edits = TextEdits(text)
    for entry in FluentParser().parse(text).body:
        if isinstance(entry, ast.Junk):
            raise UserError(f"expected sound Fluent, got {(entry.content or '')[:30]!r}")
        if not isinstance(entry, ast.Message):
            continue
        texts = [a.value for a in entry.attributes if a.id.name not in _FLUENT_COMMANDS]
        for pattern in filter(None, [entry.value, *texts]):
            _translate_pattern(edits, text, pattern)
    return edits.parsed()


def _translate_pattern(edits: TextEdits, text: str, pattern: Any) -> None:
    """Add the units of a Fluent `pattern` of `text` to `edits`; each variant has its own."""

    def variants(element: Any) -> list[Any]:
        return getattr(getattr(element, "expression", None), "variants", None) or []

    for is_selection, group in groupby(pattern.elements, lambda element: bool(variants(element))):
        elements = [*group]
        if is_selection:
            for variant in (variant for element in elements for variant in variants(element)):
                _translate_pattern(edits, text, variant.value)
            continue
        content = InlineContent(
            (getattr(e, "value", None), False, Verbatim(text[e.span.start : e.span.end]))
            for e in elements
        )
        escape = partial(_escape_fluent, "\r\n" if "\r\n" in text else "\n")
        edits.translate_inline(elements[0].span.start, elements[-1].span.end, content, escape)


def _escape_fluent(newline: str, text: str) -> str:
    text = re.sub(r"[{}]|(?<=\n)[\[*.]", r'{"\g<0>"}', text)
    return text.replace("\n", f"{newline}    ")


def _decode_android(text: str) -> str:
    """Return what a string of Android says: white space is one space, but between quotes."""
    is_quoted = False

    def decode(match: re.Match[str]) -> str:
        nonlocal is_quoted
        if match[0][0] == "\\":
            return _decode_escape(match)
        is_quoted ^= match[0] == '"'
        return "" if match[0] == '"' else match[0] if is_quoted else " "

    return _ANDROID_PIECE.sub(decode, text)


def _escape_android(text: str, source: str) -> str:
    text = _escape("\\\n\t'\"", text)
    text = f"\\{text}" if text.startswith(("@", "?")) else text
    return xml.escape_text(f'"{text}"' if source.strip()[:1] == '"' else text, source)


def parse_android(text: str, options: Options) -> Parsed[str]:
    """Parse strings, arrays and plurals of Android; those marked translatable="false" stay.

    The form `many` of a plural, which only Spanish has, is removed or added. Raises UserError for
    unsound XML, or without an element <resources>.
    """
    file = xml.Elements(text, replace(_RULES, escape=_escape_android))
    if not [*file.find("resources")]:
        raise UserError("expected <resources> of Android in .xml, the one kind of it that is read")
    for start, end in file.find("string", "string-array", "plurals"):
        if file.attributes(start).get("translatable") == "false":
            continue
        is_list = file.tokens[start].name != "string"
        spans = [*file.find("item", start=start + 1, stop=end)] if is_list else [(start, end)]
        forms = {file.attributes(first).get("quantity", ""): (first, last) for first, last in spans}
        if options.target == "en" and "many" in forms:
            spans.remove(forms["many"])
            file.clear(forms["many"][0] - 1, forms["many"][1] + 1)
        for first, last in spans:
            for token in file.tokens[first + 1 : last]:
                if token.kind == "text":
                    token.decoded = _decode_android(token.text)
            if not file.source(first + 1, last).startswith(("@", "?")):  # another resource
                file.translate(first + 1, last)
        if options.target == "es" and "other" in forms and "many" not in forms:
            first, last = forms["other"]
            copies = file.insert_copy(last, first - 1, last + 1)
            for copy in copies:
                if copy.name == "item" and copy.kind == "open":
                    copy.source = replace_attribute(copy.source, "quantity", "many")
            file.units += html.extract_units(copies, file.rules)
    return file.parsed()


def parse_resx(text: str, options: Options) -> Parsed[str]:
    """Parse untyped values of .NET, but those with names as >>x.Name; UserError for unsound XML."""
    file = xml.Elements(text, _RULES)
    for start, end in file.find("data"):
        values = file.attributes(start)
        if values.keys() & {"type", "mimetype"} or values.get("name", "").startswith(">>"):
            continue
        for first, last in file.find("value", start=start + 1, stop=end):
            file.translate(first + 1, last)
    return file.parsed()


def parse_stringsdict(text: str, options: Options) -> Parsed[str]:
    """Parse plurals of Apple: the forms, and the sentence around them; UserError if unsound."""
    file = xml.Elements(text, _RULES)
    for start, end in file.find("key"):
        place = file.next_place(end)
        key = unescape(file.source(start + 1, end))
        if file.tokens[place].name == "string" and key in _APPLE_TEXTS:
            file.translate(place + 1, file.end(place))
    return file.parsed()
