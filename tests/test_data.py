"""The embedded corpus: its files, how they are built, and the grammar behind them."""

import importlib
import importlib.util
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

DATA = Path(__file__).resolve().parent.parent / "data"
PARTS = ("train", "dev", "test")


def load(name: str) -> ModuleType:
    if str(DATA) not in sys.path:
        sys.path.insert(0, str(DATA))
    if name != "build":
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location("corpus_build", DATA / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load("build")
grammar = load("grammar")
clauses = load("grammar.clauses")
english = load("grammar.english")
phrases = load("grammar.phrases")
spanish = load("grammar.spanish")
subjects = load("grammar.subjects")
verbs = load("grammar.verbs")
counting = load("grammar.counting")


def rows(part: str) -> list[list[str]]:
    return [line.split("\t") for line in (DATA / f"{part}.tsv").read_text("utf-8").splitlines()]


def sides(part: str) -> tuple[set[str], set[str]]:
    body = rows(part)[1:]
    return {build.key(es) for es, _ in body}, {build.key(en) for _, en in body}


@pytest.mark.parametrize("part", PARTS)
def test_every_file_has_a_header_and_two_filled_columns(part: str) -> None:
    table = rows(part)
    assert table[0] == ["es", "en"]
    for row in table[1:]:
        assert len(row) == 2
        assert all(cell == cell.strip() and cell for cell in row)


def test_there_is_enough_to_train_and_to_measure() -> None:
    assert len(rows("train")) - 1 >= 8000
    assert len(rows("dev")) - 1 == len(rows("test")) - 1 == 500


def test_no_sentence_stands_in_two_parts_on_either_side() -> None:
    parts = [sides(part) for part in PARTS]
    for i in range(3):
        for j in range(i):
            assert not parts[i][0] & parts[j][0]
            assert not parts[i][1] & parts[j][1]


def test_a_third_of_the_held_out_pairs_is_hand_written() -> None:
    written = {es for name in build.PHRASEBOOKS for es, _ in build.read_phrasebook(DATA / name)}
    for part in ("dev", "test"):
        found = [es for es, _ in rows(part)[1:] if es in written]
        assert len(found) == build.N_PHRASES
        assert all(len(es.split()) >= 4 for es in found)


def test_a_generated_spanish_sentence_has_one_translation() -> None:
    written = {build.key(es) for name in build.PHRASEBOOKS
               for es, _ in build.read_phrasebook(DATA / name)}  # fmt: skip
    seen: dict[str, set[str]] = defaultdict(set)
    for part in PARTS:
        for es, en in rows(part)[1:]:
            seen[build.key(es)].add(build.key(en))
    assert all(len(ens) == 1 for es, ens in seen.items() if es not in written)


def test_the_committed_files_are_what_the_build_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--check"]) == 0
    assert "up to date" in capsys.readouterr().out


def small(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name, value in (("HERE", folder), ("N_GENERATED", 400), ("N_HELD_OUT", 20),
                        ("N_PHRASES", 5)):  # fmt: skip
        monkeypatch.setattr(build, name, value)


def test_check_finds_a_changed_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small(monkeypatch, tmp_path)
    for name in build.PHRASEBOOKS:
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0
    (tmp_path / "dev.tsv").write_text("es\ten\n", encoding="utf-8")
    capsys.readouterr()
    assert build.main(["--check"]) == 1
    assert capsys.readouterr().out == "differs: dev.tsv\n"


def test_a_missing_phrasebook_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small(monkeypatch, tmp_path)
    assert build.main([]) == 2
    assert "phrasebook-1.tsv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hola\thello\n", "first line must be es<TAB>en"),
        ("es\ten\nhola hello\n", "line 2: expected Spanish<TAB>English"),
        ("es\ten\nhola\t\n", "line 2: expected Spanish<TAB>English"),
    ],
)
def test_a_malformed_phrasebook_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "book.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        build.read_phrasebook(path)


@pytest.mark.parametrize(
    "argv", [["--pairs", "3"], ["--output", "x"], ["--pairs", "-1", "--output", "x"]]
)
def test_pairs_and_output_go_together(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        build.main(argv)
    assert "--pairs" in capsys.readouterr().err


def test_the_parts_do_not_depend_on_the_order_of_the_pairs() -> None:
    made = build.generate(300, frozenset())
    written = build.read_phrasebook(DATA / "phrasebook-1.tsv")
    assert build.split(written, made) == build.split(written[::-1], made[::-1])


def test_generated_pairs_are_distinct_and_new() -> None:
    made = build.generate(500, frozenset())
    keys = [build.key(es) for es, _ in made]
    assert len(made) == len(set(keys)) == 500
    taken = frozenset(keys[:100])
    assert not taken & {build.key(es) for es, _ in build.generate(500, taken)}
    assert build.MAX_SHARE <= 0.08
    assert len(grammar.FAMILIES) >= 25


def test_a_large_file_has_its_size_and_few_repetitions(tmp_path: Path) -> None:
    path, again = tmp_path / "large.tsv", tmp_path / "again.tsv"
    assert build.main(["--pairs", "5000", "--output", str(path)]) == 0
    build.write_stream(1000, again)
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "es\ten"
    assert len(lines) == 5001
    assert len(set(lines)) > 4900
    assert again.read_text("utf-8").splitlines() == lines[:1001]


@pytest.mark.parametrize("name", list(grammar.FAMILIES))
def test_every_family_is_well_formed(name: str) -> None:
    dice = grammar.Dice(7)
    for _ in range(60):
        es, en = grammar.sentence(dice, name)
        for text in (es, en):
            assert "  " not in text
            assert not re.search(r"[{}|_=]| [.,?!]", text), text
            assert name == "noun_phrase" or text[-1] in ".?!", text
        assert es[0].isupper() or (es[0] in "¿¡" and es[1].isupper()), es
        assert en[0].isupper(), en
        assert es.count("?") == es.count("¿"), es
        assert not re.search(r"\b(a|de) el [a-z]", es), es
        assert not re.search(r"\b[Aa] [aeio]", en.replace("a one", "")), en
        assert not re.search(r"\b[Aa]n [^aeiouAEIOUh]", en), en


CONJUGATED = """
    tener pret 0 tuve, tener pres 4 tienen, ir pret 2 fue, hacer pret 2 hizo,
    decir pret 4 dijeron, ver imp 3 veíamos, pedir pres 2 pide, pedir pres 3 pedimos,
    dormir pret 4 durmieron, leer pret 2 leyó, buscar pret 0 busqué, llegar subj 1 llegues,
    empezar subj 3 empecemos, conocer pres 0 conozco, construir pres 4 construyen,
    jugar pres 1 juegas, poder cond 1 podrías, venir fut 0 vendré, sentir subj 3 sintamos,
    ser subj 4 sean, comprar psubj 3 compráramos, elegir pres 0 elijo, enviar pres 2 envía,
    traer psubj 0 trajera, oír pres 1 oyes
"""


@pytest.mark.parametrize("row", [row.strip() for row in CONJUGATED.split(",")])
def test_spanish_verbs_are_conjugated(row: str) -> None:
    verb, tense, person, form = row.split()
    assert spanish.verb(verb).tenses[tense][int(person)] == form


def test_spanish_participles_gerunds_and_commands() -> None:
    found = [spanish.verb(v).participle for v in ("abrir", "leer", "vender", "hacer", "ir")]
    assert found == ["abierto", "leído", "vendido", "hecho", "ido"]
    assert [spanish.verb(v).gerund for v in ("dormir", "leer", "pedir", "ir", "ver")] == [
        "durmiendo", "leyendo", "pidiendo", "yendo", "viendo",
    ]  # fmt: skip
    assert [spanish.verb(v).command for v in ("hacer", "cerrar", "ir")] == ["haz", "cierra", "ve"]


def noun(name: str, kind: str) -> object:
    return next(n for n in phrases.NOUNS[kind] if n.es == name)


def test_articles_and_adjectives_agree() -> None:
    water = noun("agua", "drink")
    assert phrases.the(water, False, "frío")[:2] == ("el agua fría", "the cold water")
    assert phrases.this(water).es == "esta agua"
    eagle = noun("águila", "animal")
    assert phrases.a(eagle)[:2] == ("un águila", "an eagle")
    assert phrases.the(eagle, True, "pequeño").es == "las águilas pequeñas"
    assert phrases.a(noun("manzana", "fruit"))[:2] == ("una manzana", "an apple")
    assert phrases.a(noun("universidad", "place")).en == "a university"
    assert phrases.some(noun("casa", "home"), 21).es == "veintiuna casas"
    assert phrases.my(noun("lápiz", "thing"), "we", True).es == "nuestros lápices"
    assert spanish.adjective("inglés", "f", True) == "inglesas"
    assert spanish.adjective("trabajador", "f", False) == "trabajadora"


def test_a_and_de_contract_with_the_article_only() -> None:
    assert clauses.contracted("voy a el parque de el pueblo") == "voy al parque del pueblo"
    assert clauses.contracted("se lo di a él y voy a El Cairo") == "se lo di a él y voy a El Cairo"


def test_questions_and_negations_use_do_support() -> None:
    ana = next(w for w in subjects.NAMES if w.en == "Ana")
    go = verbs.simple("ir", "a el cine", "go to the movies")
    assert clauses.say(clauses.clause(ana, go, "pres", neg=True)) == (
        "Ana no va al cine.", "Ana doesn't go to the movies.",
    )  # fmt: skip
    assert clauses.say(clauses.question(ana, go, "pret"), "?") == (
        "¿Fue Ana al cine?", "Did Ana go to the movies?",
    )  # fmt: skip
    early = verbs.simple("levantarse", "temprano", "get up early")
    assert clauses.clause(subjects.PRONOUNS[0], early, "goto") == (
        "voy a levantarme temprano", "I am going to get up early",
    )  # fmt: skip
    assert clauses.clause(subjects.PRONOUNS[0], early, "prog", neg=True)[1] == (
        "I am not getting up early"
    )


def test_english_forms() -> None:
    assert [english.third_person(v) for v in ("go", "watch", "study", "play", "have")] == [
        "goes", "watches", "studies", "plays", "has",
    ]  # fmt: skip
    assert [english.ing(v) for v in ("run", "write", "lie", "see", "open")] == [
        "running", "writing", "lying", "seeing", "opening",
    ]  # fmt: skip
    assert english.past("swim") == ("swam", "swum")
    assert english.past("plan") == ("planned", "planned")
    assert [english.plural(n) for n in ("mouse", "glass of water", "box", "story", "sheep")] == [
        "mice", "glasses of water", "boxes", "stories", "sheep",
    ]  # fmt: skip
    assert english.compared("big") == ("bigger", "biggest")
    assert english.compared("interesting") == ("more interesting", "most interesting")


def test_numbers_in_words() -> None:
    assert counting.spanish(1) == "un"
    assert counting.spanish(31, "f") == "treinta y una"
    assert counting.spanish(522, "f") == "quinientas veintidós"
    assert counting.spanish(1000) == "mil"
    assert counting.english(522) == "five hundred and twenty-two"
    assert counting.english(1000) == "one thousand"
