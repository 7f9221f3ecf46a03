"""What a source names: every format, the hub, text in one language; and a corpus written again."""

import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.processes import parquet
from transformer.config import UserError
from transformer.corpus.readers import read_pairs, read_texts, write_tsv

PAIRS = [("¿Cómo está?", "How are you?"), ("No.", "No."), ("Adiós.", "Bye.")]


def write_formats(folder: Path) -> dict[str, bytes]:
    """The same pairs in every format: file name and contents; Moses makes two files."""
    columns = {"en_GB": [t for _, t in PAIRS], "es-ES": [s for s, _ in PAIRS]}
    pq.write_table(pa.table(columns), folder / "flat")
    segment = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = (f"<tu>{segment.format('es-ES', s)}{segment.format('en', t)}</tu>" for s, t in PAIRS)
    rows = [{"es": s, "en": t} for s, t in PAIRS]
    texts = {
        "flat.jsonl": "\n".join(map(json.dumps, rows)),
        "nested.json": "\n".join(json.dumps({"translation": row}) for row in rows),
        "table.tsv": "en\tnote\tes\n" + "".join(f"{t}\t-\t{s}\n" for s, t in PAIRS),
        "table.csv": "Inglés;Español\n" + "".join(f'"{t}";"{s}"\n' for s, t in PAIRS),
        "memory.tmx": f"<tmx><body>{''.join(units)}</body></tmx>",
        "moses.es": "".join(f"{s}\n" for s, _ in PAIRS),
        "moses.en": "".join(f"{t}\n" for _, t in PAIRS),
    }
    tables = {
        "nested.parquet": parquet(folder / "nested", PAIRS).read_bytes(),
        "flat.parquet": (folder / "flat").read_bytes(),
    }
    return {name: text.encode() for name, text in texts.items()} | tables


SPECS = ["nested.parquet", "flat.parquet", "flat.jsonl", "nested.json", "table.tsv", "table.csv",
         "memory.tmx"]  # fmt: skip
MOSES = ["moses", "moses.es", "moses.en", "{0}moses.es,{0}moses.en", "{0}moses.en , {0}moses.es"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("spec", [*SPECS, *MOSES])
def test_every_format_is_read_in_both_directions(spec: str, packed: bool, tmp_path: Path) -> None:
    end = ".gz" if packed else ""
    for name, content in write_formats(tmp_path).items():
        (tmp_path / (name + end)).write_bytes(gzip.compress(content) if packed else content)
    path = spec.format(f"{tmp_path}/") if "{" in spec else f"{tmp_path}/{spec}"
    named = path if spec == "moses" else re.sub(r"\b(?= *(,|$))", end, path)
    assert list(read_pairs(named, "es", "en")) == PAIRS
    assert list(read_pairs(named, "en", "es")) == [(tgt, src) for src, tgt in PAIRS]


def test_a_hub_data_set_is_read_by_configuration_and_split(tmp_path: Path) -> None:
    card = "---\nconfigs:\n- config_name: en-es\n  data_files:\n"
    for split, pairs in {"train": PAIRS, "test": PAIRS[:1]}.items():
        parquet(tmp_path / f"en-es/{split}-00000-of-00001.parquet", pairs)
        card += f"  - split: {split}\n    path: en-es/{split}-*\n"
    (tmp_path / "README.md").write_text(f"{card}---\n# Text\n", encoding="utf-8")
    assert list(read_pairs(f"hub:{tmp_path}:en-es", "es", "en")) == PAIRS
    assert list(read_pairs(f"hub:{tmp_path}:en-es:test", "es", "en")) == PAIRS[:1]
    assert list(read_pairs(f"hub:{tmp_path}", "en", "es")) == [(t, s) for s, t in PAIRS]
    with pytest.raises(UserError, match=r"expected a hub data set hub:.*:fr-es: .*not found"):
        list(read_pairs(f"hub:{tmp_path}:fr-es", "es", "en"))
    with pytest.raises(UserError, match=r"Bad split: dev\. Available splits: \['train', 'test'\]"):
        list(read_pairs(f"hub:{tmp_path}:en-es:dev", "es", "en"))


def test_a_hub_data_set_may_be_files_without_a_card(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"es": "Sí.", "en": "Yes."}\n', encoding="utf-8")
    assert list(read_pairs(f"hub:{tmp_path}", "es", "en")) == [("Sí.", "Yes.")]
    with pytest.raises(UserError, match=r"hub:.*, row 1: expected text under 'es' and 'fr'"):
        list(read_pairs(f"hub:{tmp_path}", "es", "fr"))


def test_a_hub_data_set_that_is_not_there_or_is_broken_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a hub data set hub:nobody/nothing:en-es: "):
        list(read_pairs("hub:nobody/nothing:en-es", "es", "en"))
    with pytest.raises(UserError, match="doesn't contain any data files"):
        list(read_pairs(f"hub:{tmp_path}", "es", "en"))
    (tmp_path / "train.jsonl").write_text("{broken\n", encoding="utf-8")
    with pytest.raises(UserError, match="expected a hub data set hub:"):
        list(read_pairs(f"hub:{tmp_path}", "es", "en"))


@pytest.mark.parametrize("spec", ["corpus.txt", "corpus", "corpus.es", "https://a.b/c", ""])
def test_an_unknown_spec_is_an_error_that_says_what_there_is(spec: str) -> None:
    expected = rf"expected a corpus \(\.parquet, \.jsonl.*hub:NAME:CONFIG\), got '{spec}'"
    with pytest.raises(UserError, match=expected):
        read_pairs(spec, "es", "en")


@pytest.mark.parametrize("name", [*SPECS, "a.es,{0}/a.en"])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_missing_file_is_an_error(name: str, end: str, tmp_path: Path) -> None:
    spec = f"{tmp_path}/{name.format(tmp_path)}{end}"
    with pytest.raises(UserError, match=r"expected the file .*: there is none of that name"):
        list(read_pairs(spec, "es", "en"))


def test_a_defect_of_a_parquet_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"nope")
    with pytest.raises(UserError, match=r"expected Parquet in .*/a\.parquet: "):
        list(read_pairs(str(path), "es", "en"))
    with pytest.raises(UserError, match=r"a\.parquet, row 2: .*got 'es': str, 'en': NoneType"):
        list(read_pairs(str(parquet(path, [PAIRS[0], ("Sí", None)])), "es", "en"))  # type: ignore[list-item]
    packed = tmp_path / "b.parquet.gz"
    packed.write_bytes(b"nope")
    with pytest.raises(UserError, match=r"expected gzip data in .*/b\.parquet\.gz"):
        list(read_pairs(str(packed), "es", "en"))


def test_texts_are_the_lines_of_a_file_or_a_column_of_a_table(tmp_path: Path) -> None:
    texts = ["¿Cómo está?", "", "Adiós."]
    lines = "".join(f"{text}\n" for text in texts).encode()
    (tmp_path / "a.txt").write_bytes(lines)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(lines))
    pq.write_table(pa.table({"text": texts, "url": ["a", "b", "c"]}), tmp_path / "a.parquet")
    for name in ("a.txt", "a.txt.gz", "a.parquet"):
        assert list(read_texts(tmp_path / name)) == texts, name


def test_a_table_without_text_is_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"texto": ["hola"]}), tmp_path / "other.parquet")
    pq.write_table(pa.table({"text": [1]}), tmp_path / "number.parquet")
    (tmp_path / "no.parquet").write_bytes(b"nope")
    for name in ("other", "number", "no"):
        with pytest.raises(UserError, match="expected Parquet with a column `text` in "):
            list(read_texts(tmp_path / f"{name}.parquet"))


def test_a_corpus_that_is_written_is_read_again_or_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "new.tsv"
    write_tsv(path, ("es", "en"), iter(PAIRS))
    assert list(read_pairs(str(path), "es", "en")) == PAIRS
    with pytest.raises(ZeroDivisionError):
        write_tsv(path, ("es", "en"), ((str(1 // n), "x") for n in (1, 0)))
    assert list(read_pairs(str(path), "es", "en")) == PAIRS
    assert [file.name for file in tmp_path.iterdir()] == ["new.tsv"]
