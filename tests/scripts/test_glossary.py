"""The measurement of glossaries: its terms, what counts as honoured, and its table."""

from pathlib import Path

import pytest

from scripts.benchmark import glossary as script

PAIRS = [
    ("El perro ve a Tom.", "The dog sees Tom."),
    ("Un perro duerme con Tom.", "A dog sleeps with Tom."),
    ("La casa es grande.", "The house is large."),
    ("Me gusta esta casa.", "I like this house."),
]


def test_nouns_get_another_target_and_names_stay() -> None:
    terms = script.make_terms(PAIRS, ("es", "en"))
    assert sorted(terms) == [("Tom", "Tom", "Tom"), ("casa", "house", "esuoh"),
                             ("perro", "dog", "god")][: len(terms)]  # fmt: skip


def test_a_term_counts_if_it_is_there_as_often_as_in_the_source() -> None:
    case = script.TestSentence("La casa.", "The house.", [script.Term("casa", "house", "esuoh")])
    texts = ("The esuoh.", "The house.", "Esuoh, esuoh.", "Esuoh.")
    assert [script.is_honoured(case, text) for text in texts] == [True, False, False, True]
    assert script.insert_targets(case, "House, house, houses") == "Esuoh, esuoh, houses"


def test_the_table_has_a_row_a_direction(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join("\t".join(pair) + "\n" for pair in [("es", "en"), *PAIRS]), "utf-8")
    assert script.main(["--test", str(file)]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "-es" in line
            or "-en" in line]  # fmt: skip
    assert {row[1].strip(): row[4].strip() for row in rows} == {"es-en": "100.00%",
                                                                "en-es": "100.00%"}  # fmt: skip


def test_pairs_without_words_in_common_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_text("es\ten\nsí\tyes\n", "utf-8")
    assert script.main(["--test", str(tmp_path / "pairs.tsv")]) == 2
    assert "more of them" in capsys.readouterr().err
