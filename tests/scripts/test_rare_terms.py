"""Nouns that parallel text hardly shows, as a glossary; and back-translations that use it."""

from pathlib import Path

import pytest

from scripts.corpus import back_translate, rare_terms
from transformer.config import UserError
from transformer.corpus.readers import read_pairs

TEXT = ["Hubo rachas de viento.", "Una racha de viento abrió la puerta.", "El embalse está vacío."]


def file(path: Path, *rows: str) -> str:
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(path)


def write_glossary(folder: Path, *more: str) -> Path:
    """The glossary of a text, with two dictionaries that agree on some words."""
    text = file(folder / "news.txt", *TEXT * 3, *["Se rompieron los vasos y un vaso."] * 6)
    first = file(
        folder / "a.tsv", "racha\tgust", "embalse\treservoir", "vaso\tglass", "abrir\topen"
    )
    second = file(folder / "b.tsv", "racha\tgust", "embalse\tlake", "vaso\tglass", "viento\twind")
    pairs = file(folder / "pairs.tsv", "es\ten", *["Un vaso de agua.\tA glass of water."] * 4)
    output = folder / "rare.tsv"
    command = [
        "--text", text, "--lang", "es", "--to", "en", "--parallel", pairs, "--entries", first,
        second, "--fewer-than", "4", "--at-least", "3", "--output", str(output),
    ]  # fmt: skip
    assert rare_terms.main([*command, *more]) == 0
    return output


@pytest.mark.parametrize(
    ("noun", "lang", "several"),
    [
        ("luz", "es", "luces"), ("racha", "es", "rachas"), ("canción", "es", "canciones"),
        ("árbol", "es", "árboles"), ("city", "en", "cities"), ("boy", "en", "boys"),
        ("box", "en", "boxes"), ("gust", "en", "gusts"),
    ],
)  # fmt: skip
def test_nouns_have_their_regular_plurals(noun: str, lang: str, several: str) -> None:
    assert rare_terms.plural(noun, lang) == several


def test_taken_are_rare_nouns_that_dictionaries_agree_on(tmp_path: Path) -> None:
    glossary = write_glossary(tmp_path).read_text(encoding="utf-8")
    assert glossary == "es\ten\nracha|rachas\tgust|gusts\n"
    one = write_glossary(tmp_path, "--agree", "1", "--fewer-than", "5").read_text(encoding="utf-8")
    assert "vaso|vasos\tglass|glasses\n" in one  # four times in the pairs are fewer than five
    assert "embalse" not in one  # one dictionary each for two translations
    assert "abrir" not in one  # no noun, and not in the text


@pytest.mark.parametrize("line", ["palabra", "palabra\t", "una\tdos\ttres"])
def test_a_line_that_is_no_entry_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    entries = file(tmp_path / "words.tsv", "sí\tyes", line)
    with pytest.raises(UserError, match=r"words\.tsv, line 2: expected a word"):
        [*rare_terms.read_entries(Path(entries))]


def test_the_model_says_the_terms_in_texts_that_hold_them(tmp_path: Path) -> None:
    glossary = write_glossary(tmp_path)
    command = [
        "--text", str(tmp_path / "news.txt"), "--lang", "es", "--to", "en", "--model",
        "checkpoints/both", "--glossary", str(glossary), "--per-term", "2",
        "--output", str(tmp_path / "out"),
    ]  # fmt: skip
    assert back_translate.main(command) == 0
    rows = list(read_pairs(str(tmp_path / "out" / "bt-terms-es-news.tsv"), "es", "en"))
    # Two texts of "gusts", then two of "gust"; none of those without a term.
    assert [text for text, _ in rows] == [TEXT[0], TEXT[1], TEXT[0], TEXT[1]]
    for (_, source), term in zip(rows, ["gusts", "gust"] * 2, strict=True):
        assert source.startswith("<bt> ")
        assert term in source.split()


def test_a_text_whose_term_is_not_said_is_its_own_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        back_translate, "model_translator", lambda args, glossary: lambda lines: [""] * len(lines)
    )
    glossary = write_glossary(tmp_path)
    command = [
        "--text", str(tmp_path / "news.txt"), "--lang", "es", "--to", "en", "--model", "any",
        "--glossary", str(glossary), "--per-term", "1", "--output", str(tmp_path / "out"),
    ]  # fmt: skip
    assert back_translate.main(command) == 0
    rows = list(read_pairs(str(tmp_path / "out" / "bt-terms-es-news.tsv"), "es", "en"))
    assert rows == [(text, f"<copy> {text}") for text in TEXT[:2]]


def test_a_glossary_needs_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        back_translate.main(
            ["--text", "a.txt", "--lang", "es", "--to", "en", "--copy", "1", "--glossary", "g.tsv",
             "--output", str(tmp_path)]
        )  # fmt: skip
    assert "--model" in capsys.readouterr().err
