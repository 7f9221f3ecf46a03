"""LaTeX, as pylatexenc reads it: paragraphs, headings, items, captions, cells and footnotes.

Commands with their arguments, formulas, code, drawings, comments and the preamble but its title
stay; emphasis and links are marks. Arguments of an unknown command stay; an unknown environment is
read. A paragraph of several lines comes out as one.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.passages import Options, Parsed, Unit
from transformer.documents.tokens import Token, join_tokens

# Macros that pylatexenc does not know, with their arguments.
_MORE_MACROS = {
    "href": "{{", "paragraph": "*[{", "part": "*[{",
    **dict.fromkeys(("hyperref", "footnotetext", "marginpar", "caption"), "[{"),
    **dict.fromkeys(("enquote", "hl", "so", "st", "ul", "uline", "subtitle", "frametitle",
                     "framesubtitle", "thanks", "dedication"), "{"),
}  # fmt: skip
_MARKS = {"emph", "enquote", "href", "hyperref", "hl", "so", "st", "textbf", "textcolor", "textit",
          "textmd", "textrm", "textsc", "textsf", "textsl", "textup", "ul", "uline",
          "underline"}  # fmt: skip
_TITLES = {"title", "subtitle"}
_BLOCKS = {*_TITLES, "part", "chapter", "section", "subsection", "subsubsection", "paragraph",
           "subparagraph", "caption", "item", "keywords", "frametitle", "framesubtitle", "thanks",
           "marginpar", "dedication"}  # fmt: skip
_ENDS = {"\\", "par", "newline", "newpage", "clearpage", "hline", "toprule", "midrule",
         "bottomrule", "maketitle", "tableofcontents", "pause", "newcommand",
         "renewcommand"}  # fmt: skip
_SKIPPED = {"tikzpicture", "pgfpicture", "axis", "circuitikz", "forest", "tikzcd", "pspicture",
            "picture", "algorithm", "algorithmic", "algorithm2e", "thebibliography", "math",
            "displaymath", "array", "IEEEeqnarray", "dmath", "alltt"}  # fmt: skip
_CODE = re.compile(
    r"\\begin\{((?:[BLV]?[vV]erbatim|lstlisting|minted|comment|filecontents|luacode|pycode)\*?)\}"
    r"(?s:.*?)(?:\\end\{\1\}|(\Z))"
)
_ACCENTS = {*"'`\"^~=.cHkbdruvijoOlL", "ss", "ae", "AE", "oe", "OE", "aa", "AA", "guillemotleft",
            "guillemotright", "textexclamdown", "textquestiondown"}  # fmt: skip
_ESCAPED = set("&%$#_{} ")
_LIGATURES = {"``": "“", "''": "”", "---": "—", "--": "–", "?`": "¿", "!`": "¡", "~": "\xa0"}
_PARAGRAPH = re.compile(r"(\n[ \t\r]*\n\s*)")
_PREAMBLE = re.compile(r"\\begin\s*\{document\}")
_BRACKET = re.compile(r"\[[^\[\]]*\]")


def _escape(is_ascii: bool, text: str, source: str) -> str:
    """Write a text with its signs escaped, and its quotes and dashes as the source has them.

    With `is_ascii`, other characters become commands, as "\\'e".
    """
    text = re.sub(r"[&%$#_{}]", r"\\\g<0>", text.replace("\\", "\x01"))
    text = re.sub(r"[~^]", r"\\\g<0>{}", text).replace("\x01", "\\textbackslash{}")
    if "``" in source:
        text = re.sub(r'"([^"]*)"', r"“\1”", text)
    for written, sign in _LIGATURES.items():
        if written in source:
            text = text.replace(sign, written)
    if is_ascii and not text.isascii():
        from pylatexenc.latexencode import unicode_to_latex

        text = unicode_to_latex(text, non_ascii_only=True, unknown_char_warning=False)
    return text


def _decode(node: Any) -> str:
    """Return the letter that a node of pylatexenc, of an accent as in \\'e, stands for."""
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text().nodelist_to_text([node])


@cache
def _context() -> Any:
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import MacroSpec

    context = get_default_latex_context_db()
    macros = [MacroSpec(name, arguments) for name, arguments in _MORE_MACROS.items()]
    context.add_context_category("more", macros=macros, prepend=True)
    return context


def _mask_code(text: str) -> str:
    """Replace each environment of code by a comment as long; UserError for one without an end."""

    def mask(code: re.Match[str]) -> str:
        if code[2] is not None:
            raise UserError(f"expected \\end{{{code[1]}}} behind \\begin{{{code[1]}}}")
        return "%" + "x" * (len(code[0]) - 1)

    return _CODE.sub(mask, text)


class _Reader:
    """Turns nodes of a text, from offset `end` on, into `tokens`; `notes` are footnotes' units."""

    def __init__(self, text: str, end: int, rules: html.MarkupRules) -> None:
        self._text, self._end, self._rules = text, end, rules
        self.tokens: list[Token] = []
        self.notes: list[Unit] = []

    def add(self, stop: int, kind: str, decoded: str | None = None) -> None:
        """Add the text from the last token to `stop` as a token; `decoded` is what it says."""
        if stop > self._end:
            self.tokens.append(Token(self._text[self._end : stop], kind, "mark", decoded))
            self._end = stop

    def walk(self, nodes: Sequence[Any]) -> None:
        """Add the nodes of pylatexenc as tokens, in order."""
        place = 0
        while place < len(nodes):
            node = nodes[place]
            place += 1
            kind = type(node).__name__.removeprefix("Latex").removesuffix("Node")
            stop = node.pos + node.len
            if kind == "Chars":
                for number, piece in enumerate(_PARAGRAPH.split(self._text[self._end : stop])):
                    self.add(self._end + len(piece), "block" if number % 2 else "text")
            elif kind == "Specials":
                decoded = _LIGATURES.get(node.specials_chars)
                self.add(stop, "text" if decoded else "block", decoded)
            elif kind == "Math":
                self.add(stop, "kept" if node.displaytype == "inline" else "block")
            elif kind == "Group":
                self._group(node)
            elif kind == "Environment":
                self._environment(node)
            elif kind == "Macro":
                place = self._macro(node, nodes, place)
            else:  # a comment
                self.add(stop, "block")

    def _group(self, node: Any) -> None:
        """Add a group, with the declaration that it begins with, as in {\\bf text}.

        A group with an accent and nothing else, {\\'e}, is added as text.
        """
        inside, begin = node.nodelist, node.pos + 1
        name = getattr(inside[0], "macroname", "") if inside else ""
        if len(inside) == 1 and name in _ACCENTS:
            return self.add(node.pos + node.len, "text", _decode(node))
        if name not in {"", *_MARKS, *_ACCENTS, *_ESCAPED}:
            begin, inside = inside[0].pos + inside[0].len, inside[1:]
        self.add(begin, "open")
        self.walk(inside)
        self.add(node.pos + node.len, "close")

    def _environment(self, node: Any) -> None:
        name = node.environmentname.rstrip("*")
        spec = _context().get_environment_spec(node.environmentname)
        if name in _SKIPPED or (spec and spec.is_math_mode) or not node.nodelist:
            return self.add(node.pos + node.len, "block")
        place, stop = 0, node.nodelist[0].pos
        if spec is None:
            place, stop = self._skip_arguments(node.nodelist, 0, stop, is_title=name == "frame")
        self.add(stop, "block")
        self.walk(node.nodelist[place:])
        self.add(node.pos + node.len, "block")

    def _macro(self, node: Any, nodes: Sequence[Any], place: int) -> int:
        """Add a macro, followed by nodes[place]; return `place`, behind arguments not in `node`."""
        name, stop = node.macroname, node.pos + node.len
        arguments = [arg for arg in (node.nodeargd.argnlist if node.nodeargd else ()) or () if arg]
        inside = arguments[-1] if arguments else None
        if name in _ESCAPED or name == "-":
            self.add(stop, "text", name.strip("-"))
        elif name in _ACCENTS:
            self.add(stop, "text", _decode(node))
        elif name in ("footnote", "footnotetext") and inside is not None:
            self._note(inside, stop)
        elif inside is not None and hasattr(inside, "nodelist") and name in _MARKS | _BLOCKS:
            self.add(inside.pos + 1, "open" if name in _MARKS else "block")
            self.walk(inside.nodelist)
            self.add(stop, "close" if name in _MARKS else "block")
        else:
            if not arguments and not node.macro_post_space:
                place, stop = self._skip_arguments(nodes, place, stop)
            self.add(stop, "block" if name in _ENDS | _BLOCKS else "kept")
        return place

    def _note(self, inside: Any, stop: int) -> None:
        """Add the footnote of node `inside`, up to `stop`, as a token; add its units to `notes`."""
        reader = _Reader(self._text, self._end, self._rules)
        reader.add(inside.pos + 1, "block")
        reader.walk(inside.nodelist)
        reader.add(stop, "block")
        self.add(stop, "kept")
        self.tokens[-1].render = partial(join_tokens, reader.tokens)
        self.notes += [*reader.notes, *html.extract_units(reader.tokens, self._rules)]

    def _skip_arguments(
        self, nodes: Sequence[Any], place: int, stop: int, is_title: bool = False
    ) -> tuple[int, int]:
        """Return `place`, an index of `nodes`, and `stop`, one of the text, moved behind arguments.

        These are the groups and brackets there. With `is_title` the groups are added as tokens.
        """
        while place < len(nodes) and nodes[place].pos <= stop:
            node = nodes[place]
            bracket = _BRACKET.match(self._text, stop)
            if bracket and node.pos + node.len >= bracket.end():
                stop = bracket.end()
                place += node.pos + node.len == stop
            elif type(node).__name__ == "LatexGroupNode":
                if is_title:
                    self.add(stop + 1, "block")
                    self.walk(node.nodelist)
                stop, place = stop + node.len, place + 1
            else:
                break
        return place, stop


def parse(text: str, options: Options) -> Parsed[str]:
    """Parse a LaTeX file; UserError if a brace or an environment is not closed."""
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    walker = LatexWalker(_mask_code(text), latex_context=_context(), tolerant_parsing=False)
    rules = html.MarkupRules(frozenset({"mark"}), escape=partial(_escape, text.isascii()))
    begin, reader = _PREAMBLE.search(text), _Reader(text, 0, rules)
    start, environment = (begin.end(), "document") if begin else (0, None)
    try:
        for name in re.finditer(rf"\\(?:{'|'.join(_TITLES)})(?=[\[{{])", text[:start]):
            reader.add(name.start(), "block")
            reader.walk(walker.get_latex_nodes(pos=name.start(), read_max_nodes=1)[0])
        reader.add(start, "block")
        reader.walk(walker.get_latex_nodes(pos=start, stop_upon_end_environment=environment)[0])
    except LatexWalkerError as error:
        what = str(error).splitlines()[0]
        raise UserError(f"expected LaTeX with each brace and environment closed: {what}") from None
    reader.add(len(text), "block")
    units = [*reader.notes, *html.extract_units(reader.tokens, rules)]
    return Parsed(units, partial(join_tokens, reader.tokens))
