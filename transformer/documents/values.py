"""Tables, JSON and YAML: their texts change; quotes, keys, numbers and layout stay.

`columns` names those of a table, by its first row or by number, and keys of JSON and YAML.
"""

import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from json import scanner
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from transformer.config import UserError
from transformer.documents.edits import TextEdits
from transformer.documents.passages import Metadata, Options, Parsed, resolve_target
from transformer.text.markup import Span

_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a character, which alone UTF-8 cannot write
# Keys whose values of one small word are for the program.
_CODES = re.compile(
    r"(?i:(?:^|.*[_.-])|.*(?-i:(?=[A-Z])))(?i:id|icon|class|type|href|src|url|slug|key"
    r"|locale|lang|language|format|colou?r|style|variant|target|name_?space)"
)
_WORD = re.compile(r"[a-z\d]+(?:[-_./:][a-z\d]+)*")
_STOP = re.compile(r"[,;]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*")  # of a column
_CODED = re.compile(r"[a-z]|Id$|ID$|.*_|.*[a-z][A-Z]")  # for programs, not for people
_SPECIAL = re.compile(r"[\[\]{},]|^\s|\s$|\n")
MAX_NESTED = 500  # lists and mappings of YAML in each other: deeper ones end libyaml's own stack
_SYMBOL, _MASK = re.compile(r"(?<=[\[,\s]):(?=[a-z])"), "\uf8ff"  # instead of its colon
_PROPERTIES = re.compile(r"(?:[&!]\S*+\s++)*+")  # of a YAML value: an anchor, a tag


def is_code(key: str, said: str) -> bool:
    """Whether a value is for the program, and no text: an icon, a class, the type of something."""
    return key[:1] == "@" or bool(_WORD.fullmatch(said) and _CODES.fullmatch(key))


def table(text: str, options: Options, delimiter: str = "") -> Parsed[str]:
    """The cells of a table; with named columns the first row and all others stay.

    So does a first row of names for programs."""
    first = text.partition("\n")[0]
    delimiter = delimiter or max(",;\t|", key=first.count)
    field = re.compile(
        rf'("(?:[^"]++|"")*+"[^{re.escape(delimiter)}\r\n]*+|[^{re.escape(delimiter)}\r\n]*+)'
        rf"([{re.escape(delimiter)}]|\r?\n|\r|\Z)"
    )
    rows: list[list[tuple[Span, str, bool]]] = [[]]
    for match in field.finditer(text):
        value, end = match.groups()
        is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
        said = value[1:-1].replace('""', '"') if is_quoted else value
        rows[-1].append((match.span(1), said, is_quoted))
        if end != delimiter:
            rows.append([])
    names = [said.strip() for _, said, _ in rows[0]]
    asked = _columns(names, options.columns) if options.columns else range(len(text) + 1)
    is_headed = options.columns or _is_header(
        names, [said for row in rows[1:] for _, said, _ in row]
    )
    edits = TextEdits(text)
    for row in rows[1 if is_headed else 0 :]:
        for column, (span, said, is_quoted) in enumerate(row):
            if column in asked:
                edits.translate(*span, said, _cell(said, is_quoted, delimiter))
    return edits.parsed()


def _is_header(names: Sequence[str], cells: Iterable[str]) -> bool:
    """Whether a first row has names for programs, and what is below it is of another kind."""
    return (
        len(names) == len({*names}) > 1
        and all(map(_NAME.fullmatch, names))
        and any(map(_CODED.match, names))
        and not all(_NAME.fullmatch(cell) for cell in cells if cell)
    )


def _columns(names: list[str], asked: tuple[str, ...]) -> set[int]:
    places = {**{str(i + 1): i for i in range(len(names))}, **{n: i for i, n in enumerate(names)}}
    _check_known("columns", names, [name for name in asked if name not in places])
    return {places[name] for name in asked}


def _check_known(kind: str, known: Collection[str], asked: Iterable[str]) -> None:
    if unknown := [name for name in asked if name not in known]:
        raise UserError(
            f"expected {kind} out of {', '.join(known)[:300]}; got {', '.join(unknown)[:99]}"
        )


def _cell(said: str, is_quoted: bool, delimiter: str) -> Callable[[str], str]:
    stops = _STOP.findall(said)

    def render(text: str) -> str:
        if len(_STOP.findall(text)) <= len(stops):  # a semicolon comes out as a comma
            own = iter(stops)
            text = _STOP.sub(lambda _: next(own), text)
        signs = (delimiter, "\n", "\r", *('"' if delimiter != "\t" else ""))
        must = any(sign in text for sign in signs) or text[:1] == '"'
        return '"' + text.replace('"', '""') + '"' if is_quoted or must else text

    return render


class Located(str):
    """A string of JSON, and where it stands with its quotes."""

    start: int
    stop: int
    lacks = ""  # the key of a plural form behind it that Spanish has and English has not


def located(text: str, number: int = 1) -> Any:
    """A value of JSON, mappings as lists of pairs, whose strings know where they stand.

    UserError with the line, the first having this number, for what is no JSON.
    """

    def string(text: str, start: int, strict: bool) -> tuple[Located, int]:
        said, stop = scanstring(text, start, strict)
        own = Located(said)
        own.start, own.stop = start - 1, stop
        return own, stop

    decoder: Any = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=str, parse_float=str)
    decoder.parse_string = string
    decoder.scan_once = scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        if not text:
            raise
        line = number + error.lineno - 1
        raise UserError(f"line {line}: expected JSON: {error.msg}") from None


class Pairs(list[tuple[str, Any]]):
    """The keys and values of a mapping."""


def json_values(text: str, options: Options) -> Parsed[str]:
    """The strings of JSON that are no keys; those under keys that begin with @ stay."""
    return _json_strings(text, options, _named_strings(located(text), ""))


def json_lines(text: str, options: Options) -> Parsed[str]:
    """The same of JSON values, one a line."""
    found, start = list[tuple[str, Located]](), 0
    for number, line in enumerate(text.split("\n"), 1):
        for key, own in _named_strings(located(line, number), "") if line.strip() else ():
            own.start, own.stop = own.start + start, own.stop + start
            found.append((key, own))
        start += len(line) + 1
    return _json_strings(text, options, found)


def _named_strings(root: Any, key: str) -> Iterator[tuple[str, Located]]:
    """Strings in order with the key under which each stands."""
    waiting = [(key, root)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Pairs):
            names = {name for name, _ in value}
            for name, own in value:
                stem = name.removesuffix("_other")
                if stem != name and isinstance(own, Located) and f"{stem}_one" in names:
                    own.lacks = "" if f"{stem}_many" in names else f"{stem}_many"
            waiting += value[::-1]
        elif isinstance(value, list):
            waiting += [(key, each) for each in value[::-1]]
        elif isinstance(value, Located):
            yield key, value


def _json_strings(
    text: str, options: Options, strings: Iterable[tuple[str, Located]]
) -> Parsed[str]:
    edits, known = TextEdits(text), dict[str, None]()
    for key, said in strings:
        known[key] = None
        source = text[said.start : said.stop]
        if key in options.columns or not (options.columns or is_code(key, said)):
            is_ascii = ("\\u" in source and source.isascii()) or bool(_HALF.search(source))
            render = functools.partial(json.dumps, ensure_ascii=is_ascii)
            edits.translate(said.start, said.stop, str(said), render)
            if said.lacks and options.target == "es":
                _add_form(edits, text, key, said, render)
    _check_known("keys of texts", known, options.columns)
    return edits.parsed()


def _add_form(
    edits: TextEdits, text: str, key: str, said: Located, render: Callable[[str], str]
) -> None:
    """Adds a plural form in the way in which the one before it is written."""
    begin = text.rfind(json.dumps(key), 0, said.start)
    ahead = text[max(0, begin - 200) : max(0, begin)]
    space = ahead[len(ahead.rstrip()) :]
    between = text[begin + len(json.dumps(key)) : said.start] if begin >= 0 else ": "
    edits.insert(said.stop, f",{space}{json.dumps(said.lacks)}{between}", str(said), render)


def arb(text: str, options: Options) -> Parsed[str]:
    """The messages of Flutter; what begins with @ is said of them, and stays, but the language."""
    root = located(text)
    if not isinstance(root, Pairs):
        raise UserError("expected messages by their keys in an ARB file")
    edits, source = TextEdits(text), ""
    for key, value in root:
        if not isinstance(value, Located):
            continue
        if key == "@@locale":
            source = value
            code = resolve_target(source, "", options)
            edits.replace(value.start, value.stop, json.dumps(code) if code else f'"{source}"')
        elif key[:1] != "@":
            edits.translate(value.start, value.stop, str(value), _message)
    return edits.parsed(Metadata(source))


_message = functools.partial(json.dumps, ensure_ascii=False)


def yaml_values(text: str, options: Options) -> Parsed[str]:
    """The strings of YAML that are no keys, each in the style that it has.

    A language that is the key of a whole file, as Rails has it, becomes the other one.
    """
    roots = _yaml_nodes(text)
    nodes = [node for root in roots for node in _strings(root, "")]
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
        said = node.value.replace(_MASK, ":")
        is_symbol = not node.style and said[:1] == ":" and said[1:].isidentifier()  # of Ruby
        is_asked = key in options.columns or not (options.columns or is_code(key, said))
        if start >= edits.end and is_asked and not is_symbol:
            edits.translate(start, stop, said, _scalar(text[start:stop], node.style))
    return edits.parsed(Metadata(source))


def _language_key(roots: list[Any]) -> Any:
    """The key of a file of Rails, the language of all in it; or None."""
    if len(roots) != 1 or roots[0] is None or roots[0].id != "mapping" or len(roots[0].value) != 1:
        return None
    key, value = roots[0].value[0]
    is_code = key.id == "scalar" and re.fullmatch(r"(?:es|en)(?:[-_]\w++)?", key.value)
    return key if is_code and value.id == "mapping" else None


def _yaml_nodes(text: str) -> list[Any]:
    """The documents of a text; UserError with the line for what is none.

    Symbols of Ruby in a list, as in [:day, :month], stop the parser: it sees other characters.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    for seen in (text, _SYMBOL.sub(_MASK, text)):
        try:
            _check_depth(yaml.parse(seen, loader))
            return [*yaml.compose_all(seen, loader)]
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            start = mark.index if mark else getattr(error, "position", 0)
            why = getattr(error, "problem", None) or "a character that it may not have"
    raise UserError(f"line {text.count(chr(10), 0, start) + 1}: expected sound YAML, got: {why}")


def _check_depth(events: Iterator[Any]) -> None:
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > MAX_NESTED:
            raise UserError(f"expected YAML of at most {MAX_NESTED} levels, got more")


def _strings(root: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Strings with their keys; what an alias repeats comes once."""
    waiting, seen = [(key, root)], set[int]()
    while waiting:
        key, node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "mapping":
            names = [name.value if name.id == "scalar" else "" for name, _ in node.value]
            waiting += zip(names, (value for _, value in node.value), strict=True)
        elif node.id == "sequence":
            waiting += [(key, value) for value in node.value]
        elif node.tag == "tag:yaml.org,2002:str":
            yield key, node


def _scalar(source: str, style: str | None) -> Callable[[str], str]:
    """How a string is written in a style of YAML, or in double quotes where that cannot be."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def render(text: str) -> str:
        tail = source[len(source.rstrip()) :] if style in ("|", ">") else ""
        quoted = json.dumps(text, ensure_ascii=False) + tail
        if style == "'" and "\n" not in text:
            return "'" + text.replace("'", "''") + "'"
        if style in ("|", ">") and text[:1].strip():
            head, _, body = source.replace("\r\n", "\n").partition("\n")
            indent = re.match(r"\s*", body.lstrip("\n")).group()  # type: ignore[union-attr]
            lines = text.rstrip("\n").split("\n")
            between = "\n" if style == "|" else "\n\n"
            newline = "\r\n" if "\r\n" in source else "\n"
            body = between.join(indent + line if line else "" for line in lines)
            return f"{head}\n{body}".replace("\n", newline) + tail
        if not style and not _SPECIAL.search(text):
            try:
                if yaml.load(f"- {text}", loader) == [text]:
                    return text
            except yaml.YAMLError:
                return quoted
        return quoted

    return render
