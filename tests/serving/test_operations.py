"""The description of the API: valid, complete, and true of what is answered."""

import re
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")

from tests.documents.shouting import pdf
from transformer.serving.app import PAGES, SCHEMA
from transformer.serving.operations import GETS, POSTS

CASES = [
    pytest.param(path, *example, id=f"{path} {name}")
    for path, operation in POSTS.items()
    for name, example in operation.examples.items()
]


@pytest.fixture(scope="module")
def description(released: Any) -> Any:
    """The description, as a client gets it."""
    return released("GET", SCHEMA).json()


def test_the_description_is_valid_and_has_every_address(released: Any, description: Any) -> None:
    pytest.importorskip("openapi_spec_validator", reason="needs openapi-spec-validator").validate(
        description
    )
    served = {getattr(route, "path", "") for route in released.app.routes}
    assert {*description["paths"]} == served - {*PAGES, SCHEMA}
    for path, methods in description["paths"].items():
        for method, described in methods.items():
            assert described["summary"], path
            assert ("requestBody" in described) == (method == "post")


def nearly(found: Any, expected: Any) -> bool:
    """Whether two JSON values are the same, but for what machines compute otherwise."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(nearly(found[k], expected[k]) for k in found)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(nearly, found, expected))
    return bool(
        found == (pytest.approx(expected, abs=0.03) if type(expected) is float else expected)
    )


def check(description: Any, described: Any, answer: Any) -> None:
    """An answer is what its type says, down to its fields."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs openapi-spec-validator")
    schema = described["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(answer, {**schema, "components": description["components"]})


@pytest.mark.parametrize(("path", "fields", "expected"), CASES)
def test_an_example_is_answered_as_it_says(
    released: Any, description: Any, path: str, fields: Any, expected: Any
) -> None:
    answer = released.post(path, **fields)
    assert answer.status_code == 200
    assert nearly(answer.json(), expected), answer.json()
    check(description, description["paths"][path]["post"], answer.json())


@pytest.mark.parametrize("path", [path for path, get in GETS.items() if get.answer])
def test_an_answer_without_a_question_is_what_it_says(
    released: Any, description: Any, path: str
) -> None:
    check(description, description["paths"][path]["get"], released("GET", path).json())


def test_a_look_with_maps_is_what_it_says(released: Any, description: Any) -> None:
    fields = {"q": "Tengo hambre. Hola.", "source": "auto", "target": "en", "attention": True}
    answer = released.post("/inspect", **fields).json()
    assert "cross" in answer["parts"][0]
    check(description, description["paths"]["/inspect"]["post"], answer)


TERMS = "es\ten\nperro|perros\thound|hounds\nRoger Piedra"


@pytest.mark.parametrize("glossary", [TERMS, [row.split("\t") for row in TERMS.splitlines()]])
def test_a_glossary_of_a_request_is_that_of_no_other(released: Any, glossary: Any) -> None:
    asked = {"q": "El perro negro de Roger Piedra come.", "source": "auto", "target": "en"}
    answer = released.post(**asked, glossary=glossary, alternatives=1).json()
    for text in (answer["translatedText"], *answer["alternatives"]):
        assert "hound" in text
        assert "Roger Piedra" in text
    assert "hound" not in released.post(**asked).json()["translatedText"]
    other = released.post(q="The hound eats.", source="en", target="es", glossary=glossary).json()
    assert "perro" in other["translatedText"]


def test_a_glossary_holds_in_pages_files_and_looks(released: Any) -> None:
    asked = {"source": "es", "target": "en", "glossary": TERMS}
    page = "<p>Dos <b>perros</b> comen.</p>"
    answer = released.post(q=page, format="html", **asked).json()
    assert re.search("<b>[Hh]ounds</b>", answer["translatedText"])  # the mark has followed it
    (part,) = released.post("/inspect", q="Dos perros comen.", **asked).json()["parts"]
    assert "hounds" in part["target"].lower()
    assert len(part["alignment"]) == len(part["targetWords"])
    files = {"file": ("a.html", page.encode())}
    url = released("POST", "/translate_file", data=asked, files=files).json()["translatedFileUrl"]
    assert re.search("<b>[Hh]ounds</b>", released("GET", url).text)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.txt", "Je ne sais pas où se trouve la bibliothèque aujourd'hui.".encode(), "read like"),
        ("a.pdf", pdf("La casa."), "comes out as plain text, without pictures"),
    ],
)
def test_a_file_comes_with_what_is_to_check(
    released: Any, description: Any, name: str, content: bytes, told: str
) -> None:
    pair, files = {"source": "es", "target": "en"}, {"file": (name, content)}
    answer = released("POST", "/translate_file", data=pair, files=files).json()
    check(description, description["paths"]["/translate_file"]["post"], answer)
    assert told in "".join(answer["warnings"])


def test_slips_stay_where_they_are_wanted(released: Any) -> None:
    fields = {"q": "<p>Qiero comer <b>una mnzana</b>.</p>", "source": "es", "target": "en"}
    ways: list[tuple[str, dict[str, Any]]] = [("/translate", {"format": "html"}), ("/inspect", {})]
    for path, way in ways:
        undone = released.post(path, **fields, **way).text
        stays = released.post(path, **fields, **way, spelling=False).text
        assert "read as" in undone
        assert "apple" in undone
        assert "read as" not in stays
        assert "apple" not in stays
