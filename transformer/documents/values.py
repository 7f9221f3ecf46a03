"""Tables, JSON and YAML: their texts change; quotes, keys, numbers and layout stay.

`Options.columns` names the columns of a table, by its first row or by number, and the keys of JSON
and YAML whose texts are translated. The standard library's csv says nothing of where a cell stands.
"""

import contextlib
import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from json import scanner
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from transformer.config import UserError
from transformer.documents.edits import TextEdits
from transformer.documents.passages import Metadata, Options, Parsed, resolve_target

_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a character, which alone UTF-8 cannot write
# Keys whose values of one small word are for the program.
_IDENTIFIER_KEY = re.compile(
    r"(?i:(?:^|.*[_.-])|.*(?-i:(?=[A-Z])))(?i:id|icon|class|type|href|src|url|slug|key"
    r"|locale|lang|language|format|colou?r|style|variant|target|name_?space)"
)
_IDENTIFIER = re.compile(r"[a-z\d]+(?:[-_./:][a-z\d]+)*")
_STOP = re.compile(r"[,;]")
_COLUMN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*")
_CODE_NAME = re.compile(r"[a-z]|Id$|ID$|.*_|.*[a-z][A-Z]")  # for programs, not for people
_NOT_PLAIN = re.compile(r"[\[\]{},]|^\s|\s$|\n")
MAX_NESTED = 500  # lists and mappings of YAML in each other: deeper ones end libyaml's own stack
_SYMBOL, _MASK = re.compile(r"(?<=[\[,\s]):(?=[a-z])"), "\uf8ff"  # instead of its colon
_PROPERTIES = re.compile(r"(?:[&!]\S*+\s++)*+")  # of a YAML value: an anchor, a tag


def _is_selected(key: str, text: str, columns: Collection[str]) -> bool:
    """Return whether `text`, the value of `key`, is translated.

    With `columns` it is if they have its key. Without, all are but those under a key that begins
    with @, and small words under a key for programs, such as "id": "main".
    """
    if columns:
        return key in columns
    return key[:1] != "@" and not (_IDENTIFIER.fullmatch(text) and _IDENTIFIER_KEY.fullmatch(key))


def _check_known(kind: str, known: Collection[str], requested: Iterable[str]) -> None:
    if unknown := [name for name in requested if name not in known]:
        raise UserError(
            f"expected {kind} out of {', '.join(known)[:300]}; got {', '.join(unknown)[:99]}"
        )


def parse_table(text: str, options: Options, delimiter: str = "") -> Parsed[str]:
    """Parse a table; its first row stays if columns are named or it has names for programs.

    Without a `delimiter` it is the one of , ; tab and | that the first row has most of. UserError
    for a column that the table does not have.
    """
    first = text.partition("\n")[0]
    delimiter = delimiter or max(",;\t|", key=first.count)
    cell = re.compile(
        rf'("(?:[^"]++|"")*+"[^{re.escape(delimiter)}\r\n]*+|[^{re.escape(delimiter)}\r\n]*+)'
        rf"([{re.escape(delimiter)}]|\r?\n|\r|\Z)"
    )
    rows: list[list[tuple[int, int, str, bool]]] = [[]]  # of span, text, whether it is quoted
    for match in cell.finditer(text):
        value, end = match.groups()
        is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
        decoded = value[1:-1].replace('""', '"') if is_quoted else value
        rows[-1].append((*match.span(1), decoded, is_quoted))
        if end != delimiter:
            rows.append([])
    names = [decoded.strip() for *_, decoded, _ in rows[0]]
    places = {str(i): i for i in range(1, len(names) + 1)} | {n: i for i, n in enumerate(names, 1)}
    _check_known("columns", names, [name for name in options.columns if name not in places])
    columns = {places[name] for name in options.columns} or range(1, len(text) + 2)
    cells = (decoded for row in rows[1:] for *_, decoded, _ in row)
    edits = TextEdits(text)
    for row in rows[1 if options.columns or _is_header(names, cells) else 0 :]:
        for column, (start, stop, decoded, is_quoted) in enumerate(row, 1):
            if column in columns:
                escape = functools.partial(_escape_cell, decoded, is_quoted, delimiter)
                edits.translate(start, stop, decoded, escape)
    return edits.parsed()


def _is_header(names: Sequence[str], cells: Iterable[str]) -> bool:
    """Return whether the first row has names for programs (user_id), and a cell below is no name.

    The names must be several, all different, without spaces.
    """
    return (
        len(names) == len({*names}) > 1
        and all(map(_COLUMN_NAME.fullmatch, names))
        and any(map(_CODE_NAME.match, names))
        and not all(_COLUMN_NAME.fullmatch(cell) for cell in cells if cell)
    )


def _escape_cell(source: str, is_quoted: bool, delimiter: str, text: str) -> str:
    """Return `text`, the translation of `source`, as a cell of a table.

    It is put in quotes, and its quotes doubled, if `is_quoted`, if it begins with a quote, or if it
    has a line break, the delimiter or, unless that is a tab, a quote. A model writes a comma for a
    semicolon: the nth of both in `text` becomes the nth of `source`, unless `text` has more.
    """
    stops = iter(_STOP.findall(source))
    if len(_STOP.findall(text)) <= len(_STOP.findall(source)):  # a semicolon comes out as a comma
        text = _STOP.sub(lambda _: next(stops), text)
    signs = (delimiter, "\n", "\r", *('"' if delimiter != "\t" else ""))
    if is_quoted or text[:1] == '"' or any(sign in text for sign in signs):
        return '"' + text.replace('"', '""') + '"'
    return text


class JSONString(str):
    """A decoded string of JSON with its span in the file, quotes included, and a `missing_form`."""

    start: int
    stop: int
    missing_form = ""  # the key of the plural form that Spanish has behind it and English has not


class JSONObject(list[tuple[str, Any]]):
    """The keys and values of an object of JSON, in order; a key may come twice."""


def decode_json(text: str, line: int = 1, offset: int = 0) -> Any:
    """Decode JSON to `JSONObject`, lists, `JSONString`, str for numbers, and True, False and None.

    `line`, from 1, and `offset` in characters say where the text begins in its file. UserError with
    the line if it is not sound.
    """

    def parse_string(text: str, start: int, strict: bool) -> tuple[JSONString, int]:
        decoded, stop = scanstring(text, start, strict)
        string = JSONString(decoded)
        string.start, string.stop = offset + start - 1, offset + stop
        return string, stop

    decoder: Any = json.JSONDecoder(object_pairs_hook=JSONObject, parse_int=str, parse_float=str)
    decoder.parse_string = parse_string
    decoder.scan_once = scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        if not text:
            raise
        raise UserError(f"line {line + error.lineno - 1}: expected JSON: {error.msg}") from None


def parse_json(text: str, options: Options, is_lines: bool = False) -> Parsed[str]:
    """Parse JSON, or with `is_lines` JSON Lines, one value on each line.

    All strings are translated but keys, identifiers and those under @ keys; with `columns` those
    under these keys. In Spanish, a plural gets the form `..._many`. UserError for unsound JSON, and
    for a column that is no key of a string.
    """
    strings, place = list[tuple[str, JSONString]](), 0
    for number, line in enumerate(text.split("\n") if is_lines else [text], 1):
        if line.strip() or not is_lines:
            strings += _strings_by_key(decode_json(line, number, place))
        place += len(line) + 1
    edits = TextEdits(text)
    for key, string in strings:
        if _is_selected(key, string, options.columns):
            source = text[string.start : string.stop]
            is_ascii = ("\\u" in source and source.isascii()) or bool(_HALF.search(source))
            escape = functools.partial(json.dumps, ensure_ascii=is_ascii)
            edits.translate(string.start, string.stop, str(string), escape)
            if string.missing_form and options.target == "es":
                between = _before_value(text, key, string)
                edits.insert(string.stop, between, str(string), escape)
    _check_known("keys of texts", dict.fromkeys(key for key, _ in strings), options.columns)
    return edits.parsed()


def _strings_by_key(root: Any) -> Iterator[tuple[str, JSONString]]:
    """Yield the strings in order, each with its key.

    The items of a list have the key of the list, and the root has the key "". A key "@x" beside
    "x", and all keys under it, get @@ in front. In a plural without `..._many`, the string of
    `..._other` gets this key as its `missing_form`.
    """
    stack = [("", root)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, JSONObject):
            names = {name for name, _ in value}
            for name, item in value:
                stem = name.removesuffix("_other")
                is_plural = stem != name and f"{stem}_one" in names and f"{stem}_many" not in names
                if is_plural and isinstance(item, JSONString):
                    item.missing_form = f"{stem}_many"
            # What describes another key, as "@x" does "x", stays with all that is in it.
            for name, item in value[::-1]:
                is_about = key[:2] == "@@" or (name[:1] == "@" and name[1:] in names)
                stack.append((f"@@{name}" if is_about else name, item))
        elif isinstance(value, list):
            stack += [(key, each) for each in value[::-1]]
        elif isinstance(value, JSONString):
            yield key, value


def _before_value(text: str, key: str, string: JSONString) -> str:
    """Return the comma, key and colon that go ahead of a value for `string.missing_form`.

    The white space is that around `key`, the key of `string` in `text`.
    """
    begin = text.rfind(json.dumps(key), 0, string.start)
    before = text[max(0, begin - 200) : max(0, begin)]
    space = before[len(before.rstrip()) :]
    colon = text[begin + len(json.dumps(key)) : string.start] if begin >= 0 else ": "
    return f",{space}{json.dumps(string.missing_form)}{colon}"


def parse_arb(text: str, options: Options) -> Parsed[str]:
    """Parse messages of Flutter; values under @ keys stay, but the language is replaced.

    Raises UserError if the file is no object of messages.
    """
    root = decode_json(text)
    if not isinstance(root, JSONObject):
        raise UserError("expected messages by their keys in an ARB file")
    edits, source = TextEdits(text), ""
    escape = functools.partial(json.dumps, ensure_ascii=False)
    for key, value in root:
        if not isinstance(value, JSONString):
            continue
        if key == "@@locale":
            source = value
            code = resolve_target(source, "", options)
            edits.replace(value.start, value.stop, json.dumps(code) if code else f'"{source}"')
        elif key[:1] != "@":
            edits.translate(value.start, value.stop, str(value), escape)
    return edits.parsed(Metadata(source))


def parse_yaml(text: str, options: Options) -> Parsed[str]:
    """Parse YAML: its strings but keys and identifiers, each written in the style that it has.

    A language that is the key of a whole file, as in Rails, is replaced by the target language.
    UserError for unsound YAML, and for a column that is no key of a string.
    """
    roots = _compose_yaml(text)
    nodes = [node for root in roots for node in _scalars_by_key(root)]
    _check_known("keys of texts", dict.fromkeys(key for key, _ in nodes), options.columns)
    edits, source = TextEdits(text), ""
    if (root := _language_key(roots)) is not None:
        source = root.value
        code = resolve_target(source, "", options) or source
        start, stop = root.start_mark.index, root.end_mark.index
        edits.replace(start, stop, text[start:stop].replace(source, code))
    for key, node in sorted(nodes, key=lambda named: named[1].start_mark.index):
        start, stop = node.start_mark.index, node.end_mark.index
        start = _PROPERTIES.match(text, start, stop).end()  # type: ignore[union-attr]
        decoded = node.value.replace(_MASK, ":")
        is_symbol = not node.style and decoded[:1] == ":" and decoded[1:].isidentifier()  # of Ruby
        if start >= edits.end and not is_symbol and _is_selected(key, decoded, options.columns):
            escape = functools.partial(_escape_scalar, text[start:stop], node.style)
            edits.translate(start, stop, decoded, escape)
    return edits.parsed(Metadata(source))


def _language_key(roots: list[Any]) -> Any:
    """Return the node of the language that is the only key of a Rails file; None for others."""
    if len(roots) != 1 or roots[0] is None or roots[0].id != "mapping" or len(roots[0].value) != 1:
        return None
    key, value = roots[0].value[0]
    is_code = key.id == "scalar" and re.fullmatch(r"(?:es|en)(?:[-_]\w++)?", key.value)
    return key if is_code and value.id == "mapping" else None


def _yaml_loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _compose_yaml(text: str) -> list[Any]:
    """Return the root node of each YAML document in a text.

    PyYAML rejects Ruby symbols in a list, as in [:day, :month]; then it gets a masked copy.
    UserError for unsound YAML, with the line, and for more than MAX_NESTED levels.
    """
    import yaml

    for masked in (text, _SYMBOL.sub(_MASK, text)):
        try:
            depth = 0
            for event in yaml.parse(masked, _yaml_loader()):
                name = type(event).__name__
                depth += name.endswith("StartEvent") - name.endswith("EndEvent")
                if depth > MAX_NESTED:
                    raise UserError(f"expected YAML of at most {MAX_NESTED} levels, got more")
            return [*yaml.compose_all(masked, _yaml_loader())]
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            start = mark.index if mark else getattr(error, "position", 0)
            why = getattr(error, "problem", None) or "a character that it may not have"
    raise UserError(f"line {text.count(chr(10), 0, start) + 1}: expected sound YAML, got: {why}")


def _scalars_by_key(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield the key and the node of each string under a root node of PyYAML, not in order.

    Items of a list have the key of the list. What an alias repeats comes once.
    """
    stack, seen = [("", root)], set[int]()
    while stack:
        key, node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "mapping":
            stack += [(k.value if k.id == "scalar" else "", value) for k, value in node.value]
        elif node.id == "sequence":
            stack += [(key, value) for value in node.value]
        elif node.tag == "tag:yaml.org,2002:str":
            yield key, node


def _escape_scalar(source: str, style: str | None, text: str) -> str:
    """Return `text` as a YAML scalar in the style of `source`, the scalar in the file.

    `style` is PyYAML's: a quote, | or >, or None for a plain one. A text that cannot be written
    so is put in double quotes.
    """
    import yaml

    if style == "'" and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    if not style and not _NOT_PLAIN.search(text):
        with contextlib.suppress(yaml.YAMLError):
            if yaml.load(f"- {text}", _yaml_loader()) == [text]:
                return text
    tail = source[len(source.rstrip()) :] if style in ("|", ">") else ""
    if style not in ("|", ">") or not text[:1].strip():
        return json.dumps(text, ensure_ascii=False) + tail
    head, _, body = source.replace("\r\n", "\n").partition("\n")
    indent = re.match(r"\s*", body.lstrip("\n")).group()  # type: ignore[union-attr]
    lines = (indent + line if line else "" for line in text.rstrip("\n").split("\n"))
    body = ("\n" if style == "|" else "\n\n").join(lines)
    return f"{head}\n{body}".replace("\n", "\r\n" if "\r\n" in source else "\n") + tail
