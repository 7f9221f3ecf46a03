"""From named sources to the token cache: every kind of source, every count, nothing stale."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pytest

from tests.processes import parquet, tsv
from transformer.config import CorpusConfig, ModelConfig, UserError
from transformer.corpus import cleaning
from transformer.corpus import prepare as corpus
from transformer.corpus.cleaning import normalize
from transformer.corpus.prepare import prepare
from transformer.corpus.prepared import PreparedCorpus, Source
from transformer.text.tokenizer import Tokenizer

ES_EN = ("es", "en")
PAIRS = [("¿Cómo está?", "How are you?"), ("No.", "No."), ("Adiós.", "Bye.")]
Prepare = Callable[..., PreparedCorpus]


@pytest.fixture
def make(tmp_path: Path, phrase_tokenizer: Tokenizer) -> Prepare:
    """Prepares some sources of Spanish and English; settings can be replaced."""

    def run(*sources: Path | str | Source, **changes: Any) -> PreparedCorpus:
        named = [s if isinstance(s, Source) else Source(str(s)) for s in sources]
        settings: dict[str, Any] = {
            "held_out": [], "directions": [ES_EN], "config": CorpusConfig(workers=1),
            "vocab_size": 350, "max_len": 60, "cache": tmp_path / "cache",
            "tokenizer": phrase_tokenizer,
        }  # fmt: skip
        given = {**settings, **changes}
        sizes = {name: given.pop(name) for name in ("vocab_size", "max_len")}
        return prepare(named, model=ModelConfig(**sizes), **given)

    return run


DIRTY = [
    ("La casa.", "The house."),
    ("La mesa.", ""),
    ("a " * 300, "b " * 300),
    ("Sí", "No, of course it is not that one, as you might well have known."),
    ("...", "Hm."),
    ("Hola", "Привет"),
    ("El gato ve", "el gato ve"),
    (" La  casa. ", "The house."),
    ("¡Un libro!", "A book."),
    ("El agua.", "The water!"),
]


def test_every_pair_is_counted_under_its_reason_and_source(tmp_path: Path, make: Prepare) -> None:
    first = tsv(tmp_path / "first.tsv", DIRTY)
    second = tsv(tmp_path / "second.tsv", [("Un gato.", "A cat."), *DIRTY[:2]])
    held_out = [("un libro", "whatever"), ("lo que sea", "THE WATER")]
    made = make(Source(str(first), 2.5), second, held_out=held_out)
    assert made.report["read"] == 13
    assert made.report["counts"] == {
        "kept": 2, "empty": 2, "too long": 1, "length ratio": 1, "not text": 1, "wrong script": 1,
        "copy of the source": 1, "duplicate": 2, "in the dev or test sets": 2,
    }  # fmt: skip
    counts = [source["counts"] for source in made.report["sources"]]
    assert counts[1] == {"kept": 1, "empty": 1, "duplicate": 1}
    assert sum(map(sum, (c.values() for c in counts))) == 13
    assert made.sizes == ((1, 2.5), (1, 1.0))
    examples = made.report["dropped_examples"]
    assert examples["in the dev or test sets"] == [list(pair) for pair in DIRTY[-2:]]
    assert examples["duplicate"] == [["La casa.", "The house."]] * 2
    assert set(examples) == set(made.report["counts"]) - {"kept"}


def test_the_report_shows_three_examples_of_a_reason(tmp_path: Path, make: Prepare) -> None:
    path = tsv(tmp_path / "a.tsv", [*PAIRS, *[(f"Frase {i}.", "") for i in range(9)]])
    shown = make(path).report["dropped_examples"]
    assert shown == {"empty": [[f"Frase {i}.", ""] for i in range(3)]}


def test_what_is_read_back_is_what_the_tokeniser_says(
    tmp_path: Path,
    make: Prepare,
    phrases: list[tuple[str, str]],
    phrase_tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datasets.config, "DEFAULT_MAX_BATCH_SIZE", 10)
    made = make(tsv(tmp_path / "a.tsv", [(f"  {s}", f"{t} ") for s, t in phrases[:100]]))
    expected = [
        tuple(phrase_tokenizer.encode(normalize(t)) for t in pair) for pair in phrases[:100]
    ]
    assert [made.pairs[i] for i in range(len(made.pairs))] == expected
    for side, lengths in zip(zip(*expected, strict=True), made.pairs.lengths, strict=True):
        assert lengths.tolist() == [len(ids) + 1 for ids in side]
    assert made.tokenizer.model == phrase_tokenizer.model


def test_the_tokens_stay_on_the_disk(tmp_path: Path, make: Prepare) -> None:
    make(tsv(tmp_path / "a.tsv", PAIRS))
    before = pa.total_allocated_bytes()
    pairs = make(tmp_path / "a.tsv").pairs
    assert pairs[0][0]
    assert pa.total_allocated_bytes() == before


def test_without_a_tokeniser_one_is_trained_on_what_is_kept(
    tmp_path: Path, make: Prepare, phrases: list[tuple[str, str]]
) -> None:
    dirty = [*phrases[:200], *[("漢" * 9, "字" * 9)] * 50]
    made = make(tsv(tmp_path / "a.tsv", dirty), tokenizer=None, vocab_size=340)
    assert made.tokenizer.vocab_size == 340
    assert "漢" not in "".join(made.tokenizer.pieces(range(340)))
    direct = Tokenizer.train([s for s, _ in phrases[:200]] + [t for _, t in phrases[:200]], 340)
    assert made.tokenizer.model == direct.model
    bpe = CorpusConfig(workers=1, tokenizer="bpe", tokenizer_sample=100)
    assert make(tmp_path / "a.tsv", tokenizer=None, config=bpe).tokenizer.vocab_size == 350


def test_a_tokeniser_that_is_given_is_the_one_used(tmp_path: Path, make: Prepare) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    assert make(path, vocab_size=8000).tokenizer.vocab_size == 350


def test_a_second_call_opens_the_cache_and_makes_nothing(
    tmp_path: Path, make: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    first = make(path)

    def fail(*_: Any) -> None:
        raise RuntimeError("made again")

    monkeypatch.setattr(corpus, "_build", fail)
    again = make(Source(str(path), 3.0), config=CorpusConfig(workers=7))
    assert [again.pairs[i] for i in range(3)] == [first.pairs[i] for i in range(3)]
    assert again.sizes == ((3, 3.0),)
    assert again.report == first.report


def test_another_setting_or_tokeniser_makes_another_cache(
    tmp_path: Path, make: Prepare, phrases: list[tuple[str, str]]
) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    make(path)
    assert len(make(path, config=CorpusConfig(workers=1, max_pairs=2)).pairs) == 2
    bpe = Tokenizer.train([text for pair in phrases for text in pair], 350, "bpe")
    assert make(path, tokenizer=bpe).tokenizer.model == bpe.model
    assert len(list((tmp_path / "cache").iterdir())) == 3


@pytest.mark.parametrize("spec", ["a.tsv", "moses", "hub"])
def test_another_file_makes_another_cache(spec: str, tmp_path: Path, make: Prepare) -> None:
    (tmp_path / "set").mkdir()

    def write(pairs: list[tuple[str, str]]) -> None:
        tsv(tmp_path / "a.tsv", pairs)
        for lang, side in zip(ES_EN, zip(*pairs, strict=True), strict=True):
            (tmp_path / f"moses.{lang}").write_text("\n".join(side), encoding="utf-8")
        parquet(tmp_path / "set/train.parquet", pairs)

    named = f"hub:{tmp_path}/set" if spec == "hub" else str(tmp_path / spec)
    write(PAIRS)
    assert len(make(named).pairs) == 3
    write(PAIRS[:2])
    assert len(make(named).pairs) == 2


def test_at_most_max_pairs_of_each_source_are_read(tmp_path: Path, make: Prepare) -> None:
    sources = [tsv(tmp_path / f"{i}.tsv", [(f"{s} {i}", t) for s, t in PAIRS]) for i in range(2)]
    assert make(*sources, config=CorpusConfig(workers=1, max_pairs=2)).sizes == ((2, 1.0),) * 2


def test_a_pair_with_too_many_pieces_is_an_error_or_dropped(tmp_path: Path, make: Prepare) -> None:
    long = ("El gato " * 20, "The cat " * 22)
    path = tsv(tmp_path / "a.tsv", [*PAIRS, long, ("El gato " * 19, "The cat " * 19)])
    worst = r"max_len = 30 pieces .*got \d+ in 'The cat The.*in 2 pairs\. Raise --max-len, or drop"
    with pytest.raises(UserError, match=worst):
        make(path, max_len=30)
    assert not list((tmp_path / "cache").iterdir())
    made = make(path, max_len=30, config=CorpusConfig(workers=1, drop_long=True))
    assert made.report["counts"] == {"kept": 3, "too many pieces": 2}
    assert made.report["dropped_examples"]["too many pieces"][0] == [
        normalize(text) for text in long
    ]
    assert len(made.pairs) == 3
    assert max(map(max, made.pairs.lengths)) <= 30


def test_exactly_max_len_pieces_with_the_end_mark_fit(tmp_path: Path, make: Prepare) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS[:1])
    longest = max(map(max, make(path).pairs.lengths))
    assert len(make(path, max_len=int(longest)).pairs) == 1
    with pytest.raises(UserError, match="expected at most max_len"):
        make(path, max_len=int(longest) - 1)


def test_a_corpus_without_a_pair_is_an_error(tmp_path: Path, make: Prepare) -> None:
    with pytest.raises(UserError, match=r"expected sentence pairs in .*empty\.tsv, got none"):
        make(tsv(tmp_path / "empty.tsv", []))
    with pytest.raises(UserError, match=r"expected pairs worth keeping, got 1 empty$"):
        make(tsv(tmp_path / "dirty.tsv", [("a", "")]))
    drop = CorpusConfig(workers=1, drop_long=True)
    with pytest.raises(UserError, match=r"worth keeping, got 3 too many pieces$"):
        make(tsv(tmp_path / "long.tsv", PAIRS), config=drop, max_len=2)


def test_a_defect_of_a_source_is_told_with_its_line(tmp_path: Path, make: Prepare) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    path.write_bytes(path.read_bytes() + b"x\n")
    line = r"a\.tsv, line 5: expected 2 columns, got 1; --skip-bad skips such rows$"
    with pytest.raises(UserError, match=line):
        make(path)
    with pytest.raises(UserError, match="expected a corpus"):
        make("nothing")


def test_rows_that_are_no_pair_are_passed_over_counted_and_named(
    tmp_path: Path, make: Prepare
) -> None:
    good = [f"{src}\t{tgt}" for src, tgt in PAIRS]
    bad = ["x", "", "a\tb\tc", "d", "e"]
    (tmp_path / "a.tsv").write_text("\n".join(["es\ten", *bad, *good, "f"]), encoding="utf-8")
    rows = ['{"es": ', '{"es": "Sí."}', "[1]", '{"es": "Sí.", "en": "Yes."}']
    (tmp_path / "b.jsonl").write_bytes("\n".join(rows).encode() + b"\n\xff\n")
    (tmp_path / "c.es").write_bytes(b"Uno.\n\xff\nTres.\n")
    (tmp_path / "c.en").write_text("One.\nTwo.\nThree.\n")
    specs = [tmp_path / name for name in ("a.tsv", "b.jsonl", "c.es")]
    made = make(*specs, config=CorpusConfig(workers=1, skip_bad=True))
    assert [source["counts"] for source in made.report["sources"]] == [
        {"kept": 3, "malformed": 5},
        {"kept": 1, "malformed": 4},
        {"kept": 2, "empty": 1, "malformed": 1},
    ]
    assert made.report["dropped_examples"]["malformed"] == [
        [f"{tmp_path}/a.tsv, line {n}: expected 2 columns, got {k}", ""]
        for n, k in ((2, 1), (4, 3), (5, 1))
    ]


def test_what_is_no_defect_of_a_source_is_not_dressed_up_as_one(
    tmp_path: Path, make: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    path = tsv(tmp_path / "a.tsv", PAIRS)
    monkeypatch.setattr(cleaning, "normalize", fail)
    with pytest.raises(datasets.exceptions.DatasetGenerationError):
        make(path)


def test_several_processes_make_what_one_makes(
    tmp_path: Path, make: Prepare, phrases: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tsv(tmp_path / "a.tsv", [*phrases[:150], *DIRTY, *phrases[:5]])
    changes: dict[str, Any] = {"tokenizer": None, "vocab_size": 340, "held_out": phrases[:3]}
    one = make(path, cache=tmp_path / "one", **changes)
    monkeypatch.setattr(corpus, "MIN_PARALLEL", 0)
    config = CorpusConfig(workers=2)
    two = make(path, cache=tmp_path / "two", config=config, **changes)
    assert two.report == one.report
    assert two.tokenizer.model == one.tokenizer.model
    for a, b in zip(one.pairs.lengths, two.pairs.lengths, strict=True):
        np.testing.assert_array_equal(a, b)
    assert all(one.pairs[i] == two.pairs[i] for i in range(len(one.pairs)))


def test_a_crash_leaves_no_cache_behind(
    tmp_path: Path, make: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "make_report", crash)  # the tokens are written by then
        with pytest.raises(KeyboardInterrupt):
            make(path)
    assert not list((tmp_path / "cache").iterdir())
    assert len(make(path).pairs) == 3


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "pipe"])
def test_a_damaged_cache_is_made_anew(
    damage: str, tmp_path: Path, make: Prepare, caplog: pytest.LogCaptureFixture
) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    whole = [*make(path).pairs.lengths]
    left = tmp_path / "cache" / ".work-killed"
    left.mkdir()
    os.utime(left, (0, 0))
    files = [file for file in (tmp_path / "cache").rglob("*.*") if file.is_file()]
    assert len(files) == 5
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.unlink()
        if damage == "pipe":
            os.mkfifo(file)
        elif damage != "gone":
            file.write_bytes(content if damage == "flip" else content[: len(content) // 2])
        np.testing.assert_array_equal([*make(path).pairs.lengths], whole)
        assert caplog.messages.pop().endswith("is damaged: the corpus is prepared anew")
        caplog.clear()
    assert len(list((tmp_path / "cache").iterdir())) == 1, "nothing is left of killed processes"


def test_the_cache_of_a_faster_process_is_taken(
    tmp_path: Path, make: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    build, depth = corpus._build, itertools.count()

    def overtaken(*arguments: Any) -> Path:
        if not next(depth):
            make(path)  # another process, between our look and our rename
        return build(*arguments)

    monkeypatch.setattr(corpus, "_build", overtaken)
    assert len(make(path).pairs) == 3
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_cache_that_cannot_take_its_name_is_an_error(
    tmp_path: Path, make: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    path = tsv(tmp_path / "a.tsv", PAIRS)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(UserError, match=r"^cannot prepare the corpus in .*no space left"):
        make(path)
    assert not list((tmp_path / "cache").iterdir())
