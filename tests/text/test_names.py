"""Names of people: told from titles, labels and places."""

import random

import pytest

from transformer.text.names import changed_names, find_person_names, is_person_name, load_names


@pytest.mark.parametrize(
    "name",
    ["Rosa Blanco", "Dolores Fuertes", "Pilar Iglesias", "Ana María López", "Soledad Ríos",
     "Consuelo Flores", "Ramón Delgado", "Luz Campos", "Remedios Rojas", "Rosa María de la Cruz",
     "ROSA BLANCO", "Mary Ann Evans", "Rose Carter", "George W. Bush", "Lebron James",
     "Virginia Woolf"],
)  # fmt: skip
def test_a_person_is_known_by_name_and_surname(name: str) -> None:
    assert is_person_name(name, "es")
    assert [name[a:b] for a, b in find_person_names(name, "es")] == [name]


@pytest.mark.parametrize(
    "text",
    ["White House", "Good Morning", "Santa Cruz", "Buenos Días", "Save Changes", "Guardar Cambios",
     "Casa Blanca", "Cruz Roja", "Semana Santa", "Mark Read", "Rose Garden", "Costa Rica", "Rosa",
     "May Day", "Summer Day", "Bill To", "Art Gallery", "Grant Access", "Page Down", "New York",
     "J. R.", "Virginia Beach", "Art Nouveau"],
)  # fmt: skip
def test_titles_labels_and_places_are_no_people(text: str) -> None:
    assert not is_person_name(text, "en")
    assert [*find_person_names(text, "en")] == []


def test_english_labels_end_in_no_adjective_and_names_may_be_joined() -> None:
    assert is_person_name("Grace Brown", "en")
    for text in ("Tom & Jerry", "Tom &Jerry"):
        assert [text[a:b] for a, b in find_person_names(text, "en")] == [text]
    assert [*find_person_names("Find &Next, Salt & Pepper", "en")] == []


def test_names_are_sought_in_short_lines_and_behind_titles() -> None:
    text = "Por: Rosa Blanco\nUna rosa blanco\nAyer vino a vernos Rosa Blanco con la Sra. Iglesias."
    text += "\nMr. President"
    assert [text[a:b] for a, b in find_person_names(text, "es")] == ["Rosa Blanco", "Iglesias"]
    text = "We met Dr. Grace Hopper, Professor Young and Lord Mayor of the town there."
    assert [text[a:b] for a, b in find_person_names(text, "en")] == ["Grace Hopper", "Young"]
    text = "Ayer hablé con la señora Iglesias y con el doctor que la atendió en casa."
    assert [text[a:b] for a, b in find_person_names(text, "es")] == ["Iglesias"]


def test_words_before_a_name_are_no_part_of_it() -> None:
    for text in ("For Emily Dickinson:", "Por Isabel Allende", "Dear Juan Pérez,"):
        (span,) = find_person_names(text, "en")
        assert text[slice(*span)] == text.strip(",:").split(" ", 1)[1]


def test_a_name_with_a_surname_stays_as_it_is() -> None:
    given, surnames = ([*filter(str.islower, sorted(names))] for names in load_names())
    chance = random.Random(5)
    for _ in range(300):
        first, last = chance.choice(given).capitalize(), chance.choice(surnames).capitalize()
        source = f"Ayer vino {first} {last} a la oficina."
        assert changed_names(source, f"{first} {last} came to the office yesterday.") == []
        assert changed_names(source, f"Xx {last} came.") == [f"{first} {last}"]
        assert changed_names(source, "He came.") == []


@pytest.mark.parametrize(
    ("source", "output", "changed"),
    [
        ("Hablé con Ángel Cabrera.", "I spoke to Angel Cabrera.", []),
        ("Hablé con María García.", "I spoke to Maria García.", ["María García"]),
        ("Hablé con María García.", "I spoke to Maria Garcia.", []),
        ("Enrique Pena Nieto spoke.", "Enrique Peña Nieto habló.", []),
        ("Llegó Cristóbal Colón.", "Christopher Columbus came.", []),
        ("Vi a Jesús Blanco.", "I saw Jesus White.", ["Jesús Blanco"]),
    ],
)
def test_a_name_may_lose_its_accents_or_be_another_one(
    source: str, output: str, changed: list[str]
) -> None:
    assert changed_names(source, output) == changed


def test_the_names_are_from_countries_of_both_languages() -> None:
    given, surnames = load_names()
    assert {"pilar", "mary", "ROSE"} <= given
    assert {"iglesias", "evans", "BROWN"} <= surnames
