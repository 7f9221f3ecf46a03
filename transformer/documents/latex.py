"""LaTeX, as pylatexenc reads it: paragraphs, headings, items, captions, cells and footnotes.

Commands with what they are given, formulas, code, drawings, comments and the preamble but its title
stay; emphasis and links are marks. What an unknown command is given stays; an unknown environment
is read. A paragraph of several lines comes out as one.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.passages import Options, Parsed, Unit
from transformer.documents.tokens import Token
from transformer.text.markup import MarkedText

# What pylatexenc does not know of, and what it is given.
_MORE = {"href": "{{", "hyperref": "[{", "footnotetext": "[{", "marginpar": "[{", "caption": "[{",
         "paragraph": "*[{", "part": "*[{", **dict.fromkeys(
             ("enquote", "hl", "so", "st", "ul", "uline", "subtitle", "frametitle",
              "framesubtitle", "thanks", "dedication"), "{")}  # fmt: skip
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
_STAYING = {"tikzpicture", "pgfpicture", "axis", "circuitikz", "forest", "tikzcd", "pspicture",
            "picture", "algorithm", "algorithmic", "algorithm2e", "thebibliography", "math",
            "displaymath", "array", "IEEEeqnarray", "dmath", "alltt"}  # fmt: skip
_CODE = re.compile(
    r"\\begin\{((?:[BLV]?[vV]erbatim|lstlisting|minted|comment|filecontents|luacode|pycode)\*?)\}"
)
_ACCENTS = {*"'`\"^~=.cHkbdruvijoOlL", "ss", "ae", "AE", "oe", "OE", "aa", "AA", "guillemotleft",
            "guillemotright", "textexclamdown", "textquestiondown"}  # fmt: skip
_ESCAPED = set("&%$#_{} ")
_LIGATURES = {"``": "“", "''": "”", "---": "—", "--": "–", "?`": "¿", "!`": "¡", "~": "\xa0"}
_PARAGRAPH = re.compile(r"(\n[ \t\r]*\n\s*)")
_PREAMBLE = re.compile(r"\\begin\s*\{document\}")
_BRACKET = re.compile(r"\[[^\[\]]*\]")


def _write(text: str, source: str, is_ascii: bool) -> str:
    """A text with its signs escaped, and its quotes and dashes as the source has them."""
    text = re.sub(r"[&%$#_{}]", r"\\\g<0>", text.replace("\\", "\x01"))
    text = re.sub(r"[~^]", lambda sign: f"\\{sign[0]}{{}}", text).replace(
        "\x01", "\\textbackslash{}"
    )
    if "``" in source:
        text = re.sub(r'"([^"]*)"', r"“\1”", text)
    for written, sign in _LIGATURES.items():
        if written in source:
            text = text.replace(sign, written)
    if is_ascii and not text.isascii():
        from pylatexenc.latexencode import unicode_to_latex

        text = unicode_to_latex(text, non_ascii_only=True)
    return text


class _Reader:
    """Makes tokens of the nodes of a text; a footnote has tokens of its own."""

    def __init__(self, text: str, end: int) -> None:
        self._text, self._end = text, end
        self.tokens: list[Token] = []
        self.notes: list[tuple[Token, list[Token]]] = []

    def add(self, stop: int, kind: str, said: str | None = None) -> None:
        """What is between the last token and a place."""
        if stop > self._end:
            self.tokens.append(Token(self._text[self._end : stop], kind, "mark", said))
            self._end = stop

    def walk(self, nodes: Sequence[Any]) -> None:
        """Reads nodes in order."""
        place = 0
        while place < len(nodes):
            node = nodes[place]
            place += 1
            name = type(node).__name__.removeprefix("Latex").removesuffix("Node")
            stop = node.pos + node.len
            if name == "Chars":
                self._chars(stop)
            elif name == "Specials":
                said = _LIGATURES.get(node.specials_chars)
                self.add(stop, "text" if said else "block", said)
            elif name == "Math":
                self.add(stop, "kept" if node.displaytype == "inline" else "block")
            elif name == "Group":
                self._group(node)
            elif name == "Environment":
                self._environment(node)
            elif name == "Macro":
                place = self._macro(node, nodes, place)
            else:  # a comment
                self.add(stop, "block")

    def _chars(self, stop: int) -> None:
        place = self._end
        for number, piece in enumerate(_PARAGRAPH.split(self._text[place:stop])):
            place += len(piece)
            self.add(place, "block" if number % 2 else "text")

    def _group(self, node: Any) -> None:
        """A group, with the declaration that it begins with, as in {\\bf text}."""
        inside = node.nodelist
        if len(inside) == 1 and getattr(inside[0], "macroname", "") in _ACCENTS:
            return self.add(node.pos + node.len, "text", _unaccented(node))
        first = inside[0] if inside else node
        is_declared = getattr(first, "macroname", "") not in {"", *_MARKS, *_ACCENTS, *_ESCAPED}
        begin = first.pos + first.len if is_declared and inside else node.pos + 1
        self.add(begin, "open")
        self.walk(inside[1:] if is_declared else inside)
        self.add(node.pos + node.len, "close")

    def _environment(self, node: Any) -> None:
        name = node.environmentname.rstrip("*")
        spec = _context().get_environment_spec(node.environmentname)
        if name in _STAYING or (spec and spec.is_math_mode) or not node.nodelist:
            return self.add(node.pos + node.len, "block")
        place, stop = 0, node.nodelist[0].pos
        if spec is None:
            place, stop = self._given(node.nodelist, 0, stop, is_read=name == "frame")
        self.add(stop, "block")
        self.walk(node.nodelist[place:])
        self.add(node.pos + node.len, "block")

    def _macro(self, node: Any, nodes: Sequence[Any], place: int) -> int:
        name, stop = node.macroname, node.pos + node.len
        given = [arg for arg in (node.nodeargd.argnlist if node.nodeargd else ()) or () if arg]
        inside = given[-1] if given else None
        if name in _ESCAPED or name == "-":
            self.add(stop, "text", name.strip("-"))
        elif name in _ACCENTS:
            self.add(stop, "text", _unaccented(node))
        elif name in ("footnote", "footnotetext") and inside is not None:
            reader = _Reader(self._text, inside.pos + 1)
            reader.walk(inside.nodelist)
            reader.add(stop, "block")
            before = self._text[self._end : inside.pos + 1]
            self.add(stop, "kept")
            self.notes += [
                *reader.notes,
                (self.tokens[-1], [Token(before, "block"), *reader.tokens]),
            ]
        elif inside is not None and hasattr(inside, "nodelist") and name in _MARKS | _BLOCKS:
            is_mark = name in _MARKS
            self.add(inside.pos + 1, "open" if is_mark else "block")
            self.walk(inside.nodelist)
            self.add(stop, "close" if is_mark else "block")
        else:
            if not given and not node.macro_post_space:
                place, stop = self._given(nodes, place, stop)
            self.add(stop, "block" if name in _ENDS | _BLOCKS else "kept")
        return place

    def _given(
        self, nodes: Sequence[Any], place: int, stop: int, is_read: bool = False
    ) -> tuple[int, int]:
        """What follows the groups and brackets directly behind something unknown."""
        while place < len(nodes) and nodes[place].pos <= stop:
            bracket = _BRACKET.match(self._text, stop)
            if bracket and nodes[place].pos + nodes[place].len >= bracket.end():
                stop = bracket.end()
                place += nodes[place].pos + nodes[place].len == stop
            elif type(nodes[place]).__name__ == "LatexGroupNode":
                if is_read:  # the title of a slide
                    self.add(stop + 1, "block")
                    self.walk(nodes[place].nodelist)
                stop, place = stop + nodes[place].len, place + 1
            else:
                break
        return place, stop


def _unaccented(node: Any) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text().nodelist_to_text([node])


@cache
def _context() -> Any:
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import MacroSpec

    context = get_default_latex_context_db()
    macros = [MacroSpec(name, given) for name, given in _MORE.items()]
    context.add_context_category("more", macros=macros, prepend=True)
    return context


def _in_notes(reader: _Reader, language: html.MarkupRules) -> Iterator[Unit]:
    """What footnotes say; it is written before the lines that they stand in."""

    def put(note: Token, tokens: Sequence[Token], own: Any, marked: MarkedText) -> None:
        own(marked)
        note.source = "".join(token.source for token in tokens)

    for note, tokens in reader.notes:
        for passage, own in html.extract_units(tokens, language):
            yield passage, partial(put, note, tokens, own)


def _masked(text: str) -> str:
    """The text with each environment of code as a comment of the same length."""
    parts, end = list[str](), 0
    while begin := _CODE.search(text, end):
        stop = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if stop < 0:
            raise UserError(f"expected \\end{{{begin[1]}}} behind {begin[0]}")
        stop += len(begin[1]) + 6
        parts += [text[end : begin.start()], "%", "x" * (stop - begin.start() - 1)]
        end = stop
    return "".join([*parts, text[end:]])


def parse(text: str, options: Options) -> Parsed[str]:
    """The passages of a LaTeX file; UserError where braces or environments are not closed."""
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    walker = LatexWalker(_masked(text), latex_context=_context(), tolerant_parsing=False)
    begin, reader = _PREAMBLE.search(text), _Reader(text, 0)
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
    language = html.MarkupRules(
        inline=frozenset({"mark"}),
        untranslatable=frozenset(),
        escape=partial(_write, is_ascii=text.isascii()),
    )
    units = [*_in_notes(reader, language), *html.extract_units(reader.tokens, language)]
    return Parsed(units, lambda: "".join(token.source for token in reader.tokens))
