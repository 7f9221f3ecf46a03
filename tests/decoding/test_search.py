"""Greedy and beam search: against exhaustive search, each other, and a model that is a table."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, DecodeConfig, ModelConfig
from transformer.decoding.hypothesis import Hypothesis
from transformer.decoding.search import (
    beam_search,
    greedy_search,
    length_limits,
    length_penalty,
    search,
)
from transformer.model import KV, DecoderState, Transformer, padding_mask, source_batch

V = 13
SRC = source_batch([[4, 5, 6], [7, 8, 12, 9, 10, 11], [9], [11, 4, 12, 12], [5, 10]])
ALONE = [row[row != PAD_ID][None] for row in SRC]  # the same sentences without padding
ONE = torch.tensor([[4, EOS_ID]])
A, B, C = 4, 5, 6  # words of the table model
Make = Callable[..., Transformer]
Table = Mapping[tuple[int, ...], Mapping[int, float]]


class TableModel(Transformer):
    """What follows a target prefix is looked up: prefix -> {token: probability}."""

    def __init__(self, table: Table, otherwise: Mapping[int, float], max_len: int = 23) -> None:
        super().__init__(ModelConfig(
            vocab_size=7, max_len=max_len, d_model=2, n_heads=1, d_ff=1,
            n_encoder_layers=1, n_decoder_layers=1,
        ))  # fmt: skip
        self.table, self.otherwise = table, otherwise

    def encode(self, src: Tensor) -> DecoderState:
        return DecoderState((), padding_mask(src, PAD_ID))

    def decode(self, tgt: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        # The prefix travels in the place of keys, so that rows are selected with it.
        kv = KV(tgt[:, None, :, None], tgt[:, None, :, None])
        past = state.past[0].append(kv) if state.past else kv
        logits = torch.full((tgt.size(0), 1, 7), -math.inf)
        for row, prefix in enumerate(past.key[:, 0, :, 0].tolist()):
            for token, share in self.table.get(tuple(prefix[1:]), self.otherwise).items():
                logits[row, 0, token] = math.log(share)
        length = state.length + tgt.size(1)
        return logits, DecoderState((), state.memory_mask, (past,), length)


def log_prob(model: Transformer, src: Tensor, ids: tuple[int, ...], n_prefix: int = 0) -> float:
    """Of the ids after the prefix and of the end mark, read at once: (1, S) -> nats."""
    log_probs = model(src, torch.tensor([[BOS_ID, *ids]]))[0].log_softmax(-1)  # (T + 1, V)
    steps = list(enumerate([*ids, EOS_ID]))[n_prefix:]
    return sum(log_probs[step, token].item() for step, token in steps)


def every_log_prob(model: Transformer, src: Tensor) -> dict[tuple[int, ...], float]:
    """Of all translations of at most three words: (1, S) -> ids: nats."""
    words = range(UNK_ID, model.config.vocab_size)
    found: dict[tuple[int, ...], float] = {(): log_prob(model, src, ())}
    for length in (1, 2, 3):
        all_ids = list(itertools.product(words, repeat=length))
        ids = torch.tensor(all_ids)  # (B, T)
        start, end = torch.full((len(ids), 1), BOS_ID), torch.full((len(ids), 1), EOS_ID)
        logits = model(src.expand(len(ids), -1), torch.cat([start, ids], dim=1))
        right = torch.cat([ids, end], dim=1)[..., None]
        totals = logits.log_softmax(-1).gather(2, right).sum((1, 2))
        found.update(zip(all_ids, totals.tolist(), strict=True))
    return found


def close(found: Hypothesis, expected: Hypothesis) -> None:
    assert found.ids == expected.ids
    assert found.score == pytest.approx(expected.score, abs=1e-4)


def test_the_length_penalty_is_that_of_wu_et_al() -> None:
    assert length_penalty(7, 0.6) == pytest.approx(1.5157, abs=5e-5)
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(101, 0.0) == 1.0


def test_the_limit_is_a_multiple_of_the_unpadded_source_plus_ten(make_wanderer: Make) -> None:
    model = make_wanderer(max_len=20)
    assert length_limits(model, SRC, 1.5).tolist() == [16, 20, 13, 17, 14]
    assert length_limits(model, SRC, 0.5, prefix=3).tolist() == [15, 16, 14, 15, 14]


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_greedy_search_takes_the_likeliest_token_at_each_step(
    make_wanderer: Make, seed: int
) -> None:
    model = make_wanderer(seed=seed)
    for src, limit, found in zip(
        ALONE, length_limits(model, SRC, 2.0).tolist(), greedy_search(model, SRC), strict=True
    ):
        log_probs = model(src, torch.tensor([[BOS_ID, *found.ids]]))[0].log_softmax(-1)
        log_probs[:, [PAD_ID, BOS_ID]] = -math.inf
        best = log_probs.argmax(-1).tolist()
        ended = len(found.ids) + 1 < limit
        assert best[: len(found.ids)] == list(found.ids)
        assert best[-1] == EOS_ID or not ended
        assert found.score == pytest.approx(log_prob(model, src, found.ids), abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_a_sentence_gets_the_results_that_it_gets_alone(
    make_wanderer: Make, seed: int, beam_size: int
) -> None:
    model, config = make_wanderer(seed=seed), DecodeConfig(beam_size=beam_size, n_best=beam_size)
    together = search(model, SRC, config)
    assert len({len(own[0].ids) for own in together}) > 1  # rows end at different steps
    for src, found in zip(ALONE, together, strict=True):
        for one, other in zip(found, search(model, src, config)[0], strict=True):
            close(one, other)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_sentences_that_have_ended_are_no_longer_decoded(
    make_wanderer: Make, monkeypatch: pytest.MonkeyPatch, beam_size: int
) -> None:
    model = make_wanderer()
    rows: list[int] = []
    decode = model.decode

    def counting(tgt: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        rows.append(tgt.size(0))
        return decode(tgt, state)

    monkeypatch.setattr(model, "decode", counting)
    search(model, SRC, DecodeConfig(beam_size=beam_size))
    assert rows[1:] == sorted(rows[1:], reverse=True)
    assert rows[-1] < 5 * beam_size


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_one_beam_finds_what_greedy_search_finds(make_wanderer: Make, seed: int) -> None:
    model = make_wanderer(seed=seed)
    beams = beam_search(model, SRC, DecodeConfig(beam_size=1, alpha=0.6))
    for found, greedy in zip(beams, greedy_search(model, SRC), strict=True):
        score = greedy.score / length_penalty(len(greedy.ids) + 1, 0.6)
        assert len(found) == 1
        close(found[0], Hypothesis(greedy.ids, score))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_wide_beam_finds_what_trying_everything_finds(make_model: Make, alpha: float) -> None:
    """Five words, and at most four tokens with the end mark: 1 + 5 + 25 + 125 translations."""
    model = make_model(vocab_size=8, max_len=4)
    src = torch.tensor([[4, 7, 5, EOS_ID]])
    expected = {
        ids: raw / length_penalty(len(ids) + 1, alpha)
        for ids, raw in every_log_prob(model, src).items()
    }
    assert len(expected) == 156
    found = beam_search(model, src, DecodeConfig(beam_size=160, n_best=160, alpha=alpha))[0]
    assert {h.ids: h.score for h in found} == pytest.approx(expected, abs=1e-4)
    assert len(found) == 156
    assert found[0].ids == max(expected, key=lambda ids: expected[ids])


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_the_n_best_come_best_first_with_the_models_own_scores(
    make_wanderer: Make, alpha: float
) -> None:
    model = make_wanderer()
    config = DecodeConfig(beam_size=5, n_best=3, alpha=alpha)
    for src, found in zip(ALONE, beam_search(model, SRC, config), strict=True):
        assert len({h.ids for h in found}) == 3
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        for h in found:
            expected = log_prob(model, src, h.ids) / length_penalty(len(h.ids) + 1, alpha)
            assert h.score == pytest.approx(expected, abs=1e-4)


def test_a_search_for_one_beam_is_greedy_and_for_more_beam_search(make_wanderer: Make) -> None:
    model = make_wanderer()
    assert search(model, SRC, DecodeConfig()) == [[h] for h in greedy_search(model, SRC)]
    config = DecodeConfig(beam_size=3, n_best=2)
    assert search(model, SRC, config, prefix=[7]) == beam_search(model, SRC, config, prefix=[7])


def test_two_beams_find_what_greedy_search_walks_past() -> None:
    after_a, after_b = {A: 0.4, B: 0.3, EOS_ID: 0.3}, {A: 0.1, EOS_ID: 0.9}
    model = TableModel({(): {A: 0.6, B: 0.4}, (A,): after_a, (B,): after_b}, {EOS_ID: 1.0})
    close(greedy_search(model, ONE)[0], Hypothesis((A, A), math.log(0.6 * 0.4)))
    found = beam_search(model, ONE, DecodeConfig(beam_size=2, n_best=2, alpha=0.0))[0]
    close(found[0], Hypothesis((B,), math.log(0.4 * 0.9)))
    close(found[1], Hypothesis((A, A), math.log(0.6 * 0.4)))


def test_an_end_mark_counts_only_among_the_first_candidates() -> None:
    """At first the end comes third: with two beams, nothing empty is found."""
    table: Table = {(): {A: 0.4, B: 0.35, EOS_ID: 0.25}}
    otherwise = {EOS_ID: 0.5, A: 0.5 / 3, B: 0.5 / 3, C: 0.5 / 3}
    model = TableModel(table, otherwise)
    found = beam_search(model, ONE, DecodeConfig(beam_size=2, n_best=2, alpha=0.0))[0]
    assert [h.ids for h in found] == [(A,), (B,)]  # 0.2 and 0.175, though empty has 0.25
    three = beam_search(model, ONE, DecodeConfig(beam_size=3, n_best=1, alpha=0.0))[0]
    assert three[0].ids == ()


@pytest.mark.parametrize(("alpha", "best"), [(0.0, ()), (2.0, (A,))])
def test_a_larger_alpha_favours_longer_translations(alpha: float, best: tuple[int, ...]) -> None:
    """Empty: log 0.5. One word: log 0.4, over (7/6)^2 = 1.361 with alpha 2: -0.673 > -0.693."""
    table: Table = {(): {EOS_ID: 0.5, A: 0.4, B: 0.1}}
    model = TableModel(table, {EOS_ID: 1.0})
    found = beam_search(model, ONE, DecodeConfig(beam_size=2, n_best=2, alpha=alpha))[0]
    assert found[0].ids == best


@pytest.mark.parametrize(
    ("beam_size", "expected"), [(1, [(A, A)]), (2, [(), (A,)])], ids=["greedy", "beam"]
)
def test_padding_and_the_start_mark_are_never_chosen(
    beam_size: int, expected: list[tuple[int, ...]]
) -> None:
    likely = {PAD_ID: 0.5, BOS_ID: 0.3, A: 0.15, EOS_ID: 0.05}
    model = TableModel({(A, A): {PAD_ID: 0.9, EOS_ID: 0.1}}, likely)
    found = search(model, ONE, DecodeConfig(beam_size=beam_size, n_best=beam_size, alpha=0.0))[0]
    assert [h.ids for h in found] == expected


@pytest.mark.parametrize("beam_size", [1, 2])
def test_a_model_that_will_not_end_is_ended_at_each_sentences_limit(beam_size: int) -> None:
    model = TableModel({}, {A: 0.9, EOS_ID: 0.001, B: 0.099})
    config = DecodeConfig(beam_size=beam_size, max_ratio=1.5)
    src = source_batch([[4, 4, 4, 4], [4]])
    long, short = (found[0] for found in search(model, src, config))
    assert long.ids == (A,) * 16  # 5 x 1.5 + 10 = 17 with the end mark
    assert short.ids == (A,) * 12
    raw = 16 * math.log(0.9) + math.log(0.001)
    penalty = 1.0 if beam_size == 1 else length_penalty(17, 0.6)
    assert long.score == pytest.approx(raw / penalty, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_search_stops_where_the_models_positions_do(
    make_wanderer: Make, beam_size: int
) -> None:
    model = make_wanderer(max_len=7)
    for found in search(model, SRC, DecodeConfig(beam_size=beam_size, n_best=beam_size)):
        assert found
        assert all(len(h.ids) <= 6 for h in found)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_forced_prefix_begins_every_result_and_does_not_count_in_the_score(
    make_wanderer: Make, beam_size: int
) -> None:
    model, prefix = make_wanderer(), (10, 4, 7)
    config = DecodeConfig(beam_size=beam_size, n_best=beam_size, alpha=0.0)
    for src, found in zip(ALONE, search(model, SRC, config, prefix=prefix), strict=True):
        for h in found:
            assert h.ids[:3] == prefix
            assert h.score == pytest.approx(log_prob(model, src, h.ids, n_prefix=3), abs=1e-4)


@pytest.mark.parametrize("prefix", [(), (10, 4, 7)])
def test_without_scores_greedy_search_finds_the_same_ids(
    make_wanderer: Make, prefix: tuple[int, ...]
) -> None:
    model = make_wanderer()
    scored = search(model, SRC, DecodeConfig(), prefix=prefix)
    bare = search(model, SRC, DecodeConfig(scores=False), prefix=prefix)
    assert [found[0].ids for found in bare] == [found[0].ids for found in scored]
    assert all(math.isnan(found[0].score) for found in bare)
    assert not any(math.isnan(found[0].score) for found in scored)


def test_forcing_what_greedy_search_would_say_changes_nothing(make_wanderer: Make) -> None:
    model = make_wanderer()
    free = greedy_search(model, SRC[:1])[0]
    assert 2 < len(free.ids) < 17  # it ends before its limit, which a prefix moves
    forced = greedy_search(model, SRC[:1], prefix=free.ids[:2])[0]
    assert forced.ids == free.ids


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_that_leaves_no_place_for_the_end_is_refused(
    make_wanderer: Make, beam_size: int
) -> None:
    model, config = make_wanderer(max_len=7), DecodeConfig(beam_size=beam_size)
    assert search(model, SRC, config, prefix=[4] * 5)[0][0].ids[:5] == (4,) * 5
    with pytest.raises(ValueError, match="expected a prefix of at most 5 tokens, got 6"):
        search(model, SRC, config, prefix=[4] * 6)


def repeats(ids: tuple[int, ...], n: int) -> bool:
    """Whether some n ids in a row stand there twice."""
    grams = [ids[i : i + n] for i in range(len(ids) - n + 1)]
    return len(set(grams)) < len(grams)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("scores", [True, False])
def test_no_ngram_comes_twice_if_none_may(
    make_model: Make, n: int, beam_size: int, scores: bool
) -> None:
    model = make_model()
    config = DecodeConfig(beam_size=beam_size, n_best=beam_size, scores=scores, max_ratio=4.0)
    blocked = dataclasses.replace(config, no_repeat_ngram=n)
    assert any(repeats(h.ids, n) for found in search(model, SRC, config) for h in found)
    for src, found in zip(ALONE, search(model, SRC, blocked), strict=True):
        assert not any(repeats(h.ids, n) for h in found)
        if scores and beam_size == 1:
            assert found[0].score == pytest.approx(log_prob(model, src, found[0].ids), abs=1e-4)


def test_a_block_of_longer_ngrams_than_the_text_changes_nothing(make_wanderer: Make) -> None:
    model = make_wanderer()
    for size in (1, 3):
        config = DecodeConfig(beam_size=size)
        blocked = dataclasses.replace(config, no_repeat_ngram=30)
        assert search(model, SRC, blocked) == search(model, SRC, config)
