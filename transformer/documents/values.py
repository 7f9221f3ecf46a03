"""Tables, JSON and YAML: their texts change; quotes, keys, numbers and layout stay.

`columns` names those of a table, by its first row or by number, and keys of JSON and YAML.
"""

import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from transformer.config import UserError
from transformer.documents.passages import Options, Written
from transformer.documents.slices import Slices
from transformer.text.markup import Span

JSON_SIGN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],]')
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a character, which alone UTF-8 cannot write
JSON_KEY = re.compile(r"\s*+:")
_STOP = re.compile(r"[,;]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*")  # of a column
_CODED = re.compile(r"[a-z]|Id$|ID$|.*_|.*[a-z][A-Z]")  # for programs, not for people
_SPECIAL = re.compile(r"[\[\]{},]|^\s|\s$|\n")
MAX_NESTED = 500  # lists and mappings of YAML in each other: deeper ones end libyaml's own stack
_PROPERTIES = re.compile(r"(?:[&!]\S*+\s++)*+")  # of a YAML value: an anchor, a tag


def table(text: str, options: Options, delimiter: str = "") -> Written:
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
    slices = Slices(text)
    for row in rows[1 if is_headed else 0 :]:
        for column, (span, said, is_quoted) in enumerate(row):
            if column in asked:
                slices.translate(*span, said, _cell(said, is_quoted, delimiter))
    return slices.written()


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


def json_values(text: str, options: Options) -> Written:
    """The strings of JSON that are no keys."""
    _check_json(text)
    return _json_strings(text, options)


def json_lines(text: str, options: Options) -> Written:
    """The same of JSON values, one a line."""
    for line in filter(str.strip, text.split("\n")):
        _check_json(line)
    return _json_strings(text, options)


_check_json = functools.partial(json.loads, parse_int=str)  # of any number of digits
_decoded = json.JSONDecoder(strict=False).decode


def _json_strings(text: str, options: Options) -> Written:
    slices = Slices(text)
    key, keys, known = "", list[str](), dict[str, None]()
    for match in JSON_SIGN.finditer(text):
        sign = match.group()
        if sign in "{[":
            keys.append(key)
        elif sign in "}]":
            key = keys.pop()
        elif sign[0] == '"':
            said = _decoded(sign)
            if JSON_KEY.match(text, match.end()) and keys:
                key = said
                continue
            known[key] = None
            if not options.columns or key in options.columns:
                is_ascii = ("\\u" in sign and sign.isascii()) or bool(_HALF.search(sign))
                render = functools.partial(json.dumps, ensure_ascii=is_ascii)
                slices.translate(*match.span(), said, render)
    _check_known("keys of texts", known, options.columns)
    return slices.written()


def yaml_values(text: str, options: Options) -> Written:
    """The strings of YAML that are no keys, each in the style that it has."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(yaml.parse(text, loader))
        nodes = [node for root in yaml.compose_all(text, loader) for node in _strings(root, "")]
    except yaml.YAMLError as error:
        raise UserError(f"expected sound YAML: {str(error).splitlines()[0]}") from None
    _check_known("keys of texts", dict.fromkeys(key for key, _ in nodes), options.columns)
    slices = Slices(text)
    for key, node in sorted(nodes, key=lambda named: named[1].start_mark.index):
        start, stop = node.start_mark.index, node.end_mark.index
        start = _PROPERTIES.match(text, start, stop).end()  # type: ignore[union-attr]
        if start >= slices.end and (not options.columns or key in options.columns):
            slices.translate(start, stop, node.value, _scalar(text[start:stop], node.style))
    return slices.written()


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
