"""Micro-batches: the same for the same seed, untouched without noise, within the model with it."""

import random
from typing import Any

import numpy as np
import pytest
import torch

from transformer.config import NOISE_PRESETS, PAD_ID, SLOTS, TrainConfig
from transformer.corpus import augmentation, noise
from transformer.corpus.augmentation import (
    MAX_WIDENING,
    apply_noise,
    fit_to_budget,
    join_pairs,
    micro_batch,
    resample,
)
from transformer.corpus.batching import TokenPairs, collate
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer


def rng(seed: int = 1) -> random.Random:
    return random.Random(seed)


Pairs = list[tuple[str, str]]


ROWS, MAX_LEN = range(40), 64


@pytest.fixture
def data(phrases: Pairs, phrase_tokenizer: Tokenizer) -> PreparedCorpus:
    """Forty pairs that lie in memory."""
    sides = [phrase_tokenizer.encode_batch(side) for side in zip(*phrases[:40], strict=True)]
    chunks = [[(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))] for rows in sides]
    return PreparedCorpus(TokenPairs(*chunks), ((40, 1.0),), phrase_tokenizer, {})


def batch(data: PreparedCorpus, seed: int = 1, max_len: int = MAX_LEN, **changes: Any) -> Any:
    return micro_batch(data, ROWS, TrainConfig(**changes), max_len, seed)


def texts(made: Any, tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """The pairs of a batch."""
    sides = ([tokenizer.decode(row[row > PAD_ID].tolist()) for row in side]
             for side in (made.src, made.tgt_out))  # fmt: skip
    return list(zip(*sides, strict=True))


def same(one: Any, other: Any) -> bool:
    return all(
        torch.equal(getattr(one, n), getattr(other, n)) for n in ("src", "tgt_in", "tgt_out")
    )


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_without_noise_a_batch_is_what_it_always_was(
    data: PreparedCorpus, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [data.pairs[i] for i in ROWS]
    if alpha:
        rng = random.Random(1)
        drawn = [[resample(x, data.tokenizer, alpha, MAX_LEN, rng) for x in p] for p in pairs]
        pairs = [(src, tgt) for src, tgt in drawn]
    monkeypatch.delattr(augmentation, "apply_noise")
    assert same(batch(data, sample_alpha=alpha), collate(pairs))


def test_the_same_seed_makes_the_same_batch(data: PreparedCorpus) -> None:
    on: dict[str, Any] = {**NOISE_PRESETS["robust"], "sample_alpha": 0.2}
    made = [batch(data, seed, **on) for seed in range(12)]
    assert all(same(one, batch(data, seed, **on)) for seed, one in enumerate(made))
    plain = [batch(data, seed, sample_alpha=0.2) for seed in range(12)]
    assert not all(same(one, other) for one, other in zip(made, plain, strict=True))


def test_single_pairs_are_altered_and_the_others_left_alone(data: PreparedCorpus) -> None:
    before = texts(batch(data), data.tokenizer)
    counts = []
    for seed in range(10):
        after = texts(batch(data, seed, noise_stop=0.5), data.tokenizer)
        changed = [(b, a) for b, a in zip(before, after, strict=True) if a != b]
        assert all(a == (b[0][:-1], b[1][:-1]) for b, a in changed)
        counts.append(len(changed))
    assert set(counts) == {0, 40}, "at a rate of a half every other batch has them all"
    drawn = [texts(batch(data, s, noise_stop=0.1), data.tokenizer) for s in range(10)]
    numbers = {sum(a != b for a, b in zip(one, before, strict=True)) for one in drawn}
    assert max(numbers - {0}) < 40


def test_a_style_alters_the_whole_batch(data: PreparedCorpus) -> None:
    before = texts(batch(data), data.tokenizer)
    after = texts(batch(data, noise_title=1.0, batch_tokens=100_000), data.tokenizer)
    assert after == [noise.title_case(*pair, random.Random()) for pair in before]


def test_a_batch_that_a_style_makes_too_large_gives_pairs_away(data: PreparedCorpus) -> None:
    made = batch(data, noise_caps=1.0, batch_tokens=600)
    assert 1 <= len(made.src) < 40
    assert made.src.numel() + made.tgt_in.numel() <= 600
    assert all(src.isupper() for src, _ in texts(made, data.tokenizer))
    assert fit_to_budget([([5] * 9, [5])], 8, random.Random()) == [([5] * 9, [5])]


def test_joined_pairs_hold_every_sentence_once(data: PreparedCorpus) -> None:
    before = texts(batch(data), data.tokenizer)
    for seed in range(4):
        after = texts(batch(data, seed, 200, noise_joined=1.0), data.tokenizer)
        assert len(after) in (14, 20)
        for side in (0, 1):
            assert " ".join(pair[side] for pair in after) == " ".join(p[side] for p in before)


def test_joined_pairs_stay_single_where_they_get_too_long_or_have_slots(
    data: PreparedCorpus,
) -> None:
    pairs = [([i] * 3, [i] * 4) for i in range(20, 25)]
    assert join_pairs(pairs, {1}, 2, 9, data.tokenizer) == [
        pairs[1],
        ([20] * 3 + [22] * 3, [20] * 4 + [22] * 4),
        ([23] * 3 + [24] * 3, [23] * 4 + [24] * 4),
    ]
    assert join_pairs(pairs, (), 2, 8, data.tokenizer) == pairs


def test_no_pair_gets_longer_than_the_model_reads(data: PreparedCorpus) -> None:
    pairs = [data.pairs[i] for i in ROWS]
    longest = max(len(side) for pair in pairs for side in pair)
    for name in noise.BATCH_NOISE:
        changes: dict[str, Any] = {name: 1.0}
        new = apply_noise(pairs, data.tokenizer, TrainConfig(**changes), longest + 1, 1)
        assert max(len(side) for pair in new for side in pair) <= longest


def test_single_pairs_hardly_widen_a_batch(data: PreparedCorpus) -> None:
    pairs = [data.pairs[i] for i in ROWS]
    wide = max(len(src) for src, _ in pairs)
    for seed in range(10):
        config = TrainConfig(noise_accents=1.0, noise_typos=1.0)
        new = apply_noise(pairs, data.tokenizer, config, MAX_LEN, seed)
        assert new != pairs
        assert max(len(src) for src, _ in new) <= round(MAX_WIDENING * wide)


def test_a_slot_is_one_id_of_a_batch(data: PreparedCorpus) -> None:
    (slot,) = (i for i in data.tokenizer.encode(f"a{SLOTS[0]}")
               if data.tokenizer.pieces([i]) == (SLOTS[0],))  # fmt: skip
    made = batch(data, noise_slots=1.0)
    rows = (made.src == slot).sum(dim=1)
    assert rows.max() == 1
    assert torch.equal(rows, (made.tgt_out == slot).sum(dim=1))
    assert 0 < rows.sum() == sum("García" in src for src, _ in texts(batch(data), data.tokenizer))
