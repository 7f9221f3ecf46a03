"""Terms of a glossary in a translation: in their places, in the right form, none lost."""

from pathlib import Path

import pytest

from transformer.config import SLOTS, DecodeConfig, UserError
from transformer.text.glossary import Glossary
from transformer.translation.directions import Directions, load
from transformer.translation.guard import GuardedTranslator
from transformer.translation.preprocess import TermPlace
from transformer.translation.terms import agree_articles, place_terms
from transformer.translation.translator import Candidate, Translation, Translator

ROOT = Path(__file__).resolve().parents[2]
TERMS = """es\ten
perro|perros\thound|hounds
biblioteca\treading room
Roger Piedra
iPhone
"""


@pytest.fixture(scope="module")
def opened() -> Directions:
    folders = {(a, b): ROOT / f"checkpoints/{a}-{b}" for a, b in (("es", "en"), ("en", "es"))}
    return Directions(folders, "cpu", "auto", guard=True, glossary=Glossary.parse(TERMS))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Tengo dos perros.", ["hounds"]),
        ("Perros y gatos.", ["Hounds"]),
        ("Perro", ["Hound"]),
        ("perro, iPhone", ["hound, iPhone"]),
        ("La biblioteca está cerrada.", ["reading room"]),
        ("EL PERRO ESTÁ EN LA CASA.", ["HOUND"]),
        ("El Perro Vive En La Biblioteca.", ["Hound", "Reading Room"]),
        ("Roger Piedra visitó https://a.org/perro.", ["Roger Piedra", "https://a.org/perro"]),
        ("The hound sleeps. I like cats.", ["perro"]),
    ],
)
def test_terms_are_written_as_the_file_says(
    opened: Directions, source: str, expected: list[str]
) -> None:
    (result,) = opened.translate([source])
    assert result.warnings == ()
    assert [result.text.count(term) for term in expected] == [1] * len(expected)
    begins = expected[0][0].isupper() and source.startswith(("Perro", "Roger"))
    assert not begins or result.text.startswith(expected[0])


def test_many_terms_are_all_there_and_candidates_have_them_too(opened: Directions) -> None:
    text = "Un perro, dos perros y una biblioteca: " * 3 + "Roger Piedra y {name}."
    for result in opened.translate([text, text], DecodeConfig(beam_size=2, n_best=2)):
        assert len(result.candidates) == 2
        counts = [result.text.count(t) for t in ("hound", "reading room", "Roger Piedra", "{name}")]
        assert counts == [6, 3, 1, 1]


def test_a_glossary_of_a_call_takes_the_place_of_that_of_all(opened: Directions) -> None:
    own = Glossary.parse("perro\tmutt")
    assert "mutt" in opened.translate(["El perro come."], glossary=own)[0].text
    assert "hound" in opened.select([("es", "en")]).translate(["El perro come."])[0].text


def test_without_the_guard_there_is_no_glossary(tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text(TERMS, encoding="utf-8")
    model = ROOT / "checkpoints/es-en"
    with pytest.raises(UserError, match="expected the guard with a glossary"):
        load(model, guard=False, glossary=file)
    assert "hound" in load(model, glossary=file).translate(["El perro come."])[0].text
    with pytest.raises(UserError, match="expected a translator with its guard"):
        load(model, device="cpu").unguarded(("es", "en")).translate(["x"], glossary=Glossary(()))


@pytest.mark.parametrize("says", ["Nothing at all", f"{SLOTS[0]} or {SLOTS[0]}", "hound hound"])
def test_a_term_that_the_model_loses_or_doubles_is_there_or_is_a_warning(
    random_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    """A model that says one thing only, and never where a term went."""
    candidates = (Candidate(text=says, score=-1.0, tokens=("x",)),)
    mute = Translator.load(random_checkpoint, "cpu")
    monkeypatch.setattr(
        "transformer.translation.terms.translate_terms",
        lambda translator, sentences, decode: [candidates for _ in sentences],
    )
    monkeypatch.setattr(
        mute,
        "translate_sentences",
        lambda texts, *_: [Translation(source=text, candidates=candidates) for text in texts],
    )
    (result,) = GuardedTranslator(mute, Glossary.parse(TERMS)).translate(["El perro ya come."])
    doubled = "term doubled: hound" in result.warnings
    assert result.text.lower().count("hound") == 1 + doubled
    assert doubled == (says != "Nothing at all")


@pytest.mark.parametrize(
    ("source", "output", "rows", "expected"),
    [  # rows: for each target word what it looked at, of 1 in all
        ("el perro", "the dog", ["90", "09"], "the {}"),
        ("perro", "the dog", ["5", "9"], "the {}"),  # an article is none of the term
        ("casa de Tom", "Tom's house", ["009", "900"], "Tom's {}"),
        ("el perro come", "the hound eats", ["090", "900", "009"], "the {} eats"),  # said already
        ("perro", "of the", ["9", "9"], "{}"),
    ],
)
def test_a_term_goes_where_its_words_went(
    source: str, output: str, rows: list[str], expected: str
) -> None:
    word = "casa" if "casa" in source else "perro"
    start = source.index(word)
    places = [TermPlace(start, start + len(word), SLOTS[0], "hound")]
    weights = [[int(digit) / 10 for digit in row] for row in rows]
    words = source.split(), output.split()
    assert place_terms((source, output), places, words, weights) == expected.format(SLOTS[0])


def test_a_possessive_stays_and_what_cannot_be_aligned_too() -> None:
    places = [TermPlace(3, 8, SLOTS[1], "hound")]
    words = (["el", "perro"], ["the", "dog's"])
    weights = [[0.9, 0.0], [0.0, 0.9]]
    assert place_terms(("el perro", "the dog's"), places, words, weights) == f"the {SLOTS[1]}'s"
    assert place_terms(("el perro", "the dogs"), places, words, weights) == "the dogs"


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("Esta siniestro fue caro.", "siniestro", "Este siniestro fue caro."),
        ("LA SINIESTRO DE LA SINIESTRO", "siniestro", "EL SINIESTRO DEL SINIESTRO"),
        ("A la siniestro y una siniestro", "siniestro", "Al siniestro y un siniestro"),
        ("Nuestros pólizas", "pólizas", "Nuestras pólizas"),
        ("Del póliza y ningún póliza", "póliza", "De la póliza y ninguna póliza"),
        ("la contrato de obra", "contrato de obra", "el contrato de obra"),
        ("los garantías, un sesión", "garantías", "las garantías, un sesión"),
        ("la testigo", "testigo", "la testigo"),
        ("el agua", "agua", "el agua"),
        ("el planeta, la flor", "planeta", "el planeta, la flor"),
        ("la siniestros", "siniestro", "la siniestros"),
        ("para siniestro", "siniestro", "para siniestro"),
    ],
)
def test_articles_agree_with_a_term_whose_ending_tells(text: str, term: str, expected: str) -> None:
    assert agree_articles(text, [term]) == expected


def test_a_term_in_spanish_gets_its_article() -> None:
    glossary = Glossary.parse("claim\tsiniestro\npolicy\tcontrato de seguro\n")
    (result,) = load(glossary=glossary).translate(["This claim of the policy."], langs=("en", "es"))
    assert "Este siniestro del contrato de seguro" in result.text
