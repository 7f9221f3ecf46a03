"""Spanish typed without accents gets back those that only one spelling fits."""

import runpy
from pathlib import Path

import pytest

from transformer import accents
from transformer.accents import count, plain, restore

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("El nino tiene tres anos.", "El niño tiene tres años."),
        ("TAMBIEN MANANA", "TAMBIÉN MAÑANA"),
        ("Quizas venga despues.", "Quizás venga después."),
        ("Que hora es?", "¿Qué hora es?"),
        ("Hola, como te llamas?", "Hola, ¿cómo te llamas?"),
        ("Por que no vienes?", "¿Por qué no vienes?"),
        ("A que hora sale el tren?", "¿A qué hora sale el tren?"),
        ("Bien, gracias. Y tu?", "Bien, gracias. ¿Y tu?"),
        ("«Vienes manana?»", "«Vienes mañana?»"),
        ("Que bonito!", "¡Que bonito!"),
        ('"3 o 4?"', '"3 o 4?"'),
        ("- 3 o 4?", "- ¿3 o 4?"),
        ("?", "?"),
        ("", ""),
    ],
)
def test_what_only_one_spelling_fits_is_restored(typed: str, spelt: str) -> None:
    assert restore(typed) == spelt


@pytest.mark.parametrize(
    "text",
    [
        "Esta mujer trabaja como un caballo.",  # all of it may be meant so
        "Miro la casa.",
        "Mañana despues.",  # whoever types one accent means the others
        "¿Dónde está la biblioteca?",
        "El libro que quiero.",
        "Como carne los lunes.",
        "https 3,5 %",
    ],
)
def test_what_is_right_or_open_stays(text: str) -> None:
    assert restore(text) == text


def test_words_keep_their_number_and_their_length() -> None:
    text = "El senor Lopez leyo un articulo de opinion en la pagina tres."
    assert [len(word) for word in restore(text).split()] == [len(word) for word in text.split()]
    assert plain(restore(text)) == text


def test_only_words_that_no_other_one_would_be_are_counted() -> None:
    texts = ["La lección está aquí, como si nada."] * 3
    texts += ["Está sólo aquí.", "Esta lección.", "lección aquí", "manana tambien", "única"]
    assert count(texts) == ["aquí", "lección"]  # "está" and "esta" are two, "única" is too rare
    assert count([*texts, *(["La leccion está mal."] * 2)]) == ["aquí"]


def test_the_table_is_words_in_order_and_its_script_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = accents.TABLE.read_text(encoding="utf-8").split()
    assert words == sorted(set(words))
    assert {"mañana", "también", "después", "más", "niño"} <= {*words}
    assert not {"esta", "está", "él", "si", "sí", "miro", "miró"} & {*words}
    monkeypatch.setattr(accents, "TABLE", tmp_path / "accents.tsv")
    main = runpy.run_path(str(ROOT / "data" / "accents.py"))["main"]
    main([str(ROOT / "data" / "test.tsv")])
    assert "señor" in (tmp_path / "accents.tsv").read_text(encoding="utf-8").split()
