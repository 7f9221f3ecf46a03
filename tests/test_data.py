"""The embedded corpus: its files and parts, and the tables that are counted from text."""

import gzip
import lzma
import re
from pathlib import Path

import pytest

from data import beginner, tables
from transformer.corpus.cleaning import dedup_text
from transformer.text import language, spelling

DATA = Path(__file__).resolve().parent.parent / "data"
PARTS = ("train", "dev", "test")


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (DATA / name).read_text("utf-8").splitlines()]


def sides(part: str) -> tuple[set[str], set[str]]:
    spanish, english = zip(*rows(f"{part}.tsv")[1:], strict=True)
    return set(map(dedup_text, spanish)), set(map(dedup_text, english))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.tsv")), ids=lambda path: path.name)
def test_every_table_has_a_header_and_filled_columns(path: Path) -> None:
    header, *body = rows(path.name)
    assert header[:2] in (["es", "en"], ["from", "kind"], ["direction", "test set"])
    assert body
    for row in body:
        assert len(row) == len(header), row
        assert all(cell == cell.strip() for cell in row), row
        assert all(row[:2]), row


@pytest.mark.parametrize("path", sorted(DATA.glob("taught*.gz")), ids=lambda path: path.name)
def test_taught_pairs_are_new_and_counted(path: Path) -> None:
    header, *body = [
        line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()
    ]
    assert header == ["es", "en"]
    assert all(len(row) == 2 and all(cell and cell == cell.strip() for cell in row) for row in body)
    assert f"| `{path.name}` | {len(body):,} |" in (DATA / "README.md").read_text("utf-8")
    for part in ("dev", "test"):
        for held_out, side in zip(sides(part), zip(*body, strict=True), strict=True):
            assert held_out.isdisjoint(map(dedup_text, side))


def test_the_committed_beginners_part_is_the_one_that_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.tsv").symlink_to(DATA / "train.tsv")
    monkeypatch.setattr(beginner, "DATA", tmp_path)
    beginner.main([])
    for part in PARTS:
        name = f"beginner-{part}.tsv"
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_the_beginners_part_is_short_and_common() -> None:
    whole = {tuple(row) for row in rows("train.tsv")}
    parts = {part: rows(f"beginner-{part}.tsv")[1:] for part in PARTS}
    assert {part: len(pairs) for part, pairs in parts.items()} == {
        "train": 14_000, "dev": 250, "test": 250}  # fmt: skip
    assert all(tuple(row) in whole for pairs in parts.values() for row in pairs)
    lengths = {
        part: {len(side) for row in pairs for side in beginner.words((row[0], row[1]))}
        for part, pairs in parts.items()
    }
    assert max(lengths["train"]) == 10
    assert lengths["dev"] == lengths["test"] == {3, 4, 5, 6}


def test_the_least_common_pairs_are_left_out_in_their_order() -> None:
    pairs = [("uno dos", "one two"), ("tres", "three"), ("dos uno", "two one")]
    assert beginner.common(pairs, 3) == pairs
    assert beginner.common(pairs, 2) == [pairs[0], pairs[2]]


def test_what_is_long_or_free_or_has_other_signs_than_letters_is_not_easy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beginner, "LITERAL", 0.6)  # a word that is met once may be anything's
    nouns = ["gato", "perro", "pan", "mar"], ["cat", "dog", "bread", "sea"]
    plain = [(f"el {es}", f"the {en}") for es, en in zip(*nouns, strict=True)]
    bare = [*zip(*nouns, strict=True)] * 9
    free = ("gato pan", "sea dog")
    odd = [("el pan 2", "the bread 2"), ("el gato 👀", "the cat 👀"), ("pan " * 11, "bread " * 11)]
    assert beginner.easy([*plain, free, *odd, *bare]) == [*plain, *bare]


def test_there_is_enough_to_train_and_to_measure() -> None:
    assert len(rows("train.tsv")) - 1 >= 8000
    assert len(rows("dev.tsv")) - 1 == len(rows("test.tsv")) - 1 == 500


@pytest.mark.parametrize("start", ["", "beginner-"])
def test_no_sentence_stands_in_two_parts_on_either_side(start: str) -> None:
    parts = [sides(f"{start}{part}") for part in PARTS]
    for i in range(3):
        for j in range(i):
            assert not parts[i][0] & parts[j][0]
            assert not parts[i][1] & parts[j][1]


def test_the_committed_trigrams_are_those_of_the_training_pairs() -> None:
    spanish, english = zip(*rows("train.tsv")[1:], strict=True)
    written = language.TRIGRAMS_TABLE.read_text(encoding="utf-8").splitlines()
    assert tables.trigrams(spanish, english) == written


def test_the_tables_are_written_from_a_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "small.tsv"
    corpus.write_text("es\ten\n" + "Está aquí.\tHe is here.\n" * 4, encoding="utf-8")
    monkeypatch.setattr(spelling, "ACCENTS_TABLE", tmp_path / "accents.tsv")
    monkeypatch.setattr(language, "TRIGRAMS_TABLE", tmp_path / "trigrams.tsv")
    monkeypatch.setattr(spelling, "table_path", lambda lang: tmp_path / f"spelling.{lang}.xz")
    for name in ("accents", "trigrams", "spelling"):
        tables.main([name, str(corpus)])
    assert (tmp_path / "accents.tsv").read_text("utf-8").split() == ["aquí", "está"]
    assert re.search("^ es\t", (tmp_path / "trigrams.tsv").read_text("utf-8"), re.MULTILINE)
    assert {path.name for path in tmp_path.glob("*.xz")} == {"spelling.es.xz", "spelling.en.xz"}


def test_words_that_someone_wrote_and_that_look_like_slips_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling, "table_path", lambda lang: tmp_path / f"spelling.{lang}.xz")
    for lang in ("es", "en"):
        spelling.table_path(lang).write_bytes(tables.packed(["pelo hair"] * 40 + ["raro rare"] * 2))
    pairs, text = tmp_path / "pairs.tsv", tmp_path / "text.txt"
    pairs.write_text("es\ten\nVi una peli, Pello.\tI saw a hairr.\n", encoding="utf-8")
    text.write_text("un pello\n" * 4 + "el pelp\n" * 5, encoding="utf-8")
    tables.main(["known", str(pairs)])
    tables.main(["known-es", str(text)])
    lists = {
        lang: lzma.decompress(spelling.table_path(lang).read_bytes()).decode().split("\n")
        for lang in ("es", "en")
    }
    assert lists["es"] == ["hair pelo", "peli pelp rare raro"]  # "una" is a slip of none
    assert lists["en"] == ["hair pelo", "hairr rare raro"]


def test_words_met_twice_are_kept_the_frequent_by_their_frequency_the_others_sorted() -> None:
    texts = ["La casa, la mesa."] * 40 + ["La casa"] + ["zeta ala l'eau don't"] * 2 + ["una vez"]
    assert tables.frequent_and_rare(texts) == (["la", "casa", "mesa"], ["ala", "zeta"])


def test_only_words_that_no_other_one_would_be_are_counted() -> None:
    texts = ["La lección está aquí, como si nada."] * 3
    texts += ["Está sólo aquí.", "Esta lección.", "lección aquí", "manana tambien", "única"]
    assert tables.accents(texts) == [
        "aquí",
        "lección",
    ]  # "está" and "esta" are two, "única" is too rare
    assert tables.accents([*texts, *(["La leccion está mal."] * 2)]) == ["aquí"]
