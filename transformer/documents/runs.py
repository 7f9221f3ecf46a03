"""Word, PowerPoint and Excel: paragraphs made of runs, each with its look.

Neighbouring runs are read as one text, and those that do not look as usual, links and insertions,
are its marks.
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
# Word splits runs at what no reader sees.
_UNSEEN = {"proofErr", "bookmarkStart", "bookmarkEnd", "lastRenderedPageBreak", "permStart",
           "permEnd", "commentRangeStart", "commentRangeEnd", "moveFromRangeStart",
           "moveFromRangeEnd", "moveToRangeStart", "moveToRangeEnd"}  # fmt: skip
_LINK, _FIELD = "linkField", "field"  # elements of ours, around the runs of a complex field
_LINKS = {"hyperlink", "ins", "moveTo", "smartTag", "sdtContent", _LINK}  # around runs
# What was deleted stays, what Word computes, and a formula.
_GONE = {"del", "moveFrom", "fldSimple", "oMath", _FIELD}
_READ = {"docPr": ("descr", "title"), "cNvPr": ("descr", "title"), "shape": ("alt",),
         "hyperlink": ("tooltip",), "hlinkClick": ("tooltip",),
         "dataValidation": ("promptTitle", "prompt", "errorTitle", "error")}  # fmt: skip
_CODES = re.compile(r'(&(?:"[^"]*+"|\d++|K[\dA-F+-]{6}|.))', re.DOTALL)
_LABELS = {"strCache", "strLit", "lvl"}
_STAYING = {"footnoteReference", "endnoteReference", "commentReference", "drawing", "pict",
            "AlternateContent"}  # fmt: skip
_SHIFTED = re.compile(r"vertAlign|baseline=")  # a look: above or below the line
_PLAIN = re.compile(r"(?!.*<(?:b|i|u|strike|vertAlign)[ />])")


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def runs_of(content: bytes, options: Options) -> Parsed[bytes]:
    """A part made of paragraphs and runs."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root: Any = etree.fromstring(content, parser)
    if root.getroottree().docinfo.doctype:
        raise UserError("expected XML without a document type in the file")
    paragraphs = [e for e in root.iter() if _name(e) in ("p", "si", "is", "text")]
    for paragraph in paragraphs:
        _wrap_fields(paragraph)
    units = [*_short_texts(root)]  # first: what they stand in is copied
    units += [
        unit for paragraph in paragraphs for line in _stretches(paragraph) for unit in _unit(line)
    ]
    if not units:
        return Parsed((), lambda: content)

    def finish() -> bytes:
        for field in [*root.iter(_LINK, _FIELD)]:
            for run in [*field]:
                field.addprevious(run)
            field.getparent().remove(field)
        return etree.tostring(
            root.getroottree(), xml_declaration=True, encoding="UTF-8", standalone=True
        )

    return Parsed(units, finish)


def _wrap_fields(paragraph: Any) -> None:
    """Puts each complex field of a paragraph (ECMA-376-1, 17.16.18) into an element of ours.

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


def _short_texts(root: Any) -> Iterator[Unit]:
    """What is no paragraph: alternative texts, prompts of cells, labels of charts, comments."""
    for element in root.iter():
        name = _name(element)
        for key, value in element.items() if name in _READ else ():
            if key.rpartition("}")[2] in _READ[name] and has_words(value):
                yield text_unit(value, functools.partial(element.set, key))
        if name[-6:] in ("Header", "Footer"):  # of a printed sheet, with codes between
            yield from _between_codes(element)
        if name in ("text", "v") and not len(element) and has_words(element.text or ""):
            above = {_name(each) for each in itertools.islice(element.iterancestors(), 2)}
            if name == "text" or above & _LABELS:
                yield text_unit(element.text, functools.partial(setattr, element, "text"))


def _between_codes(element: Any) -> Iterator[Unit]:
    """Left, middle and right of a head or foot; numbers of pages stay in their sentences."""
    sections: list[list[str | list[str]]] = [[]]
    for place, part in enumerate(_CODES.split(element.text or "")):
        is_code = place % 2 == 1
        if part in ("&L", "&C", "&R") and is_code:
            sections += [[[part]], []]
        elif part:
            sections[-1].append([part] if is_code else part)

    def put(section: list[str | list[str]], line: InlineContent[Any], marked: MarkedText) -> None:
        for _, parts in line.render(marked):
            section[:] = [p.replace("&", "&&") if isinstance(p, str) else p for p in parts]
        if section is said[-1][0]:
            element.text = "".join("".join(part) for own in sections for part in own)

    read = [
        (own, InlineContent((part if isinstance(part, str) else None, False, part) for part in own))
        for own in sections
    ]
    said = [own for own in read if own[1].passage.is_translatable]
    for section, line in said:
        yield line.passage, functools.partial(put, section, line)


@dataclass(slots=True)
class _Run:
    """A run, a link with its runs, which all look alike, or a lone text; without texts it stays."""

    element: Any
    texts: list[Any]
    look: str

    @property
    def text(self) -> str:
        return "".join(text.text or "" for text in self.texts)


def _is_passed_over(element: Any) -> bool:
    """Whether it is a mark that no reader sees, or the code of a field that is a link."""
    parts = {_name(child) for child in element} - {"rPr"}
    is_code = bool(parts) and parts <= {"fldChar", "instrText"}
    return _name(element) in _UNSEEN or (is_code and _name(element.getparent()) == _LINK)


def _run(element: Any) -> _Run | None:
    """A run of nothing but text, a link of such runs; None for all else."""
    if _name(element) in _GONE:
        return _Run(element, [], f"stays {id(element)}")
    if _name(element) == "sdt":  # a field to fill in
        content = element.find("{*}sdtContent")
        said = None if content is None else _run(content)
        has_text = said is not None and has_words(said.text)
        return _Run(element, said.texts, f"link {id(element)}") if said and has_text else None
    if _name(element) in _LINKS:
        inner = [_run(child) for child in element if not _is_passed_over(child)]
        runs = [run for run in inner if run is not None and run.texts]
        if len(runs) < len(inner) or len({run.look for run in runs}) != 1:
            return None
        is_link = _name(element) != "smartTag"
        texts = [text for run in runs for text in run.texts]
        return _Run(element, texts, f"link {id(element)}" if is_link else runs[0].look)
    parts = {_name(child) for child in element} - {"rPr", *_UNSEEN}
    if _name(element) == "r" and parts and parts <= _STAYING:
        return _Run(element, [], f"stays {id(element)}")
    if _name(element) != "r" or parts != {"t"}:
        return None
    looks = [child for child in element if _name(child) == "rPr"]
    run = _Run(element, [child for child in element if _name(child) == "t"], "")
    run.look = _look(looks[0]) if looks else ""
    if _SHIFTED.search(run.look) and not has_words(run.text):  # as in H2O
        return _Run(element, [], f"stays {id(element)}")
    return run


def _look(properties: Any) -> str:
    """How a run is formatted, less what only the spelling check wants to know."""
    from lxml import etree

    quiet = {"lang", "noProof", "dirty", "err"}
    own = copy.deepcopy(properties)
    own.tail = None
    for name in quiet & {str(name) for name in own.attrib}:
        del own.attrib[name]
    for child in [child for child in own if _name(child) in quiet]:
        own.remove(child)
    return etree.tostring(own, encoding="unicode") if len(own) or own.attrib else ""


def _stretches(paragraph: Any) -> Iterator[list[_Run]]:
    """Neighbouring runs of text only, which are read as one; all other texts one by one."""
    stretch: list[_Run] = []
    for child in paragraph:
        if _name(child) in _UNSEEN:
            continue
        run = _run(child)
        if run is not None:
            stretch.append(run)
            continue
        yield stretch
        stretch = []
        if _name(child) == "t":
            yield [_Run(child, [child], "")]
        elif _name(child) in {"r", "fld", "sdt", *_LINKS}:
            yield from ([_Run(text, [text], "")] for text in _lone_texts(child))
    yield stretch


def _lone_texts(element: Any) -> Iterator[Any]:
    """The texts below an element that are in no paragraph of their own."""
    for child in element:
        if _name(child) == "t":
            yield child
        elif _name(child) not in ("p", "AlternateContent", "drawing", "pict", "object", "rPh"):
            yield from _lone_texts(child)


def _unit(runs: Sequence[_Run]) -> Iterator[Unit]:
    spoken = [i for i, run in enumerate(runs) if run.texts]
    if not has_words("".join(run.text for run in runs)):
        return
    runs = runs[spoken[0] : spoken[-1] + 1]
    sizes: Counter[str] = Counter()
    looks = [run.look for run in runs if run.texts and run.look]
    if _name(runs[0].element.getparent()) == "si" and looks and _PLAIN.match(looks[-1]):
        for run in runs:  # the first has the look of the cell, which the others repeat
            run.look = run.look or looks[-1]
    for run in runs:
        sizes[run.look] += 0 if run.look.startswith("link ") else len(run.text)
    usual = sizes.most_common(1)[0][0]
    usual_run = [run for run in runs if run.look == usual][-1]
    groups = [list(group) for _, group in itertools.groupby(runs, lambda run: run.look)]
    line = InlineContent(
        ("".join(run.text for run in own) if own[0].texts else None, own[0].look != usual, own[0])
        for own in groups
    )

    def put(marked: MarkedText) -> None:
        if written := line.render(marked):
            _write(runs, [(part, mark or usual_run) for mark, parts in written for part in parts])

    yield line.passage, put


def _write(runs: Sequence[_Run], parts: Iterable[tuple[str | _Run, _Run]]) -> None:
    """Writes a stretch anew: each text is a copy of the first run of its look, or a run stays.

    What begins inside of it (a comment, a bookmark) then begins before it.
    """
    first, last = runs[0].element, runs[-1].element
    siblings = itertools.chain([first], first.itersiblings())
    inside = itertools.takewhile(lambda sibling: sibling is not last, siblings)
    for element in [each for each in inside if _name(each).endswith("Start")]:
        first.addprevious(element)
    spoken = [run for run in runs if run.texts]
    for run in spoken:
        _say(run.texts, "")  # copied as often as need be: with one text
    for part, run in parts:
        if isinstance(part, str):
            element = copy.deepcopy(run.element)
            _say([child for child in element.iter() if _name(child) == "t"], part)
        else:
            element = part.element
            while _name(end := element.getprevious()) == "commentRangeEnd":
                first.addprevious(end)
        first.addprevious(element)
    for run in spoken:
        run.element.getparent().remove(run.element)


def _say(texts: Sequence[Any], text: str) -> None:
    """The first text says it all; the others go, with the runs that they leave empty."""
    texts[0].text = text
    if text != text.strip() and not texts[0].tag.startswith(
        "{http://schemas.openxmlformats.org/drawingml"
    ):
        texts[0].set(_SPACE, "preserve")
    emptied: dict[Any, None] = {}
    for other in texts[1:]:
        run = other.getparent()
        run.remove(other)
        emptied[run] = None
    for run in emptied:
        if _name(run) == "r" and all(_name(child) == "rPr" for child in run):
            run.getparent().remove(run)
