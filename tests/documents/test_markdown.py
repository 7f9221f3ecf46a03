"""Markdown with what blogs, wikis and notebooks add to it."""

import json

import pytest

from tests.documents.shouting import raised, shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.translate import translate_file

pytest.importorskip("markdown_it", reason="needs the extra `files`")

POST = """---
title: Hola mundo
description: "Aprende: ya"
tags: [uno, dos]
---
[gallery ids="12,13" title="Mis fotos"]

Lee [[Página de inicio|la portada]] y [[Otra página]] con ==mucho cuidado== y ![[foto.png]].

{{< note >}}
Esto es una *nota*.
{{< /note >}}

[caption id="a" width=3]El puerto[/caption] aquí

{% if user %}
Hola {{ user.name }} y <%= total %>
{%- endif %}

\\begin{align}
a_1 &= b \\\\
\\end{align}

Véase [el faro](http://x.no/a "no") y ==el **gran** faro==.
"""
SAID = "Lee la portada y con mucho cuidado Esto es una nota El puerto aquí Hola Véase el faro gran"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tags_of_blogs_and_wikis_stay_and_headings_of_the_head_are_read(end: str) -> None:
    _, head, body = POST.split("---\n", 2)
    head = head.replace("Hola mundo", "HOLA MUNDO").replace("Aprende: ya", "APRENDE: YA")
    expected = f"---\n{head}---\n{raised(body, SAID)}"
    for word in ("Página de inicio", "Otra página"):
        expected = expected.replace(raised(word, SAID), word)
    assert shouted(POST.replace("\n", end), ".md") == expected.replace("\n", end)
    assert translate_file(POST.encode(), "a.md", list) == POST.encode()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('+++\ntitle = "hola"\ndate = 2020-01-01\ndescription = \'mar\'\n+++\n',
         '+++\ntitle = "HOLA"\ndate = 2020-01-01\ndescription = "MAR"\n+++\n'),
        ("---\nlayout: post\nimage: {title: no}\n---\n", None),
        ("---\ntitle: [\n---\n", None),
        ("+++\ntitle = hola\n+++\n", None),
        ("---\ntitle: 3\ndate: 2020-01-01\n---\n", None),
    ],
)  # fmt: skip
def test_the_head_of_a_file_stays_but_for_its_headings(head: str, expected: str | None) -> None:
    assert shouted(head + "mar\n", ".md") == (expected or head) + "MAR\n"


def notebook(indent: int | None, is_ascii: bool) -> str:
    cells = [
        {"cell_type": "markdown", "metadata": {"source": "no"},
         "source": ["# Año uno\n", "\n", "El mar $x^2$ y `no`.\n"]},
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": ["print('no')\n"],
         "outputs": [{"data": {"text/markdown": ["no"]}, "metadata": {},
                      "output_type": "display_data"}]},
        {"cell_type": "markdown", "metadata": {}, "source": "La luna\n\n- El sol"},
        {"source": [], "metadata": {}, "cell_type": "markdown"},
        {"source": ["no"], "metadata": {}, "cell_type": "raw"},
        {"source": ["El río"], "metadata": {}, "cell_type": "markdown"},
    ]  # fmt: skip
    book = {"cells": cells, "metadata": {"title": "no"}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(book, indent=indent, ensure_ascii=is_ascii) + "\n"


@pytest.mark.parametrize(("indent", "is_ascii"), [(1, False), (2, True), (None, False)])
def test_only_markdown_cells_of_a_notebook_change(indent: int | None, is_ascii: bool) -> None:
    content = notebook(indent, is_ascii)
    written = shouted(content, ".ipynb")
    words = "Año uno El mar y La luna sol río"
    expected = raised(json.dumps(json.loads(content), ensure_ascii=False), words)
    assert json.loads(written) == json.loads(expected)
    assert json.dumps(json.loads(written), indent=indent, ensure_ascii=is_ascii) == written.strip()
    assert translate_file(content.encode(), "a.ipynb", list) == content.encode()
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(json.loads(written))


@pytest.mark.parametrize("content", ["[]", "{}", '{"worksheets": [{"cells": []}]}'])
def test_what_is_no_notebook_is_refused(content: str) -> None:
    with pytest.raises(UserError, match="expected a notebook of nbformat 4 with cells"):
        read(content, ".ipynb")
