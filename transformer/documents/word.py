"""Word documents: the text of their paragraphs, and the looks of its parts as marks.

Pictures, tabs, fields and all formatting stay as they are. Knows no language and no model.
"""

import copy
import io
import itertools
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from transformer.config import UserError
from transformer.documents.markup import MarkedText, Span

UNPACKED = 64  # times that a document may be larger unpacked than the limit of a file
Write = Callable[[Sequence[str | MarkedText]], bytes]
Marks = tuple[Span, ...]


def read(content: bytes, max_bytes: int) -> tuple[tuple[str, ...], Write, tuple[Marks, ...]]:
    """The texts, how they are written, and their marks; UserError for what is no such file."""
    import docx

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > UNPACKED * max_bytes:
            raise UserError(f"expected a Word document of at most {UNPACKED * max_bytes} bytes")
        opened = docx.Document(io.BytesIO(content))
    except UserError:
        raise
    except Exception as error:  # whatever a broken archive or XML brings
        raise UserError(f"expected a Word document, got {type(error).__name__}") from None
    lines = [line for paragraph in _paragraphs(opened) for line in _stretches(paragraph)]

    def write(texts: Sequence[str | MarkedText]) -> bytes:
        for line, text in zip(lines, texts, strict=True):
            _rerun(line, [(text, None)] if isinstance(text, str) else text)
        written = io.BytesIO()
        opened.save(written)
        return written.getvalue()

    texts = tuple("".join(run.text for group in line for run in group) for line in lines)
    return texts, write, tuple(_looks(line) for line in lines)


def _paragraphs(opened: Any) -> Iterator[Any]:
    """Those of the text, of its tables, and of headers and footers."""
    from docx.text.paragraph import Paragraph

    parts = [part for one in opened.sections for part in (one.header, one.footer)]
    own = [part for part in parts if not part.is_linked_to_previous]
    for part, root in ((opened, opened.element.body), *((part, part._element) for part in own)):
        for element in root.iter():
            if str(element.tag).endswith("}p") and "wordprocessingml" in element.tag:
                yield Paragraph(element, part)


def _stretches(paragraph: Any) -> Iterator[list[list[Any]]]:
    """Neighbouring runs of text only, which are read as one, in groups of one look each.

    A picture, a tab, a field or a link ends a stretch; the runs of a link are one of their own.
    """
    contents: list[list[Any]] = [[]]
    for item in paragraph.iter_inner_content():
        if hasattr(item, "runs"):  # a link
            contents += [list(item.runs), []]
        else:
            contents[-1].append(item)
    for runs in contents:
        for has_text, stretch in itertools.groupby(runs, lambda run: _look(run) is not None):
            groups = [list(group) for _, group in itertools.groupby(stretch, _look)]
            if has_text and any(run.text.strip() for group in groups for run in group):
                yield groups


def _look(run: Any) -> str | None:
    """How a run is formatted; None where it holds more than text (a picture, a tab, a field)."""
    element = run._element
    if {str(child.tag).rpartition("}")[2] for child in element} - {"rPr", "t"}:
        return None
    return "" if element.rPr is None else str(element.rPr.xml)


def _sizes(groups: Sequence[Sequence[Any]]) -> list[int]:
    return [sum(len(run.text) for run in group) for group in groups]


def _usual(groups: Sequence[Sequence[Any]]) -> str | None:
    """The look that most of the characters have."""
    counts: Counter[str | None] = Counter()
    for group, size in zip(groups, _sizes(groups), strict=True):
        counts[_look(group[0])] += size
    return counts.most_common(1)[0][0]


def _looks(groups: Sequence[Sequence[Any]]) -> tuple[Span, ...]:
    """The marks of a stretch: its groups that do not look as usual."""
    marks, end, usual = [], 0, _usual(groups)
    for group, size in zip(groups, _sizes(groups), strict=True):
        start, end = end, end + size
        text = "".join(run.text for run in group)
        if _look(group[0]) != usual and text.strip():
            marks.append((end - len(text.lstrip()), start + len(text.rstrip())))
    return tuple(marks)


def _rerun(groups: Sequence[Sequence[Any]], filled: MarkedText) -> None:
    """Writes a stretch anew: each piece is a copy of the first run of its look."""
    usual = _usual(groups)
    plain = next(group[0] for group in groups if _look(group[0]) == usual)
    marked = [
        group[0]
        for group in groups
        if _look(group[0]) != usual and "".join(run.text for run in group).strip()
    ]
    first = groups[0][0]._element
    for text, mark in filled:
        element = copy.deepcopy((plain if mark is None else marked[mark])._element)
        first.addprevious(element)
        element.text = text
    for run in (run for group in groups for run in group):
        run._element.getparent().remove(run._element)
