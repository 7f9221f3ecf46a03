"""The inference engine: against the plain model, in each compute type, and against itself."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from scripts.benchmark.copy_model import copy_model, sentences
from transformer.config import BOS_ID, EOS_ID, PAD_ID, ComputeType, DecodeConfig, ModelConfig
from transformer.decoding import native
from transformer.decoding.cpu_engine import GROWTH, Engine, EngineState, fast_argmax
from transformer.decoding.search import greedy_search, search
from transformer.model import Transformer, source_batch

Make = Callable[..., Transformer]
SRC = source_batch([[4, 5, 6], [7, 8, 12, 9, 10, 11], [9], [11, 4, 12, 12], [5, 10]])
SHAPES: Sequence[dict[str, Any]] = (
    {"norm": "post"},
    {"norm": "pre"},
    {"norm": "pre", "activation": "gelu", "vocab_size": 131},
    {"norm": "post", "activation": "gelu", "positions": "learned"},
    {"norm": "pre", "n_encoder_layers": 1, "n_decoder_layers": 3, "positions": "learned"},
    {"norm": "post", "n_encoder_layers": 3, "n_decoder_layers": 1, "vocab_size": 64},
    {"norm": "pre", "d_model": 64, "n_heads": 1, "d_ff": 128, "vocab_size": 200},
)
ROOMY = {"d_model": 64, "n_heads": 4, "d_ff": 128, "vocab_size": 131, "max_len": 60}
needs_kernels = pytest.mark.skipif(native.library() is None, reason="needs AVX2 and a C++ compiler")
# Name, compute type, on the native kernels; and how far its logits may lie from float32's.
KINDS = (
    pytest.param("float32", False, 1e-5, id="float32"),
    pytest.param("bfloat16", False, 0.03, id="bfloat16"),
    pytest.param("int8", False, 0.06, id="int8"),
    pytest.param("int8", True, 0.06, id="native", marks=needs_kernels),
)
every_kind = pytest.mark.parametrize(("kind", "use_native", "loss"), KINDS)


def small_model(make_model: Make, **changes: Any) -> Transformer:
    """Wide enough for the native kernels, with signals of the usual size."""
    model = make_model(**{**ROOMY, **changes})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embedding" not in name and "positions" not in name:
                parameter.mul_(0.3)
    return model


def one_by_one(engine: Engine, src: Tensor, tgt: Tensor) -> Tensor:
    """Logits after each target token, read one at a time: (B, S), (B, T) -> (B, T, V)."""
    state, found = engine.encode(src), []
    for ids in tgt.split(1, dim=1):
        logits, state = engine.decode(ids, state)
        found.append(logits)
    return torch.cat(found, dim=1)


def targets(n_rows: int, length: int, vocab_size: int) -> Tensor:
    random = torch.Generator().manual_seed(3)
    words = torch.randint(EOS_ID + 1, vocab_size, (n_rows, length - 1), generator=random)
    return torch.cat([torch.full((n_rows, 1), BOS_ID), words], dim=1)


def distance(found: Tensor, right: Tensor) -> float:
    return float((found - right).norm() / right.norm())


@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_in_float32_the_logits_are_the_models(make_model: Make, shape: dict[str, Any]) -> None:
    """Over 40 positions, so that the buffer of the target grows twice; with padded sources."""
    model = make_model(**{"max_len": 40, **shape})
    tgt = targets(len(SRC), 40, model.config.vocab_size)
    found = one_by_one(Engine(model, "float32"), SRC, tgt)
    assert 2 * GROWTH < 40
    torch.testing.assert_close(found, model(SRC, tgt), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_in_float32_the_search_finds_what_it_finds_with_the_model(
    make_model: Make, shape: dict[str, Any], beam_size: int
) -> None:
    model = make_model(**{"max_len": 40, **shape})
    config = DecodeConfig(beam_size=beam_size, n_best=beam_size)
    same_results(model, config)


@pytest.mark.parametrize("beam_size", [1, 3, 4])
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_rows_that_end_at_different_steps_are_searched_as_with_the_model(
    make_wanderer: Make, seed: int, beam_size: int
) -> None:
    model = make_wanderer(seed=seed, max_len=40)
    lengths = same_results(model, DecodeConfig(beam_size=beam_size, n_best=beam_size))
    assert len(lengths) > 1


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize(("max_ratio", "max_len"), [(0.01, 40), (2.0, 8), (9.0, 34)])
def test_the_limits_hold_as_with_the_model(
    make_model: Make, beam_size: int, max_ratio: float, max_len: int
) -> None:
    model = make_model(max_len=max_len)
    same_results(model, DecodeConfig(beam_size=beam_size, max_ratio=max_ratio))


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("n_prefix", [1, 3, 20])
def test_a_forced_prefix_is_continued_as_with_the_model(
    make_wanderer: Make, beam_size: int, n_prefix: int
) -> None:
    prefix = [10, 4, 7, 5] * 5
    same_results(make_wanderer(max_len=40), DecodeConfig(beam_size=beam_size), prefix[:n_prefix])


def same_results(model: Transformer, config: DecodeConfig, prefix: Sequence[int] = ()) -> set[int]:
    """Of the engine and of the model: ids and scores; gives the lengths that were found."""
    found = search(Engine(model, "float32"), SRC, config, prefix=prefix)
    right = search(model, SRC, config, prefix=prefix)
    for own, others in zip(found, right, strict=True):
        assert [h.ids for h in own] == [h.ids for h in others]
        scores = [h.score for h in others]
        assert [h.score for h in own] == pytest.approx(scores, abs=1e-4, rel=1e-5)
    return {len(own[0].ids) for own in found}


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@every_kind
@torch.inference_mode()
def test_each_compute_type_is_close_to_the_model(
    make_model: Make, kind: ComputeType, use_native: bool, loss: float, norm: str, activation: str
) -> None:
    model = small_model(make_model, norm=norm, activation=activation, n_decoder_layers=3)
    engine = Engine(model, kind, use_native=use_native)
    assert (engine.compute_type, engine.is_native) == (kind, use_native)
    tgt = targets(5, 40, model.config.vocab_size)
    assert distance(one_by_one(engine, SRC, tgt), model(SRC, tgt)) < loss


@pytest.mark.parametrize("length", [1, 15, 16, 17, 32, 50])
@every_kind
@torch.inference_mode()
def test_sources_of_any_length_are_seen_whole_and_padding_is_not(
    make_model: Make, kind: ComputeType, use_native: bool, loss: float, length: int
) -> None:
    model = small_model(make_model, norm="pre")
    long = targets(1, length, model.config.vocab_size)[0].tolist()
    src, tgt = source_batch([long, long[: length // 2], [7]]), targets(3, 5, 131)
    engine = Engine(model, kind, use_native=use_native)
    found, right = one_by_one(engine, src, tgt), model(src, tgt)
    assert max(distance(one, other) for one, other in zip(found, right, strict=True)) < 1.5 * loss


@pytest.mark.parametrize("norm", ["post", "pre"])
@every_kind
def test_each_compute_type_copies_with_the_model_that_copies(
    kind: ComputeType, use_native: bool, loss: float, norm: Any
) -> None:
    config = ModelConfig(
        vocab_size=203, d_model=128, n_heads=4, d_ff=256, max_len=80, norm=norm,
        n_encoder_layers=2, n_decoder_layers=2,
    )  # fmt: skip
    engine = Engine(copy_model(config), kind, use_native=use_native)
    sources = sentences(20, 203)
    for beam_size in (1, 3):
        found = search(engine, source_batch(sources), DecodeConfig(beam_size=beam_size))
        assert [list(own[0].ids) for own in found] == sources


@every_kind
@torch.inference_mode()
def test_the_best_token_is_the_highest_logit_but_for_padding_and_start(
    make_model: Make, kind: ComputeType, use_native: bool, loss: float
) -> None:
    model = small_model(make_model)
    with torch.no_grad():  # so that in some rows padding or start would be the best
        model.embedding.weight[[PAD_ID, BOS_ID]] *= 3
    engine = Engine(model, kind, use_native=use_native)
    one, other = engine.encode(SRC), engine.encode(SRC)
    forbidden = 0
    for ids in targets(len(SRC), 20, 131).unbind(1):
        logits, one = engine.decode(ids[:, None], one)
        best, other = engine.best(ids, other)
        forbidden += int((logits[:, -1].argmax(-1) <= BOS_ID).sum())
        logits[..., [PAD_ID, BOS_ID]] = -torch.inf
        assert best.tolist() == logits[:, -1].argmax(-1).tolist()
    assert forbidden


@every_kind
@torch.inference_mode()
def test_several_tokens_at_once_are_read_as_one_by_one(
    make_model: Make, kind: ComputeType, use_native: bool, loss: float
) -> None:
    engine = Engine(small_model(make_model), kind, use_native=use_native)
    tgt = targets(len(SRC), 37, 131)
    apart = one_by_one(engine, SRC, tgt)
    first, state = engine.decode(tgt[:, :20], engine.encode(SRC))
    second, state = engine.decode(tgt[:, 20:], state)
    assert state.length == 37
    torch.testing.assert_close(torch.cat([first, second], 1), apart[:, [19, 36]])


def after(engine: Engine, state: EngineState, ids: Tensor) -> Tensor:
    """The next logits: (R,) -> (R, V)."""
    return engine.decode(ids[:, None], state)[0][:, 0]


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [4, 2, 0], [1, 0, 3, 2, 4], [2, 2, 2, 0, 1, 3]])
@every_kind
@torch.inference_mode()
def test_selected_rows_go_on_as_they_would_have(
    make_model: Make, kind: ComputeType, use_native: bool, loss: float, rows: list[int]
) -> None:
    engine = Engine(small_model(make_model), kind, use_native=use_native)
    tgt, picked = targets(len(SRC), 19, 131), torch.tensor(rows)
    _, state = engine.decode(tgt[:, :18], engine.encode(SRC))
    found = after(engine, state.select(picked), tgt[picked, 18])
    right = after(engine, state, tgt[:, 18])[picked]
    assert distance(found, right) < (1e-6 if use_native else loss)  # there, rows are independent


@every_kind
@torch.inference_mode()
def test_repeated_rows_are_beams_that_move_within_their_sentence(
    make_model: Make, kind: ComputeType, use_native: bool, loss: float
) -> None:
    engine = Engine(small_model(make_model), kind, use_native=use_native)
    tgt, n_beams = targets(2 * 3, 5, 131), 3
    src = SRC[:2]
    start = torch.full((2, 1), BOS_ID)
    _, state = engine.decode(start, engine.encode(src))
    beams = state.repeat(n_beams)
    assert beams.memory_keys.size(1) == 2  # the source is not copied
    _, beams = engine.decode(tgt[:, 1:3], beams)
    moved = torch.tensor([2, 0, 0, 4, 3, 5])
    for rows in (moved, moved[3:], moved[:3]):
        found = after(engine, beams.select(rows), tgt[rows, 3])
        alone = engine.encode(src.repeat_interleave(n_beams, 0)[rows])
        _, alone = engine.decode(
            torch.cat([start[:1].expand(len(rows), -1), tgt[rows, 1:3]], 1), alone
        )
        assert distance(found, after(engine, alone, tgt[rows, 3])) < loss


@torch.inference_mode()
def test_selecting_all_rows_in_their_order_copies_nothing(make_model: Make) -> None:
    state = Engine(make_model(), "float32").encode(SRC)
    assert state.select(torch.arange(len(SRC))) is state


def test_later_changes_of_the_model_do_not_reach_the_engine(make_model: Make) -> None:
    model = make_model(norm="pre")
    engine = Engine(model, "float32")
    before = greedy_search(engine, SRC)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    assert greedy_search(engine, SRC) == before


def test_the_engine_needs_no_gradients(make_model: Make) -> None:
    engine = Engine(make_model(norm="pre"), "float32")
    logits, state = engine.decode(torch.full((len(SRC), 1), BOS_ID), engine.encode(SRC))
    assert not logits.requires_grad
    assert not state.memory_keys.requires_grad


@pytest.mark.parametrize("use_native", [False, pytest.param(True, marks=needs_kernels)])
def test_more_tokens_than_the_model_has_positions_for_are_refused(
    make_model: Make, use_native: bool
) -> None:
    engine = Engine(make_model(**{**ROOMY, "max_len": 8}), "int8", use_native=use_native)
    state = engine.encode(SRC)
    with pytest.raises(ValueError, match="expected at most max_len = 8 tokens, got 9"):
        engine.encode(torch.full((1, 9), 5))
    with pytest.raises(ValueError, match="expected at most max_len = 8 tokens, got 9"):
        engine.decode(targets(len(SRC), 9, 131), state)
    _, state = engine.decode(targets(len(SRC), 8, 131), state)
    with pytest.raises(ValueError, match="expected at most max_len = 8 tokens, got 9"):
        engine.best(torch.full((len(SRC),), 5), state)


@pytest.mark.parametrize("size", [2, 63, 64, 65, 1001])  # runs of 64, with and without a rest
def test_the_highest_logit_is_found_where_argmax_finds_it(size: int) -> None:
    logits = torch.randn(40, size, generator=torch.Generator().manual_seed(2))
    logits[3, [size // 2, size - 1]] = 9.0  # of equals, the first
    logits[4] = -torch.inf
    assert fast_argmax(logits).tolist() == logits.argmax(-1).tolist()
    assert fast_argmax(logits[:, 1:]).tolist() == logits[:, 1:].argmax(-1).tolist()
