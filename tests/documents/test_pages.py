"""Pages and tables as people write them: tags of templates, blanks and names of columns stay."""

from collections.abc import Sequence

import pytest

from tests.documents.shouting import raised, shouted
from transformer.documents.translate import translate_file

WORDS = "hola mar luna sol faro el"
PAGES = [
    "<title>{% block t %}hola{% endblock %}</title><p>{% if user %}mar {{ name }} sol{% endif %}",
    "<% if (a > b) { %>el mar<% } %><p {% if x %}class='no'{% endif %}>luna {# no #}",
    "<ul>{% for a in '<b>' %}<li>{{ a|d:'no' }} sol</li>{% endfor %}</ul> {{{no}}} mar",
    "<img alt=\"{% trans 'no' %}\" title='{{ no }} no' src=\"{{ url }}\"> mar",
    "<textarea name=no>\n  hola {{ no }}\n mar</textarea>",
    "<p>mar <svg width=1><path d='M0'/><text x=1>sol</text><style>no</style></svg> luna",
    "<svg><title>hola</title><desc>mar</desc></svg><svg translate=no><text>no</text></svg>",
    "<p>\n    hola mar\n  </p>\n<li>\t<b>sol</b> luna\r\n</li>",
    "<p>&nbsp;hola 5&nbsp;mar, sol&nbsp;7 luna&nbsp;</p><td>mar\xa0</td>",
    "{ 5 } mar <br> {{ {sol} %}",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_keeps_all_but_its_words(page: str) -> None:
    assert shouted(page, ".html") == raised(page, WORDS)
    assert translate_file(page.encode(), "a.html", list) == page.encode()


def test_a_space_that_does_not_break_stays_beside_its_number() -> None:
    def said(texts: Sequence[str]) -> list[str]:
        return [{"Mide 5\xa0km y\xa0pesa": "It is 5 km long and weighs"}[text] for text in texts]

    written = translate_file(b"<p>Mide 5&nbsp;km y&nbsp;pesa</p>", "a.html", said)
    assert written == b"<p>It is 5&nbsp;km long and weighs</p>"


HEADED = [
    ("id;user_id;body\n1;2;la luna\n", "id;user_id;body\n1;2;LA LUNA\n"),
    ("Id,Name\n1,el mar\n", "Id,Name\n1,EL MAR\n"),
    ("\"orderDate\",\"note\"\n2024-01-01,\"el mar\"\n",
     "\"orderDate\",\"note\"\n2024-01-01,\"EL MAR\"\n"),
    ("Nombre,Nota\n1,el mar\n", "NOMBRE,NOTA\n1,EL MAR\n"),  # for people
    ("casa,house\nmar,sea\n", "CASA,HOUSE\nMAR,SEA\n"),  # a row like the others
    ("el mar,id\n1,2\n", "EL MAR,id\n1,2\n"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "expected"), HEADED)
def test_a_first_row_of_names_for_programs_stays(table: str, expected: str) -> None:
    assert shouted(table, ".csv") == expected


def test_a_semicolon_of_a_cell_stays() -> None:
    def said(texts: Sequence[str]) -> list[str]:
        return [{"El perro; el gato": "The dog, the cat", "a; b, c": "one, two"}[t] for t in texts]

    content = b'x\n"El perro; el gato"\n"a; b, c"\n'.replace(b"x\n", b"")
    assert translate_file(content, "a.csv", said) == b'"The dog; the cat"\n"one; two"\n'
