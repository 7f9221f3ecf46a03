"""Word, PowerPoint and Excel: paragraphs made of runs, each with its style.

Neighbouring runs are read as one text, whose marks are links, insertions and the runs of another
style than most of the text.
"""

import copy
import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.config import UserError
from transformer.documents.edits import TextEdits, Verbatim
from transformer.documents.passages import (
    InlineContent,
    Options,
    Parsed,
    Unit,
    has_words,
    text_unit,
)
from transformer.text.markup import MarkedText

_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml"
# Word splits runs at what no reader sees.
_INVISIBLE = {"proofErr", "bookmarkStart", "bookmarkEnd", "lastRenderedPageBreak", "permStart",
              "permEnd", "commentRangeStart", "commentRangeEnd", "moveFromRangeStart",
              "moveFromRangeEnd", "moveToRangeStart", "moveToRangeEnd"}  # fmt: skip
_LINK, _FIELD = "linkField", "field"  # elements of ours, around the runs of a complex field
_LINKS = {"hyperlink", "ins", "moveTo", "smartTag", "sdtContent", _LINK}  # around runs
# What was deleted stays, what Word computes, and a formula.
_UNTRANSLATABLE = {"del", "moveFrom", "fldSimple", "oMath", _FIELD}
_LABEL_ATTRIBUTES = {
    "docPr": ("descr", "title"),
    "cNvPr": ("descr", "title"),
    "shape": ("alt",),
    "hyperlink": ("tooltip",),
    "hlinkClick": ("tooltip",),
    "dataValidation": ("promptTitle", "prompt", "errorTitle", "error"),
}
_CODES = re.compile(r'(&(?:"[^"]*+"|\d++|K[\dA-F+-]{6}|.))', re.DOTALL)
_LABELS = {"strCache", "strLit", "lvl"}
_STAYING = {"footnoteReference", "endnoteReference", "commentReference", "drawing", "pict",
            "AlternateContent"}  # fmt: skip
_SHIFTED = re.compile(r"vertAlign|baseline=")  # above or below the line
_PLAIN = re.compile(r"(?!.*<(?:b|i|u|strike|vertAlign)[ />])")


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def parse(content: bytes, options: Options) -> Parsed[bytes]:
    """Parse an XML part made of paragraphs and runs (texts of one style).

    UserError for one with a document type. XML that is not well-formed raises lxml's
    XMLSyntaxError, which `formats.read` converts.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root: Any = etree.fromstring(content, parser)
    if root.getroottree().docinfo.doctype:
        raise UserError("expected XML without a document type in the file")
    paragraphs = [e for e in root.iter() if _name(e) in ("p", "si", "is", "text")]
    for paragraph in paragraphs:
        _wrap_fields(paragraph)
    headers = [
        (e, _parse_header(e.text))
        for e in root.iter()
        if e.text and _name(e).endswith(("Header", "Footer"))
    ]
    units = [*_label_units(root)]  # first: what they stand in is copied
    units += [unit for _, header in headers for unit in header.units]
    groups = (group for paragraph in paragraphs for group in _run_groups(paragraph))
    units += [unit for group in groups for unit in _unit(group)]

    def render() -> bytes:
        for element, header in headers:
            element.text = header.render()
        for field in [*root.iter(_LINK, _FIELD)]:
            for run in [*field]:
                field.addprevious(run)
            field.getparent().remove(field)
        return etree.tostring(
            root.getroottree(), xml_declaration=True, encoding="UTF-8", standalone=True
        )

    return Parsed(units, render if units else lambda: content)


def _wrap_fields(paragraph: Any) -> None:
    """Put each complex field of a paragraph (ECMA-376-1, 17.16.18) into an element of ours.

    Its runs then go together: a link has words, the other fields what Word computes. One that ends
    in another paragraph, as a table of contents does, stays as it is.
    """
    inside, depth = list[Any](), 0
    for child in [*paragraph]:
        kinds = [
            value
            for mark in child.iter("{*}fldChar")
            for key, value in mark.items()
            if key.endswith("fldCharType")
        ]
        depth += kinds.count("begin")
        inside += [child] if depth else []
        depth = max(depth - kinds.count("end"), 0)
        if inside and not depth:
            code = "".join(part.text or "" for run in inside for part in run.iter("{*}instrText"))
            is_link = {*code.split()[:1]} & {"HYPERLINK", "FORMTEXT", "QUOTE"}
            field = paragraph.makeelement(_LINK if is_link else _FIELD)
            inside[0].addprevious(field)
            field.extend(inside)
            inside = []


def _label_units(root: Any) -> Iterator[Unit]:
    """Yield texts outside paragraphs: alternative texts, prompts, labels of charts, comments."""
    for element in root.iter():
        name = _name(element)
        for key, value in element.items() if name in _LABEL_ATTRIBUTES else ():
            if key.rpartition("}")[2] in _LABEL_ATTRIBUTES[name] and has_words(value):
                yield text_unit(value, functools.partial(element.set, key))
        if name in ("text", "v") and not len(element) and has_words(element.text or ""):
            above = {_name(each) for each in itertools.islice(element.iterancestors(), 2)}
            if name == "text" or above & _LABELS:
                yield text_unit(element.text, functools.partial(setattr, element, "text"))


def _parse_header(text: str) -> Parsed[str]:
    """Parse left, middle and right of a printed header or footer of Excel, with its codes."""
    edits, parts, start, end = TextEdits(text), list[tuple[str | None, bool, Verbatim]](), 0, 0
    for i, part in enumerate([*_CODES.split(text), "&L"]):
        if i % 2 and part in ("&L", "&C", "&R"):
            edits.translate_inline(
                start, end, InlineContent(parts), lambda new: new.replace("&", "&&")
            )
            start, parts = end + len(part), []
        elif part:
            parts.append((None if i % 2 else part, False, Verbatim(part)))
        end += len(part)
    return edits.parsed()


@dataclass(slots=True)
class _Run:
    """A run of text in one `style`, a link with such, a lone text, or what stays, without `texts`.

    Neighbours of one style are read as one text. `texts` are the XML elements of text in `element`.
    """

    element: Any
    texts: list[Any]
    style: str

    @property
    def text(self) -> str:
        return "".join(text.text or "" for text in self.texts)


def _is_invisible(element: Any) -> bool:
    """Return whether an element is an invisible mark, as a bookmark, or the code of a link."""
    parts = {_name(child) for child in element} - {"rPr"}
    is_code = bool(parts) and parts <= {"fldChar", "instrText"}
    return _name(element) in _INVISIBLE or (is_code and _name(element.getparent()) == _LINK)


def _run(element: Any) -> _Run | None:
    """Return the `_Run` of a child of a paragraph: a text, a link of texts only, or what stays.

    None for any other: its texts, if it has some, are units of their own.
    """
    name = _name(element)
    unchanged = _Run(element, [], f"stays {id(element)}")
    link = f"link {id(element)}"
    if name in _UNTRANSLATABLE:
        return unchanged
    if name == "sdt":  # a field to fill in
        content = element.find("{*}sdtContent")
        inner = None if content is None else _run(content)
        return _Run(element, inner.texts, link) if inner and has_words(inner.text) else None
    if name in _LINKS:
        inside = [_run(child) for child in element if not _is_invisible(child)]
        runs = [run for run in inside if run is not None and run.texts]
        if len(runs) < len(inside) or len({run.style for run in runs}) != 1:
            return None
        texts = [text for run in runs for text in run.texts]
        return _Run(element, texts, runs[0].style if name == "smartTag" else link)
    parts = {_name(child) for child in element} - {"rPr", *_INVISIBLE}
    if name == "r" and parts and parts <= _STAYING:
        return unchanged
    if name != "r" or parts != {"t"}:
        return None
    properties = element.find("{*}rPr")
    style = "" if properties is None else _style(properties)
    run = _Run(element, [child for child in element if _name(child) == "t"], style)
    # As in H2O.
    return unchanged if _SHIFTED.search(style) and not has_words(run.text) else run


def _style(properties: Any) -> str:
    """Return the formatting of a run as XML, less what only the spelling check needs."""
    from lxml import etree

    ignored = {"lang", "noProof", "dirty", "err"}
    own = copy.deepcopy(properties)
    own.tail = None
    for name in ignored & {str(name) for name in own.attrib}:
        del own.attrib[name]
    for child in [child for child in own if _name(child) in ignored]:
        own.remove(child)
    return etree.tostring(own, encoding="unicode") if len(own) or own.attrib else ""


def _run_groups(paragraph: Any) -> Iterator[list[_Run]]:
    """Yield lists of runs read as one; a text in an element without `_Run` is a list by itself."""
    group: list[_Run] = []
    for child in paragraph:
        name = _name(child)
        if name in _INVISIBLE:
            continue
        if run := _run(child):
            group.append(run)
            continue
        yield group
        group = []
        if name == "t":
            yield [_Run(child, [child], "")]
        elif name in {"r", "fld", "sdt", *_LINKS}:
            yield from ([_Run(text, [text], "")] for text in _lone_texts(child))
    yield group


def _lone_texts(element: Any) -> Iterator[Any]:
    """Yield the texts below an element that are in no paragraph of their own."""
    for child in element:
        if _name(child) == "t":
            yield child
        elif _name(child) not in ("p", "AlternateContent", "drawing", "pict", "object", "rPh"):
            yield from _lone_texts(child)


def _unit(runs: Sequence[_Run]) -> Iterator[Unit]:
    if not has_words("".join(run.text for run in runs)):
        return
    texts = [i for i, run in enumerate(runs) if run.texts]
    runs = runs[texts[0] : texts[-1] + 1]
    styles = [run.style for run in runs if run.texts and run.style]
    if _name(runs[0].element.getparent()) == "si" and styles and _PLAIN.match(styles[-1]):
        for run in runs:  # the first has the style of the cell, which the others repeat
            run.style = run.style or styles[-1]
    sizes: Counter[str] = Counter()
    for run in runs:
        sizes[run.style] += 0 if run.style.startswith("link ") else len(run.text)
    usual = sizes.most_common(1)[0][0]
    usual_run = [run for run in runs if run.style == usual][-1]
    groups = [list(group) for _, group in itertools.groupby(runs, lambda run: run.style)]
    content = InlineContent(
        ("".join(run.text for run in own) if own[0].texts else None, own[0].style != usual, own[0])
        for own in groups
    )

    def set_marked(marked: MarkedText) -> None:
        pieces = content.render(marked)
        if parts := [(part, mark or usual_run) for mark, own in pieces for part in own]:
            _replace_runs(runs, parts)

    yield content.passage, set_marked


def _replace_runs(runs: Sequence[_Run], parts: Iterable[tuple[str | _Run, _Run]]) -> None:
    """Replace runs by `parts`: (text, run whose copy it goes into), or (run that stays, any).

    A comment or bookmark that begins among the runs begins before them afterwards.
    """
    first, last = runs[0].element, runs[-1].element
    siblings = itertools.chain([first], first.itersiblings())
    inside = itertools.takewhile(lambda sibling: sibling is not last, siblings)
    for element in [each for each in inside if _name(each).endswith("Start")]:
        first.addprevious(element)
    replaced = [run for run in runs if run.texts]
    for run in replaced:
        _set_text(run.texts, "")  # copied as often as need be: with one text
    for part, run in parts:
        if isinstance(part, str):
            element = copy.deepcopy(run.element)
            _set_text([child for child in element.iter() if _name(child) == "t"], part)
        else:
            element = part.element
            while _name(end := element.getprevious()) == "commentRangeEnd":
                first.addprevious(end)
        first.addprevious(element)
    for run in replaced:
        run.element.getparent().remove(run.element)


def _set_text(texts: Sequence[Any], text: str) -> None:
    """Set the first text element; remove the others, with the runs that they leave empty."""
    texts[0].text = text
    if text != text.strip() and not texts[0].tag.startswith(_DRAWING):
        texts[0].set(_SPACE, "preserve")
    for other in texts[1:]:
        run = other.getparent()
        run.remove(other)
        if _name(run) == "r" and all(_name(child) == "rPr" for child in run):
            run.getparent().remove(run)
