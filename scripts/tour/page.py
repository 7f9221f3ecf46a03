"""How the attention tour looks: templates, formulas, code from the source, tables of numbers.

The prose stands in `en.html` and `es.html`, templates with the same placeholders; what is around
them in `page.html`; the formulas, which need no language, in `formulas.xml`.
"""

import inspect
import io
import keyword
import re
import string
import textwrap
import tokenize
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
LANGUAGES = ("es", "en")
MATHML = "http://www.w3.org/1998/Math/MathML"
CONTENTS = {"es": "Paradas", "en": "Stops"}
NUMBERS = (tokenize.NUMBER, tokenize.STRING)


def formulas() -> dict[str, str]:
    """Each formula as display MathML, by its id."""
    ET.register_namespace("", MATHML)
    found = {}
    for math in ET.parse(FOLDER / "formulas.xml").getroot():
        name = math.attrib.pop("id")
        math.set("display", "block")
        math.tail = None
        found[name] = f'<div class="formula">{ET.tostring(math, encoding="unicode")}</div>'
    return found


def snippet(thing: Any, first: str = "", last: str = "") -> str:
    """Lines of a class's or function's source as they stand in the file, with where that is.

    From the line that holds `first` to the next that holds `last`; without them from the
    beginning, or to the end. A ValueError where the source holds them no longer.
    """
    thing = inspect.unwrap(thing)
    lines, start = inspect.getsourcelines(thing)
    begin = _line(lines, first, 0) if first else 0
    end = _line(lines, last, begin) if last else len(lines) - 1
    path = Path(str(inspect.getsourcefile(thing))).resolve()
    where = f"{path.relative_to(ROOT)}, {start + begin}"
    where += f"–{start + end}" if end > begin else ""
    code = textwrap.dedent("".join(lines[begin : end + 1])).rstrip()
    return (
        f'<figure class="code"><figcaption>{where}</figcaption>'
        f"<pre><code>{highlight(code)}</code></pre></figure>"
    )


def _line(lines: Sequence[str], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise ValueError(f"expected a line with {text!r} in the source, there is none")


def highlight(code: str) -> str:
    """Python with its comments, strings, numbers and keywords marked."""
    ends = [0]
    for line in code.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    found, done = [], 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            kind = _kind(token)
            if kind:
                begin = ends[token.start[0] - 1] + token.start[1]
                end = ends[token.end[0] - 1] + token.end[1]
                found.append(escape(code[done:begin], quote=False))
                found.append(f'<i class="{kind}">{escape(code[begin:end], quote=False)}</i>')
                done = end
    except (tokenize.TokenError, IndentationError):
        pass  # a part of a function need not be whole: the rest of it stays unmarked
    return "".join(found) + escape(code[done:], quote=False)


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "note"
    if token.type in NUMBERS:
        return "value"
    return "word" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""


def matrix(values: Any, caption: str, digits: int = 4, signed: bool = False) -> str:
    """A matrix of numbers, each cell the darker the larger its number."""
    rows = [[float(x) for x in row] for row in values]
    largest = max(abs(x) for row in rows for x in row) or 1.0
    body = "".join(
        f"<tr>{''.join(_cell(x, largest if signed else 1.0, digits) for x in row)}</tr>"
        for row in rows
    )
    return f'<table class="matrix"><caption>{caption}</caption><tbody>{body}</tbody></table>'


def _cell(value: float, largest: float, digits: int) -> str:
    share = round(min(abs(value) / largest, 1.0), 3)
    sign = ' class="minus"' if value < 0 else ""
    return f'<td{sign} style="--v:{share}">{number(value, digits)}</td>'


def number(value: float, digits: int) -> str:
    """As the lessons print it: so many digits after the point, a real minus sign."""
    shown = f"{value:,.{digits}f}"
    return shown.replace("-", "−") if float(shown.replace(",", "")) else shown.lstrip("-")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text, the rest numbers; cells are HTML."""
    top = "".join(f"<th>{head}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table class="plain"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(content: str, caption: str = "") -> str:
    """Pictures or matrices side by side, as far as there is room, with a line of text."""
    text = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure><div class="row">{content}</div>{text}</figure>'


def template(name: str) -> string.Template:
    """The prose of a language, or the page around it."""
    return string.Template((FOLDER / f"{name}.html").read_text(encoding="utf-8"))


def page(parts: Mapping[str, Mapping[str, str]]) -> str:
    """The whole page: for each language its template with the parts put in their places.

    A placeholder without a part, or a part that no template asks for, is a ValueError.
    """
    articles = []
    for language, own in parts.items():
        text = template(language)
        wanted = set(text.get_identifiers())
        if wanted != set(own):
            raise ValueError(f"expected the same parts in {language}, got {wanted ^ set(own)}")
        body = text.substitute(own)
        articles.append(f'<article lang="{language}">{_with_contents(body, language)}</article>')
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    return template("page").substitute(style=style, articles="\n".join(articles))


def _with_contents(body: str, language: str) -> str:
    """Puts a list of the stops after the introduction."""
    stops = re.findall(r'<section id="([\w-]+)"[^>]*>\s*<h2>(.*?)</h2>', body)
    items = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in stops)
    contents = f"<nav><h2>{CONTENTS[language]}</h2><ol>{items}</ol></nav>"
    return body.replace("<section", f"{contents}\n<section", 1)
