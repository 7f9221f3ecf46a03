"""What names a cache: everything that could change it, and nothing else."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transformer.cleaning import REASONS, comparable, key
from transformer.config import CorpusConfig
from transformer.recipe import KEPT, Recipe, Source, counts, judge, report
from transformer.tokenizer import Tokenizer

ES_EN = ("es", "en")
CONFIG = CorpusConfig()


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    path = tmp_path / "a.tsv"
    path.write_text("es\ten\n")
    return Recipe((str(path),), ES_EN, CONFIG, 350, 60, frozenset({1, 2}), None)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a.tsv", Source("a.tsv", 1.0)),
        ("a.tsv@2.5", Source("a.tsv", 2.5)),
        ("hub:me@home/x:en-es@.5", Source("hub:me@home/x:en-es", 0.5)),
        ("me@home.tsv", Source("me@home.tsv")),
        ("a.tsv@0", Source("a.tsv@0")),
        ("a.tsv@inf", Source("a.tsv@inf")),
    ],
)
def test_a_source_may_carry_a_weight(text: str, source: Source) -> None:
    assert Source.parse(text) == source


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
def test_each_setting_is_in_the_digest(changes: dict[str, Any], recipe: Recipe) -> None:
    assert dataclasses.replace(recipe, **changes).digest() != recipe.digest()


def test_the_tokeniser_is_in_the_digest(recipe: Recipe, phrase_tokenizer: Tokenizer) -> None:
    given = dataclasses.replace(recipe, tokenizer=phrase_tokenizer)
    again = dataclasses.replace(recipe, tokenizer=Tokenizer(phrase_tokenizer.model))
    assert given.digest() == again.digest() != recipe.digest()


def test_neither_processes_nor_order_are_in_the_digest(recipe: Recipe) -> None:
    config, held_out = CorpusConfig(workers=7), frozenset({2, 1})
    same = dataclasses.replace(recipe, config=config, held_out=held_out)
    assert same.digest() == recipe.digest()
    assert len(recipe.digest()) == 16


def test_size_and_date_of_every_file_are_in_the_digest(recipe: Recipe, tmp_path: Path) -> None:
    for name in ("moses.es", "moses.en", "set/data/train.tsv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    named = {
        str(tmp_path / "a.tsv"): ["a.tsv"],
        str(tmp_path / "moses"): ["moses.es", "moses.en"],
        f"hub:{tmp_path}/set:en-es:train": ["set/data/train.tsv"],
    }
    for spec, names in named.items():
        one = dataclasses.replace(recipe, specs=(spec,))
        for path in (tmp_path / name for name in names):
            before = one.digest()
            os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
            dated = one.digest()
            path.write_text(path.read_text() + "more")
            assert len({before, dated, one.digest()}) == 3


def test_a_source_without_files_has_a_digest(recipe: Recipe) -> None:
    specs = ("hub:nobody/nothing:en-es",), ("no-such.tsv",)
    digests = {dataclasses.replace(recipe, specs=spec).digest() for spec in specs}
    assert len(digests) == 2


def test_a_side_that_is_held_out_is_a_reason_only_for_pairs_that_are_clean() -> None:
    rows = {
        "src": ["La casa.", "La casa", "la CASA", "", "Un gato."],
        "tgt": ["The house.", "A house", "", "La casa", "La casa!"],
    }
    judged = judge(rows, ES_EN, CONFIG, frozenset({key(comparable("la casa"))}))
    held_out = "in the dev or test sets"
    assert [REASONS[r] for r in judged["reason"]] == [
        held_out,
        held_out,
        "empty",
        "empty",
        held_out,
    ]
    assert len(set(judged["key"])) == 5
    assert judge(rows, ES_EN, CONFIG, frozenset())["reason"][:2] == [KEPT, KEPT]


def test_a_report_counts_by_source_and_shows_what_was_dropped() -> None:
    reasons = np.array([0, 1, 0, 7, 0])
    examples = {"kept": [("x", "y")], "empty": [("", "z")], "duplicate": []}
    told = report(["a", "b"], reasons, np.array([0, 0, 1, 1, 1]), examples)
    assert told == {
        "read": 5,
        "counts": {"kept": 3, "empty": 1, "duplicate": 1},
        "sources": [
            {"spec": "a", "counts": {"kept": 1, "empty": 1}},
            {"spec": "b", "counts": {"kept": 2, "duplicate": 1}},
        ],
        "dropped_examples": {"empty": [("", "z")]},
    }
    assert counts(np.empty(0, np.int64)) == {}
