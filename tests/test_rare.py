"""Rare words: which are rare, what translates them, which pairs show them, and the swapped ones."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from transformer.config import UserError
from transformer.corpus import read_pairs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import rare
import swap
from phrases import words_of

ANIMALS = [("dog", "perro"), ("cat", "gato"), ("horse", "caballo"), ("bird", "pájaro")]
COMMON = [
    (f"{subject} {verb} one {noun}.", f"{form} un {name}.")
    for subject, verb, form in (
        ("I", "have", "Tengo"),
        ("You", "see", "Ves"),
        ("He", "had", "Tuvo"),
    )
    for noun, name in ANIMALS
]
SHOWN = [
    ("The otter swims in the river.", "La nutria nada en el río."),
    ("An otter eats fish every day.", "Una nutria come pescado cada día."),
    ("A big otter sleeps under a tree.", "Una nutria grande duerme bajo un árbol."),
    ("We saw the otter yesterday.", "Ayer vimos la nutria."),
    ("We heard Otterburn yesterday.", "Ayer oímos Otterburn."),
]


def corpus(path: Path, pairs: list[tuple[str, str]]) -> str:
    """A corpus of these pairs, English and Spanish."""
    path.write_text("".join(f"{en}\t{es}\n" for en, es in [("en", "es"), *pairs]))
    return str(path)


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among 17 pairs nothing can be as surprising as among the thousands of a corpus."""
    monkeypatch.setattr(rare, "SURPRISE", 1.0)


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    """The flags that both commands share; the rare word stands in two corpora."""
    main = corpus(tmp_path / "main.tsv", COMMON)
    books = corpus(tmp_path / "books.tsv", SHOWN[:2])
    news = corpus(tmp_path / "news.tsv", SHOWN[2:])
    langs = ["--from", "en", "--to", "es", "--known", "2"]
    return ["--main", main, "--pairs", books, news, *langs, "--output", str(tmp_path / "out.tsv")]


def row(source: str, target: str, name: str = "a") -> rare.Row:
    """One pair, read."""
    words = frozenset(word.lower() for word in words_of(source))
    stems = frozenset(map(rare.stem, words_of(target)))
    small = frozenset(word for word in words_of(source) if word.islower())
    return rare.Row((source, target), name, words, stems, small, len(words))


def test_a_word_is_wanted_if_others_have_it_and_the_main_corpus_has_not() -> None:
    others = [row("the otter swims", "x", "a"), row("an otter", "x", "b"), row("Ann", "x", "a")]
    others += [row("Ann", "x", "b"), row("fish", "x", "a"), row("fish", "x", "a")]
    known = Counter({"the": 9, "swims": 9})
    assert rare.wanted(others, known, 2, 2) == {"otter"}  # Ann is a name, fish is in one corpus
    assert rare.wanted(others, Counter({"otter": 2}), 2, 2) == set()
    assert rare.wanted(others, known, 2, 3) == set()


def test_the_translation_is_what_meets_the_word_oftener_than_chance() -> None:
    every = [row(*pair) for pair in [*SHOWN, *COMMON * 4]]
    assert rare.lexicon(every, {"otter"})["otter"][0] == "nutri"
    assert rare.lexicon(every, {"river"}) == {}  # seen once: nothing meets it twice


def test_the_shortest_pairs_that_show_a_translation() -> None:
    others = [row("one otter here", "una nutria"), row("otter", "nutria"), row("my otter", "mi")]
    lex: rare.Lexicon = {"otter": ("nutri",)}
    assert list(rare.chosen(others, lex, 1)) == [("otter", "nutria")]
    assert list(rare.chosen(others, lex, 5)) == [others[1].pair, others[0].pair]


def test_a_corpus_becomes_pairs_and_phrases(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "few.tsv"
    assert rare.main([*flags, "--phrases", str(few)]) == 0
    found = set(read_pairs(str(tmp_path / "out.tsv"), "en", "es"))
    assert found == set(SHOWN[:4])
    assert capsys.readouterr().out.startswith("4 pairs for 1 words\n")
    near = list(read_pairs(str(few), "en", "es"))
    assert near
    for source, target in near:
        assert "otter" in source.lower()
        assert "nutria" in target.lower()
        assert any(source in a and target in b for a, b in SHOWN)


def test_no_rare_word_is_one_clear_line(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert rare.main([*flags, "--least", "9"]) == 2
    assert "smaller --least" in capsys.readouterr().err


def analyser(path: Path) -> str:
    """A command that analyses like Apertium: animals as nouns, `nada` as two classes."""
    nouns = ["nutria", *(name for _, name in ANIMALS)]
    path.write_text(
        "import sys\n"
        f"tags = dict.fromkeys({nouns}, 'x<n><f><sg>')\n"
        "tags['nada'] = 'nada<adv>/nadar<vblex><pri><p3><sg>'\n"
        "for form in sys.stdin.read().split():\n"
        "    print(f'^{form}/{tags.get(form, chr(42) + form)}$')\n"
    )
    return f"{sys.executable} {path}"


def test_words_of_more_than_one_class_and_unknown_ones_are_left_out(tmp_path: Path) -> None:
    found = swap.analysed(["gato", "nada", "dos"], analyser(tmp_path / "analyse.py"))
    assert found == {"gato": frozenset({"<n><f><sg>"})}


def test_an_analyser_that_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="apt install"):
        swap.analysed(["gato"], str(tmp_path / "none"))


def test_only_words_that_translate_one_another_give_their_place() -> None:
    lex: rare.Lexicon = {"dog": ("perro",), "dogs": ("perro",), "red": ("rojo",), "tom": ("tom",)}
    assert [s[1:] for s in swap.slots_of(row("A red dog", "Un perro rojo"), lex)] == [
        ("red", "rojo"),
        ("dog", "perro"),
    ]
    assert list(swap.slots_of(row("A dog, a dog", "Un perro"), lex)) == []  # which of them?
    assert list(swap.slots_of(row("A dog of dogs", "Un perro"), lex)) == []
    assert list(swap.slots_of(row("A dog", "Un perro y otro perro"), lex)) == []
    assert list(swap.slots_of(row("See Tom", "Ve a Tom"), lex)) == []


@pytest.mark.parametrize(
    ("pair", "old", "expected"),
    [
        (("A cat.", "Un gato."), ("cat", "gato"), ("An otter.", "Un nutria.")),
        (("Cats!", "¡Gatos!"), ("Cats", "Gatos"), ("Otter!", "¡Nutria!")),
        (("A cat in a hat", "Un gato"), ("hat", "gato"), ("A cat in an otter", "Un nutria")),
        (("-cat", "-gato"), ("cat", "gato"), ("-otter", "-nutria")),
    ],
)
def test_the_words_are_put_in(
    pair: tuple[str, str], old: tuple[str, str], expected: tuple[str, str]
) -> None:
    assert swap.swapped((pair, *old), "otter", "nutria") == expected


def test_a_place_needs_the_kind_of_the_word_and_its_usual_ending() -> None:
    tags = {"gatos": frozenset({"<n><m><pl>"})}
    slots: list[swap.Slot] = [(("cats", "gatos"), "cats", "gatos")] * 300
    slots += [(("cattle", "gatos"), "cattle", "gatos")] * 25  # under a tenth
    assert set(swap.by_kind(slots, tags)) == {("s", tags["gatos"])}
    assert swap.by_kind(slots[:19], tags) == {}


def test_verbs_get_fewer_sentences_and_changed_sounds_none() -> None:
    verb, noun = frozenset({"<vblex><inf>"}), frozenset({"<n><m><sg>"})
    tags = {"nadar": verb, "río": noun, "arroyo": noun}
    places: dict[swap.Kind, list[swap.Slot]] = {
        ("", verb): [(("to go", "ir"), "go", "ir")],
        ("", noun): [(("the sea", "el mar"), "sea", "mar")],
    }
    words = [("swim", "nadar"), ("river", "río"), ("brook", "arroyo")]
    found = Counter(swap.sentences(words, tags, places, 5, 0))
    assert found == {("to swim", "nadar"): 2, ("the river", "el río"): 5}


def test_a_word_that_only_denies_is_no_word_to_put_in() -> None:
    pairs = [("interesting", "interesante"), ("uninteresting", "poco interesante")]
    pairs += [("happy", "feliz"), ("unhappy", "infeliz"), ("under", "bajo"), ("der", "der")]
    every = [row(*pair) for pair in pairs * 3]
    lex = rare.lexicon(every, {"uninteresting", "unhappy", "under"})
    assert {stem for stems in lex.values() for stem in stems} >= {"inter", "infel", "bajo"}
    assert swap.halved(every, {**lex, "uninteresting": ("inter",)}) == {"uninteresting"}


def test_a_corpus_becomes_sentences(
    flags: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(swap, "SLOTS", 2)
    monkeypatch.setattr(swap, "FREQUENT", 1)
    command = analyser(tmp_path / "analyse.py")
    assert swap.main([*flags, "--analyser", command]) == 0
    found = set(read_pairs(str(tmp_path / "out.tsv"), "en", "es"))
    assert found
    assert found <= {
        ("I have one otter.", "Tengo un nutria."),
        ("You see one otter.", "Ves un nutria."),
        ("He had one otter.", "Tuvo un nutria."),
    }
    assert "sentences for 1 words" in capsys.readouterr().out
