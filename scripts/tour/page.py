"""How the tour becomes HTML: templates, formulas, code from the source, numbers of a language.

The prose stands in `templates/en.html` and `templates/es.html`, what both share in `page.html`, the
drawings in `macros.html`; the formulas, which need no language, in `formulas.xml`.
"""

import inspect
import itertools
import math
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Token

from transformer.config import UserError

FOLDER = Path(__file__).resolve().parent / "templates"
ROOT = FOLDER.parents[2]
LANGUAGES = ("es", "en")
MATHML = "http://www.w3.org/1998/Math/MathML"
TOKEN_CLASSES = {Token.Comment: "note", Token.Literal: "value", Token.Keyword: "word",
         Token.Operator.Word: "word"}  # fmt: skip


def formulas() -> dict[str, Markup]:
    """Return each formula as display MathML, by its id."""
    ET.register_namespace("", MATHML)
    shown = {}
    for formula in ET.parse(FOLDER / "formulas.xml").getroot():
        name = formula.attrib.pop("id")
        formula.set("display", "block")
        formula.tail = None
        xml = ET.tostring(formula, encoding="unicode")
        shown[name] = Markup(f'<div class="formula scroll">{xml}</div>')
    return shown


def snippet(thing: Any, first: str = "", last: str = "") -> Markup:
    """Show lines of a class's or function's source as they stand in the file, and its name.

    From the line that holds `first` to the next that holds `last`; without them from the
    beginning, or to the end. ValueError where the source holds them no longer.
    """
    thing = inspect.unwrap(thing)
    lines, _ = inspect.getsourcelines(thing)
    begin = _find_line(lines, first, 0) if first else 0
    end = _find_line(lines, last, begin) if last else len(lines) - 1
    path = Path(str(inspect.getsourcefile(thing))).resolve()
    code = textwrap.dedent("".join(lines[begin : end + 1])).rstrip()
    return Markup(
        f'<figure class="code"><figcaption>{path.relative_to(ROOT)}, {thing.__qualname__}'
        f'</figcaption><pre class="scroll"><code>{highlight(code)}</code></pre></figure>'
    )


def _find_line(lines: Sequence[str], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise ValueError(f"expected a line with {text!r} in the source, there is none")


def highlight(code: str) -> str:
    """Mark up Python with its comments, strings, numbers and keywords."""
    shown = []
    tokens = PythonLexer(stripnl=False).get_tokens(code)
    for mark, alike in itertools.groupby(tokens, _token_class):
        text = escape("".join(text for _, text in alike), quote=False)
        shown.append(f'<i class="{mark}">{text}</i>' if mark else text)
    return "".join(shown).removesuffix("\n")


def _token_class(token: tuple[Any, str]) -> str:
    return next((name for kind, name in TOKEN_CLASSES.items() if token[0] in kind), "")


def number(value: float, digits: int = 0) -> str:
    """Format a number: digits after the point, commas at thousands, a real minus, no minus zero."""
    shown = f"{value:,.{digits}f}"
    return shown.replace("-", "−") if float(shown.replace(",", "")) else shown.lstrip("-")


@jinja2.pass_context
def _number(context: jinja2.runtime.Context, value: float, digits: int = 0) -> str:
    """Format as `number`; in Spanish, where a comma may be a decimal sign, with narrow spaces."""
    shown = number(value, digits)
    return shown.replace(",", "\u202f") if context["lang"] == "es" else shown


def display_piece(piece: str) -> str:
    """Show a piece of the vocabulary: one that continues a word begins with a dash."""
    if piece.startswith("▁"):
        return piece.removeprefix("▁") or "▁"
    return f"–{piece}" if piece.isalnum() else piece


def axis_end(value: float) -> float:
    """Return the end of an axis: the next of 1, 2, 4, 6, 8, 10 at the power of ten of a value."""
    power = 10.0 ** math.floor(math.log10(max(value, 1.0)))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value)


def pages(facts: Mapping[str, Any]) -> dict[str, str]:
    """Render the page of each language; UserError where a template asks for a missing fact."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"n": _number, "readable": display_piece, "ceiling": axis_end}
    environment.globals["f"] = formulas()
    try:
        return {
            lang: environment.get_template(f"{lang}.html").render({**facts, "lang": lang})
            for lang in LANGUAGES
        }
    except jinja2.TemplateError as error:
        raise UserError(f"cannot write the tour: {error}") from error
