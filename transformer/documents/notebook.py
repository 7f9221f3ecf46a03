"""Jupyter notebooks: their Markdown cells; code, outputs, metadata and the JSON's form stay."""

import json
import re
from collections.abc import Iterator
from typing import Any

from transformer.config import UserError
from transformer.documents import markdown
from transformer.documents.passages import Options, Unit, Written
from transformer.documents.values import JSON_KEY, JSON_SIGN
from transformer.text.markup import Span

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def opened(text: str, options: Options) -> Written:
    """The Markdown cells of a notebook of nbformat 4."""
    notebook: Any = json.loads(text, parse_int=str)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise UserError("expected a notebook of nbformat 4 with cells")
    cells = [*_cells(text)]
    units: list[Unit] = []
    finishes = []
    for spans in cells:
        source = "".join(json.loads(text[start:stop], strict=False) for start, stop in spans)
        own, finish = markdown.opened(source, options)
        units += own
        finishes.append((source, finish))

    def written() -> str:
        parts, end = list[str](), 0
        for spans, (source, finish) in zip(cells, finishes, strict=True):
            if (said := finish()) != source:
                parts += [text[end : spans[0][0]], _strings(text, spans, said)]
                end = spans[-1][1]
        return "".join([*parts, text[end:]])

    return units, written


def _cells(text: str) -> Iterator[list[Span]]:
    """Where the strings are that are the source of each Markdown cell."""
    key, kind, keys, spans = "", "", list[str](), list[Span]()
    for match in JSON_SIGN.finditer(text):
        sign = match.group()
        if sign in "{[":
            keys.append(key)
        elif sign in "}]":
            key = keys.pop()
            if len(keys) == 2:
                if kind == "markdown" and spans:
                    yield spans
                kind, spans = "", []
        elif sign[0] == '"' and keys[:2] == ["", "cells"]:
            if JSON_KEY.match(text, match.end()):
                key = json.loads(sign)
            elif len(keys) == 3 and key == "cell_type":
                kind = json.loads(sign)
            elif (len(keys) == 3 and key == "source") or (len(keys) == 4 and keys[3] == "source"):
                spans.append(match.span())
        elif sign[0] == '"' and len(keys) == 1:
            key = json.loads(sign)


def _strings(text: str, spans: list[Span], said: str) -> str:
    """A cell's source as it was written: one string, or a list of lines."""
    (start, stop), is_ascii = spans[0], "\\u" in text and text.isascii()
    before = text[:start].rstrip()
    if before.endswith(":"):
        return json.dumps(said, ensure_ascii=is_ascii)
    between = text[stop : spans[1][0]] if spans[1:] else "," + text[len(before) : start]
    return between.join(json.dumps(line, ensure_ascii=is_ascii) for line in _LINES.findall(said))
