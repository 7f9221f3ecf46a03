"""README.es.md follows README.md: the same headings' levels, code, links, and figures of tables."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGLISH, SPANISH = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.es.md")
)
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def headings(text: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", text), re.MULTILINE)]


def blocks(text: str) -> list[tuple[str, str]]:
    """Each block of code; of the tree of folders the names alone, which nobody translates."""
    return [
        (kind, body if kind else re.sub(r"(?<=\S) {2,}\S.*$", "", body, flags=re.MULTILINE))
        for kind, body in FENCE.findall(text)
    ]


def tables(text: str) -> list[list[str]]:
    """The figures of each cell of each row; thousands have a comma or a no-break space."""
    rows = re.findall(r"^\|(.*)\|$", FENCE.sub("", text), re.MULTILINE)
    cells = [re.sub(r"(?<=\d)[,\u00a0](?=\d{3})", "", row).split("|") for row in rows]
    return [[" ".join(re.findall(r"\d+(?:\.\d+)?", cell)) for cell in row] for row in cells]


def links(text: str) -> list[str]:
    """Where it leads, in no order; the other language is the other language."""
    return sorted(re.sub(r"README\.(es\.)?md$", "OTHER", link, count=1) if "/" not in link else link
                  for link in re.findall(r"\]\(([^)]+)\)", text))  # fmt: skip


def code(text: str) -> list[str]:
    """What stands between backquotes, in no order."""
    return sorted(
        " ".join(words.split()) for words in re.findall(r"`([^`]+)`", FENCE.sub("", text))
    )


@pytest.mark.parametrize("part", [headings, blocks, tables, links, code])
def test_both_have_the_same(part: object) -> None:
    assert callable(part)
    assert part(SPANISH) == part(ENGLISH)
    assert len(part(SPANISH)) > 5


def test_it_is_in_spanish() -> None:
    words = re.findall(r"\w+", FENCE.sub("", SPANISH).lower())
    assert sum(word in {"de", "la", "el", "que", "con", "los"} for word in words) > len(words) / 10


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("## Servidor", "### Servidor", headings),
        ("--max-minutes 60", "--max-minutes 61", blocks),
        ("  text model ", "  model text ", blocks),
        ("(data/README.md)", "(data)", links),
        ("`--both`", "`--one`", code),
        ("4\u00a0136", "4\u00a0137", tables),
    ],
)
def test_a_difference_would_be_seen(old: str, new: str, part: object) -> None:
    assert callable(part)
    assert old in SPANISH
    assert part(SPANISH.replace(old, new)) != part(SPANISH)
