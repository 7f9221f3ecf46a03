"""Batches: every example once, within the budget, the same for any division among processes."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.corpus.batching import (
    Batch,
    Indices,
    TokenPairs,
    collate,
    epoch_indices,
    plan,
    steps,
)
from transformer.model import pad, source_batch

BUDGET = 60


def random_lengths(n: int, seed: int = 0) -> tuple[Indices, Indices]:
    rng = np.random.default_rng(seed)
    return rng.integers(1, 31, n), rng.integers(1, 31, n)


def chunk(rows: list[list[int]], before: int = 0) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """An Arrow list column of these rows; with values `before` it that belong to no row."""
    offsets = np.cumsum([before, *map(len, rows)], dtype=np.int32)
    return offsets, np.array([9] * before + list(itertools.chain(*rows)), dtype=np.uint16)


def as_lists(batches: list[Indices]) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@settings(deadline=None, max_examples=50)
@given(
    n=st.integers(1, 150),
    seed=st.integers(0, 9),
    world=st.integers(1, 3),
    accumulate=st.integers(1, 3),
)
def test_each_example_comes_once_and_no_batch_is_over_budget(
    n: int, seed: int, world: int, accumulate: int
) -> None:
    src, tgt = random_lengths(n, seed)
    group = world * accumulate
    try:
        batches = plan((src, tgt), np.arange(n), BUDGET, seed, 0, group)
    except ValueError:
        assert n % group  # batches of one example that do not fill their steps
        return
    ranks = [steps(batches, rank, world, accumulate) for rank in range(world)]
    assert len({len(rank) for rank in ranks}) == 1
    assert all(len(step) == accumulate for rank in ranks for step in rank)
    taken = [batches[i] for rank in ranks for step in rank for i in step]
    assert sorted(np.concatenate(taken).tolist()) == list(range(n))
    assert all(len(b) * (src[b].max() + tgt[b].max()) <= BUDGET for b in taken)


def test_batches_waste_little_on_padding() -> None:
    src, noise = random_lengths(3000)
    tgt = src + noise // 8  # a translation is about as long as its source
    batches = plan((src, tgt), np.arange(3000), 2000, 0, 0)
    cost = sum(len(b) * (src[b].max() + tgt[b].max()) for b in batches)
    assert (src + tgt).sum() / cost > 0.9


def test_lengths_in_multiples_make_few_shapes() -> None:
    src, noise = random_lengths(4000)
    tgt = src + noise // 8

    def shapes(multiple: int) -> set[tuple[int, ...]]:
        batches = plan((src, tgt), np.arange(4000), 2000, 0, 0, 1, multiple)
        assert sorted(np.concatenate(batches).tolist()) == list(range(4000))
        padded = [collate([([9] * (src[i] - 1), [9] * (tgt[i] - 1)) for i in b], multiple)
                  for b in batches]  # fmt: skip
        sizes = [(*b.src.shape, *b.tgt_in.shape) for b in padded]
        assert all(rows * (s + t) <= 2000 for rows, s, _, t in sizes)
        assert all(s % multiple == t % multiple == 0 for _, s, _, t in sizes)
        return set(sizes)

    assert len(shapes(4)) < len(shapes(1)) / 2


def test_a_plan_is_a_function_of_its_arguments() -> None:
    lengths, every = random_lengths(200), np.arange(200)
    first = as_lists(plan(lengths, every, BUDGET, 1, 2, 4))
    np.random.seed(3)
    torch.manual_seed(3)
    assert as_lists(plan(lengths, every, BUDGET, 1, 2, 4)) == first
    assert as_lists(plan(lengths, every, BUDGET, 1, 3, 4)) != first  # epoch
    assert as_lists(plan(lengths, every, BUDGET, 2, 2, 4)) != first  # seed
    np.testing.assert_array_equal(every, np.arange(200))


def test_batches_come_in_no_order_of_length() -> None:
    src, tgt = random_lengths(2000)
    means = [tgt[b].mean() for b in plan((src, tgt), np.arange(2000), BUDGET, 1, 0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.15


def test_two_micro_batches_of_one_process_are_one_each_of_two() -> None:
    batches = plan(random_lengths(200), np.arange(200), BUDGET, 1, 0, 2)
    alone = steps(batches, 0, 1, 2)
    first, second = steps(batches, 0, 2, 1), steps(batches, 1, 2, 1)
    together = [[*a, *b] for a, b in zip(first, second, strict=True)]
    assert [list(step) for step in alone] == together


def test_repeated_indices_come_as_often_as_they_are_given() -> None:
    indices = np.array([4, 1, 4, 4, 0, 1])
    batches = plan(random_lengths(5), indices, BUDGET, 1, 0)
    assert sorted(np.concatenate(batches).tolist()) == [0, 1, 1, 4, 4, 4]


def test_an_example_of_exactly_the_budget_fits_and_a_longer_one_is_an_error() -> None:
    lengths = np.array([30, 2]), np.array([30, 3])
    assert sorted(map(len, plan(lengths, np.arange(2), 60, 1, 0))) == [1, 1]
    with pytest.raises(ValueError, match="within the budget of 59 tokens, got 60"):
        plan(lengths, np.arange(2), 59, 1, 0)


def test_no_example_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected at least one example, got none"):
        plan(random_lengths(3), np.arange(0), BUDGET, 1, 0)


def test_too_few_examples_for_a_step_are_an_error() -> None:
    with pytest.raises(ValueError, match="steps of 4 micro-batches, got 3 batches of one example"):
        plan(random_lengths(3), np.arange(3), BUDGET, 1, 0, 4)


@pytest.mark.parametrize("weight", [0.5, 1, 2.5])
def test_a_weight_says_how_often_each_pair_comes(weight: float) -> None:
    chosen = epoch_indices([(10, 1.0), (40, weight), (3, 1.0)], 1, 0)
    times = np.bincount(chosen, minlength=53)
    assert times[:10].tolist() == [1] * 10
    assert times[50:].tolist() == [1] * 3
    middle = times[10:50]
    assert middle.sum() == 40 * weight
    assert set(middle.tolist()) == {0.5: {0, 1}, 1: {1}, 2.5: {2, 3}}[weight]


def test_halves_are_drawn_anew_each_epoch_and_the_same_each_time() -> None:
    epochs = [epoch_indices([(100, 0.5)], 1, epoch).tolist() for epoch in range(3)]
    assert epochs == [epoch_indices([(100, 0.5)], 1, epoch).tolist() for epoch in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    assert epoch_indices([(100, 0.5)], 2, 0).tolist() != epochs[0]
    assert len(set().union(*epochs)) > 70


def test_no_source_gives_no_example() -> None:
    assert epoch_indices([], 1, 0).tolist() == []
    assert epoch_indices([(0, 1.0)], 1, 0).tolist() == []


def test_padding_fills_rows_on_the_right() -> None:
    assert pad([[5, 6, 7], [8], []]).tolist() == [[5, 6, 7], [8] + [PAD_ID] * 2, [PAD_ID] * 3]


def test_a_batch_has_the_marks_where_model_and_loss_expect_them() -> None:
    batch = collate([([10, 11, 12, 13], [20]), ([14], [21, 22])])
    assert batch.src.tolist() == [[10, 11, 12, 13, EOS_ID], [14, EOS_ID, *[PAD_ID] * 3]]
    assert batch.tgt_in.tolist() == [[BOS_ID, 20, PAD_ID], [BOS_ID, 21, 22]]
    assert batch.tgt_out.tolist() == [[20, EOS_ID, PAD_ID], [21, 22, EOS_ID]]
    assert batch.src.dtype == torch.int64
    torch.testing.assert_close(source_batch([[10, 11, 12, 13], [14]]), batch.src)
    moved = batch.to(torch.device("meta"))
    assert isinstance(moved, Batch)
    assert moved.tgt_out.is_meta
    assert moved.src.shape == (2, 5)


def test_pairs_are_found_in_several_chunks() -> None:
    src = [[[1, 2], [3]], [], [[4, 5, 6]], [[], [7]]]
    tgt = [[[11], []], [], [[12, 13]], [[14], [15, 16]]]
    pairs = TokenPairs([chunk(c, i) for i, c in enumerate(src)], [chunk(c) for c in tgt])
    expected = list(zip(itertools.chain(*src), itertools.chain(*tgt), strict=True))
    assert len(pairs) == 5
    assert [pairs[i] for i in range(5)] == expected
    assert [lengths.tolist() for lengths in pairs.lengths] == [[3, 2, 4, 1, 2], [2, 1, 3, 2, 3]]


def test_no_chunk_is_no_pair() -> None:
    pairs = TokenPairs([], [])
    assert len(pairs) == 0
    assert [lengths.tolist() for lengths in pairs.lengths] == [[], []]
