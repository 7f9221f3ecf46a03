"""README.es.md says in Spanish what README.md says in English: same shape, commands, figures."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGLISH, SPANISH = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.es.md")
)
LINKS = (  # each stands in one of the two only
    "([README in English](README.md))",
    "([README en español](README.es.md))",
)
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def prose(text: str) -> str:
    """The text without its blocks of code, and without the links to the other language."""
    for link in LINKS:
        text = text.replace(link, "")
    return FENCE.sub("", text)


def plain(text: str) -> str:
    """Thousands without a mark: a comma in English, a no-break space in Spanish."""
    return re.sub(r"(?<=\d)[,\u00a0\u202f](?=\d{3}(?!\d))", "", text)


def headings(text: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(text), re.MULTILINE)]


def blocks(text: str) -> list[tuple[str, str]]:
    """Each block of code; of a tree of folders the names alone, which nobody translates."""
    return [
        (kind, body if kind else "\n".join(line.split(" ")[0] for line in body.splitlines()))
        for kind, body in FENCE.findall(text)
    ]


def tables(text: str) -> list[list[list[str]]]:
    """The figures of each cell of each row of each table."""
    found: list[list[list[str]]] = [[]]
    for line in prose(text).splitlines():
        if line.startswith("|"):
            cells = plain(line).strip("|").split("|")
            found[-1].append([" ".join(re.findall(r"\d+(?:\.\d+)?", cell)) for cell in cells])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def figures(text: str) -> list[str]:
    """Every number of the running text, in no order: languages put them in different places."""
    running = [line for line in prose(text).splitlines() if not line.startswith("|")]
    return sorted(re.findall(r"\d+(?:\.\d+)?", plain("\n".join(running))))


def code(text: str) -> list[str]:
    """What stands between backquotes; a line break in it is a space."""
    return sorted(" ".join(one.split()) for one in re.findall(r"`([^`]+)`", prose(text)))


def links(text: str) -> list[str]:
    return sorted(re.findall(r"\]\(([^)]+)\)", prose(text)))


def test_the_headings_have_the_same_levels_in_the_same_order() -> None:
    assert headings(SPANISH) == headings(ENGLISH)


def test_the_blocks_of_code_are_the_same() -> None:
    assert blocks(SPANISH) == blocks(ENGLISH)


def test_the_tables_have_the_same_shape_and_the_same_figures() -> None:
    assert tables(SPANISH) == tables(ENGLISH)


def test_the_text_has_the_same_figures() -> None:
    assert figures(SPANISH) == figures(ENGLISH)


def test_the_text_names_the_same_code() -> None:
    assert code(SPANISH) == code(ENGLISH)


def test_the_links_are_the_same_and_lead_somewhere() -> None:
    assert links(SPANISH) == links(ENGLISH)
    assert [x for x in links(SPANISH) if "://" not in x and not (ROOT / x).exists()] == []


def test_it_is_in_spanish_and_names_the_english_one() -> None:
    assert LINKS[0] in SPANISH
    assert LINKS[1] in ENGLISH
    words = re.findall(r"\w+", prose(SPANISH).lower())
    assert sum(word in {"de", "la", "el", "que", "con", "los"} for word in words) > len(words) / 10


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (("## Entrenar", "### Entrenar"), headings),
        (("--max-minutes 60", "--max-minutes 61"), blocks),
        (("57.95", "58.95"), tables),
        (("322 segundos", "323 segundos"), figures),
        (("`--precision auto`", "`--precision`"), code),
        (("(data/README.md)", "(data)"), links),
    ],
)
def test_a_difference_would_be_seen(change: tuple[str, str], check: object) -> None:
    assert callable(check)
    assert change[0] in SPANISH
    assert check(SPANISH.replace(*change)) != check(SPANISH)
