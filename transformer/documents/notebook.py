"""Jupyter notebooks: their Markdown cells; code, outputs, metadata and the JSON's form stay."""

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from transformer.config import UserError
from transformer.documents import markdown
from transformer.documents.edits import TextEdits
from transformer.documents.passages import Options, Parsed
from transformer.documents.values import JSONObject, JSONString, decode_json

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def parse(text: str, options: Options) -> Parsed[str]:
    """Parse the Markdown cells of a notebook of nbformat 4; UserError for another format."""
    root = decode_json(text)
    cells: Any = dict(root).get("cells") if isinstance(root, JSONObject) else None
    if not isinstance(cells, list):
        raise UserError("expected a notebook of nbformat 4 with cells")
    edits = TextEdits(text)
    is_ascii = "\\u" in text and text.isascii()
    for cell in (dict(cell) for cell in cells if isinstance(cell, JSONObject)):
        source: Any = cell.get("source", "")
        lines = [source] if isinstance(source, JSONString) else source
        is_sound = isinstance(lines, list) and all(isinstance(line, JSONString) for line in lines)
        if cell.get("cell_type") == "markdown" and is_sound and lines:
            parsed = markdown.parse("".join(lines), options)
            edits.units += parsed.units
            render = functools.partial(_render, text, lines, parsed.render, is_ascii)
            edits.replace(lines[0].start, lines[-1].stop, render)
    return edits.parsed()


def _render(
    text: str, lines: Sequence[JSONString], render: Callable[[], str], is_ascii: bool
) -> str:
    """Return a cell's translated source as JSON: one string, or a list of lines as before.

    `text` is the notebook, `lines` are the strings of the cell, `render` returns the translation.
    With `is_ascii` other characters are escaped.
    """
    start, stop = lines[0].start, lines[0].stop
    if (written := render()) == "".join(lines):
        return text[start : lines[-1].stop]
    before = text[max(0, start - 999) : start]
    if before.rstrip().endswith(":"):
        return json.dumps(written, ensure_ascii=is_ascii)
    between = text[stop : lines[1].start] if lines[1:] else "," + before[len(before.rstrip()) :]
    return between.join(json.dumps(line, ensure_ascii=is_ascii) for line in _LINES.findall(written))
