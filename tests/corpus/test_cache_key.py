"""What names a cache: everything that could change it, and nothing else."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from transformer.config import CorpusConfig, UserError
from transformer.corpus.prepare import CacheKey
from transformer.corpus.prepared import Source
from transformer.text.tokenizer import Tokenizer

ES_EN = ("es", "en")
CONFIG = CorpusConfig()


@pytest.fixture
def cache_key(tmp_path: Path) -> CacheKey:
    path = tmp_path / "a.tsv"
    path.write_text("es\ten\n")
    return CacheKey((str(path),), ES_EN, CONFIG, 350, 60, frozenset({1, 2}), None)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a.tsv", Source("a.tsv", 1.0)),
        ("a.tsv@2.5", Source("a.tsv", 2.5)),
        ("hub:me@home/x:en-es@.5", Source("hub:me@home/x:en-es", 0.5)),
        ("me@home.tsv", Source("me@home.tsv")),
        ("@2", Source("@2")),
    ],
)
def test_a_source_may_carry_a_weight(text: str, source: Source) -> None:
    assert Source.parse(text) == source


@pytest.mark.parametrize("weight", ["0", "-1", "inf", "nan", "1e300"])
def test_a_weight_out_of_its_bounds_is_refused(weight: str) -> None:
    with pytest.raises(UserError, match=rf"weight above 0, at most 1000, got a\.tsv@{weight}:"):
        Source.parse(f"a.tsv@{weight}")


@pytest.mark.parametrize(
    "changes",
    [
        {"specs": ()},
        {"langs": ("en", "es")},
        {"config": CorpusConfig(max_ratio=2.9)},
        {"config": CorpusConfig(max_pairs=2)},
        {"config": CorpusConfig(drop_long=True)},
        {"config": CorpusConfig(tokenizer="bpe")},
        {"vocab_size": 351},
        {"max_len": 61},
        {"held_out": frozenset({1, 3})},
    ],
    ids=str,
)
def test_each_setting_is_in_the_digest(changes: dict[str, Any], cache_key: CacheKey) -> None:
    assert dataclasses.replace(cache_key, **changes).digest() != cache_key.digest()


def test_the_tokeniser_is_in_the_digest(cache_key: CacheKey, phrase_tokenizer: Tokenizer) -> None:
    given = dataclasses.replace(cache_key, tokenizer=phrase_tokenizer)
    again = dataclasses.replace(cache_key, tokenizer=Tokenizer(phrase_tokenizer.model))
    assert given.digest() == again.digest() != cache_key.digest()


def test_neither_processes_nor_order_are_in_the_digest(cache_key: CacheKey) -> None:
    config, held_out = CorpusConfig(workers=7), frozenset({2, 1})
    same = dataclasses.replace(cache_key, config=config, held_out=held_out)
    assert same.digest() == cache_key.digest()
    assert len(cache_key.digest()) == 16


def test_size_and_date_of_every_file_are_in_the_digest(cache_key: CacheKey, tmp_path: Path) -> None:
    for name in ("moses.es", "moses.en", "set/data/train.tsv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    named = {
        str(tmp_path / "a.tsv"): ["a.tsv"],
        str(tmp_path / "moses"): ["moses.es", "moses.en"],
        f"hub:{tmp_path}/set:en-es:train": ["set/data/train.tsv"],
    }
    for spec, names in named.items():
        one = dataclasses.replace(cache_key, specs=(spec,))
        for path in (tmp_path / name for name in names):
            before = one.digest()
            os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
            dated = one.digest()
            path.write_text(path.read_text() + "more")
            assert len({before, dated, one.digest()}) == 3


def test_a_source_without_files_has_a_digest(cache_key: CacheKey) -> None:
    specs = ("hub:nobody/nothing:en-es",), ("no-such.tsv",)
    digests = {dataclasses.replace(cache_key, specs=spec).digest() for spec in specs}
    assert len(digests) == 2
