"""The buffers of the engine for a GPU: what is lent, reused and moved keeps its content."""

import gc
import math
from collections.abc import Callable

import pytest
import torch

from transformer import graphs
from transformer.config import BOS_ID
from transformer.decoding import greedy_search
from transformer.graphs import GraphEngine
from transformer.model import Transformer
from transformer.slots import bucket

Make = Callable[..., Transformer]
SOURCES = torch.tensor([
    [5, 6, 7, 8, 9, 10, 2], [9, 4, 2, 0, 0, 0, 0], [12, 11, 10, 9, 2, 0, 0],
    [4, 4, 4, 5, 5, 2, 0], [2, 0, 0, 0, 0, 0, 0], [8, 6, 8, 6, 2, 0, 0],
])  # fmt: skip


def test_rows_and_sentences_can_be_selected_in_any_order(make_model: Make) -> None:
    model, src = make_model(), SOURCES
    tgt, after = torch.randint(4, 13, (6, 4)), torch.randint(4, 13, (6, 1))
    engine = GraphEngine(model)
    for rows in ([3, 1, 2, 0, 5, 4], [5, 0, 4, 2, 1], [4, 1], [2]):
        chosen = torch.tensor(rows)
        state = engine.decode(tgt, engine.encode(src))[1].select(chosen)
        logits, _ = engine.decode(after[chosen], state)
        with torch.inference_mode():
            wanted = model(src, torch.cat([tgt, after], 1))[chosen, -1]
        torch.testing.assert_close(logits[:, 0], wanted, rtol=1e-4, atol=1e-4)


def test_two_states_of_one_shape_do_not_meet(make_model: Make) -> None:
    model, tgt = make_model(), torch.full((4, 1), BOS_ID)
    engine = GraphEngine(model)
    sides = [SOURCES[:4], SOURCES[2:]]
    states = [engine.encode(src) for src in sides]
    assert states[0].slot is not states[1].slot
    for src, state in zip(sides, states, strict=True):
        with torch.inference_mode():
            wanted = model(src, tgt)
        torch.testing.assert_close(engine.decode(tgt, state)[0], wanted, rtol=1e-4, atol=1e-4)


def test_buffers_are_reused_when_nobody_holds_them(make_model: Make) -> None:
    engine = GraphEngine(make_model())
    state = engine.encode(SOURCES[:4])
    slot = state.slot
    del state
    gc.collect()
    assert engine.encode(SOURCES[:3]).slot is slot


def test_buffers_that_do_not_fit_are_dropped(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "KEPT_ELSEWHERE", 0)
    engine = GraphEngine(make_model())
    slot = engine.encode(SOURCES[:4]).slot
    assert engine.encode(SOURCES[:4]).slot is not slot


def test_an_overflow_does_not_outlive_its_batch(make_wanderer: Make) -> None:
    model, src = make_wanderer(), SOURCES[:4]
    engine = GraphEngine(model)
    wanted = greedy_search(engine, src, scored=False)
    state = engine.encode(src)
    with torch.inference_mode():
        state.slot.past.fill_(math.nan)
    del state
    again = greedy_search(engine, src, scored=False)
    assert [one.ids for one in again] == [one.ids for one in wanted]


def test_a_size_is_padded_by_a_half_at_most() -> None:
    sizes = sorted({bucket(n) for n in range(1, 4097)})
    assert sizes[:8] == [1, 2, 4, 8, 16, 24, 32, 48]
    for n in range(1, 4097):
        assert n <= bucket(n) < 2 * n
        assert n < 16 or bucket(n) <= 1.5 * n
        assert n < 5 or bucket(n) % 8 == 0
    assert bucket(1, 8) == 8
