"""Every kind of mark, in random members and random sentences: it is found whole, and no word is."""

import re

import hypothesis
import pytest
from hypothesis import strategies as st

from transformer.text.patterns import PATTERNS, is_accelerator, is_markup, is_paired_markup
from transformer.text.placeholders import find_protected


def matching(pattern: str) -> st.SearchStrategy[str]:
    """Texts of ASCII that a pattern without lookarounds describes."""
    return st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)


WORDS = st.sampled_from(
    ["casa", "the", "perro", "house", "no", "está", "now", "red,", "dog", "ver", "ya"]
)
# Members of each kind as the world has them, written apart from the patterns that find them.
MEMBERS: dict[str, st.SearchStrategy[str]] = {
    "code": matching(r"`[a-z =.-]{1,12}`"),
    "tag": matching(r'</?[a-z]{1,6}>|<a href="[a-z]{1,9}">|<[0-9]{1,2}/>'),
    "stamp": matching(r"[01][0-9]:[0-5][0-9]:[0-5][0-9] \+0[0-9]00"),
    "time_zone": matching(r"UTC[+-][1-9]|GMT"),
    "address": matching(r"(?:Calle|Avenida) [A-Z][a-z]{3,6}, [1-9][0-9]"),
    "mailbox": matching(r"[A-Z][a-z]{2,6} <[a-z]{2,8}@[a-z]{2,8}\.com>"),
    "colour": matching(r"\x1b\[(?:0|3[0-7]|1;3[0-7])m"),
    "override": matching(r"\{\\(?:an[1-9]|[ib][01]|pos\([0-9]{1,3},[0-9]{1,3}\))\}"),
    "template": matching(
        r"\{% [a-z]{2,8}(?: [a-z]{1,6})? %\}|<%= [a-z]{1,9} %>|\{# [a-z ]{3}[a-z] #\}"
    ),
    "message": matching(r"\{[a-z]{1,9}, (?:plural|select), (?:one|other|=0|few) \{"),
    "statement": st.nothing(),  # a whole line: see below
    "shell": st.nothing(),
    "sql": matching(
        r"SELECT [a-z]{1,9}(?:, [a-z])? FROM [a-z]{1,9}(?: WHERE [a-z]{1,5} = [0-9])?;"
    ),
    "style": matching(r"\.[a-z]{1,9} \{ margin: [a-z0-9]{1,5}; \}|text-align: [a-z]{3,9};"),
    "selector": matching(r"(?:btn|bg|col)-[a-z]{2,7}|[0-9]{1,2}(?:\.[0-9])?(?:em|rem|px|vh)"),
    "date_pattern": st.sampled_from(
        [
            "MM/DD/YYYY",
            "dd/mm/yyyy",
            "YYYY-MM-DD",
            "DD.MM.AAAA",
            "HH:mm:ss",
            "hh:mm a",
            "d MMM yyyy",
            "%d/%m/%Y",
            "%H:%M:%S",
            "dd-MM-yyyy HH:mm",
            "MMM d, yyyy",
            "yyyy-MM-ddTHH:mm:ss",
            "aaaa/mm/dd",
        ]
    ),
    "placeholder": matching(
        r"%[a-z]{2,9}%|%[1-9]\$s|\{[a-z_]{1,9}\}|\$\{[a-z.]{1,9}\}|:[a-z]{2,9}|\[\[[a-z]{1,9}\]\]"
        r"|__[A-Z]{2,8}__|\{\{< [a-z]{1,9} >\}\}|\*\|[A-Z]{2,9}\|\*|\$[A-Z]{2,4}"
        r"|\{[a-z]{1,9}, (?:number|date), [a-z]{2,8}\}"
    ),
    "link": matching(r"\[\[(?:File:)?[A-Za-z ]{1,9}[a-z]\|(?:thumb\|)?"),
    "board": matching(
        r'\[/?[biu]\]|\[url=[a-z/]{1,9}\]|\[gallery ids="[0-9]{1,2},[0-9]"\]|\[/quote\]'
    ),
    "emphasis": st.nothing(),  # two signs: see below
    "rank": matching(r">{2,4}"),  # and -Yes: see below
    "hashtag": matching(r"#[A-Z][a-z]{1,6}[A-Z][a-z]{1,6}|#[a-z]{2,9}|#caf\u00e9[0-9]?"),
    "mention": matching(r"@[a-z]{2,8}(?:_[a-z]{1,5})?(?:@[a-z]{2,8}\.[a-z]{2,4})?|[ru]/[a-z]{3,9}"),
    "emoji": matching(r":[a-z]{2,9}(?:_[a-z]{1,5})?:(?::[a-z]{3}:)?"),
    "language": matching(r"[A-Z]#|C\+\+|[a-z]{2,5}::[A-Za-z]{2,8}"),
    "email": matching(r"[a-z]{2,8}@[a-z]{2,8}\.(?:com|org|es)"),
    "doi": matching(r"10\.[0-9]{4,5}/[a-z]{2,6}[0-9]{1,4}|arXiv:[0-9]{4}\.[0-9]{5}v[1-9]"),
    "host": matching(r"2001:db8::[0-9a-f]{1,4}|(?:[0-9A-F]{2}:){5}[0-9A-F]{2}|fe80::1(?:/64)?"),
    "media_type": matching(r"(?:image|application|text)/[a-z]{2,5}(?:\+xml)?|UTF-8|ISO-8859-[0-9]"),
    "option": matching(
        r"\[-[a-z]\]|\[--[a-z]{3,9}\]|--[a-z]{3,9}(?:-[a-z]{2,5})?|\"[a-z]{2}\": true"
    ),
    "url": matching(r"https://[a-z]{2,8}\.org/[a-z]{1,9}|[a-z]{2,8}\.(?:pdf|docx)|/usr/[a-z]{2,8}"),
    "token": matching(
        r"[0-9a-f]{8}-[0-9]{4}-4[0-9]{3}-a[0-9]{3}-[0-9]{12}|[A-Z] [A-Z](?: [A-Z]){1,5}"
    ),
    "blank": matching(r"_{4,8}|\.{5,8}"),
    "accelerator": st.nothing(),  # of a label: see below
    "number": st.nothing(),  # not kept by itself
}


def test_every_kind_has_members() -> None:
    assert {*MEMBERS} == {*PATTERNS}


@pytest.mark.parametrize(
    "kind", [kind for kind, members in MEMBERS.items() if not members.is_empty]
)
@hypothesis.given(st.data())
@hypothesis.settings(max_examples=40, deadline=None)
def test_a_mark_is_found_whole_in_any_sentence(kind: str, data: st.DataObject) -> None:
    before, after = (data.draw(st.lists(WORDS, max_size=4)) for _ in range(2))
    mark = data.draw(MEMBERS[kind])
    end = "x]]" if kind == "link" else ""
    text = " ".join([*before, mark + end, *after]) + data.draw(st.sampled_from(["", " ya."]))
    found = [text[span.start : span.end] for span in find_protected(text) if span.kind != "number"]
    assert found == [mark] + ["]]"] * bool(end)


@pytest.mark.parametrize(
    "line",
    [
        "if (x > 0) return;",
        "for (int i = 0; i < n; i++) {",
        "const name = user.name;",
        "return a + b;",
        "print(name);",
        'print("Hello world")',
        "def area(width, height):",
        "import java.util.List;",
        "} else {",
        'git commit -m "fix the house"',
        "pip install transformer",
        "true",
        "null",
        "$ cd casa",
        "ls -l",
        "sudo apt install vim",
        "    while (a && b) {",
    ],
)
def test_a_line_of_code_is_one_mark(line: str) -> None:
    text = f"Mira esto:\n{line}\nY ya."
    assert [text[span.start : span.end].strip() for span in find_protected(text)] == [line.strip()]


@pytest.mark.parametrize(
    "text",
    [
        "If (and only if) you can, come.",
        "For example (see below);",
        "git is a program of ours.",
        "Return the book; then rest.",
        "Ls. and so on",
        "[music playing] [DOOR OPENS] [risas]",
        "A: yes. b) no",
        "Nota: es así;",
        "Import duties rose.",
        "la palabra --explicó-- era rara",
        "well-known, e-mail, and/or, audio/visual",
        "SELECT the best",
        "Es y/o no",
        "AT&T, R&D, Q&A, Tom & Ana",
        "2 * 3 * 4",
        "Precio* y coste*",
        "x_min and T_max",
        "M[i]ssing",
        "12 h: el perro",
        "so... no",
        "SS.MM. los Reyes, a. m. y A.A.",
        "color: red",
        "El 5 % de",
        "&amp; &nbsp;",
        "# Title",
        "n.º #",
        "Sí :D",
    ],
)
def test_words_are_no_marks(text: str) -> None:
    assert [span for span in find_protected(text) if span.kind != "number"] == []


@pytest.mark.parametrize("sign", ["*", "**", "_", "__", "==", "''", "'''"])
@hypothesis.given(st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
@hypothesis.settings(max_examples=20, deadline=None)
def test_the_signs_of_emphasis_come_in_twos(sign: str, words: str) -> None:
    text = f"Es {sign}{words}{sign} ya. Y no*"
    found = [(text[span.start : span.end], span.start) for span in find_protected(text)]
    assert found == [(sign, 3), (sign, 3 + len(sign + words))]
    assert is_markup(sign)
    assert is_paired_markup(sign)


@pytest.mark.parametrize(
    ("label", "place"),
    [("&Save As...", 0), ("Save &As", 5), ("E&xit", 1), ("_Archivo", 0), ("Ir _A casa", -1)],
)
def test_the_sign_of_a_key_is_found_in_a_label_alone(label: str, place: int) -> None:
    assert [span.start for span in find_protected(label)] == [place] * (place >= 0)
    assert find_protected(f"{label} {'palabra ' * 9}") == ()
    assert is_accelerator(label[place]) == (place >= 0)


def test_the_signs_of_a_heading_of_a_wiki_are_marks() -> None:
    found = [span[:2] for span in find_protected("== Vida y obra ==")]
    assert found == [(0, 2), (15, 17)]
    assert is_markup("==")
    assert find_protected("a == b") == ()


def test_an_address_ends_before_a_space_and_a_mailbox_begins_behind_a_time() -> None:
    text = "At 3:15 PM Bob Smith <bob@x.org>, 5 Pine Avenue NW, or 7 Pine Avenue now."
    kept = {text[span.start : span.end] for span in find_protected(text) if span.kind != "number"}
    assert kept == {"Bob Smith <bob@x.org>", "5 Pine Avenue NW", "7 Pine Avenue"}
