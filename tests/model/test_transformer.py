"""The model: one path for training and decoding, no peeking, the paper's parameter counts."""

import dataclasses
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from transformer.config import BOS_ID, EOS_ID, PAD_ID, ModelConfig, model_config
from transformer.model import DecoderState, MultiHeadAttention, Transformer, padding_mask

B, S, T, V = 2, 5, 7, 13
SRC = torch.tensor([[4, 5, 6, EOS_ID, PAD_ID], [7, 8, 12, 9, EOS_ID]])
TGT = torch.tensor([[BOS_ID, 4, 9, 10, 5, 5, 11], [BOS_ID, 12, 7, 6, 8, 3, 4]])
Make = Callable[..., Transformer]
VARIANTS = pytest.mark.parametrize(
    ("norm", "positions", "activation"),
    list(itertools.product(["post", "pre"], ["sinusoidal", "learned"], ["relu", "gelu"])),
)


def test_the_scores_are_products_of_what_was_read_with_the_embeddings(make_model: Make) -> None:
    model = make_model(norm="pre")
    x, state = model.decode_hidden(TGT, model.encode(SRC))
    assert x.shape == (B, T, 12)
    assert state.length == T
    assert_close(x @ model.embedding.weight.T, model(SRC, TGT))


@pytest.mark.parametrize("pieces", [[7], [1] * 7, [3, 1, 3], [2, 5]], ids=str)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_target_read_in_pieces_scores_as_read_at_once(
    make_model: Make, pieces: list[int], norm: str
) -> None:
    model = make_model(norm=norm)
    state = model.encode(SRC)
    logits = []
    for piece in TGT.split(pieces, dim=1):
        scores, state = model.decode(piece, state)
        logits.append(scores)
    assert state.length == T
    assert all(kv.key.shape == (B, 3, T, 4) for kv in state.past)
    assert_close(torch.cat(logits, dim=1), model(SRC, TGT))


@VARIANTS
def test_later_target_tokens_do_not_change_earlier_scores(
    make_model: Make, norm: str, positions: str, activation: str
) -> None:
    model = make_model(norm=norm, positions=positions, activation=activation)
    before = model(SRC, TGT)
    assert before.shape == (B, T, V)
    assert before.isfinite().all()
    for t in range(1, T):
        changed = torch.cat([TGT[:, :t], (TGT[:, t:] + 1) % V], dim=1)
        after = model(SRC, changed)
        assert_close(after[:, :t], before[:, :t], rtol=0, atol=1e-6)
        assert not torch.allclose(after[:, t], before[:, t])


@VARIANTS
def test_a_sentence_scores_alone_as_in_a_padded_batch(
    make_model: Make, norm: str, positions: str, activation: str
) -> None:
    model = make_model(norm=norm, positions=positions, activation=activation)
    padded = torch.full((1, T), PAD_ID)
    padded[:, :3] = TGT[:1, :3]
    batch = model(SRC, torch.cat([padded, TGT[1:]]))
    assert_close(model(SRC[:1, :4], TGT[:1, :3]), batch[:1, :3])
    assert_close(model(SRC[1:], TGT[1:]), batch[1:])


def test_the_order_of_source_and_target_tokens_matters(make_model: Make) -> None:
    model = make_model()
    scores = model(SRC, TGT)[1, -1]
    assert not torch.allclose(model(SRC[:, [1, 0, 2, 3, 4]], TGT)[1, -1], scores)
    assert not torch.allclose(model(SRC, TGT[:, [0, 2, 1, 3, 4, 5, 6]])[1, -1], scores)


@pytest.mark.parametrize(
    ("preset", "expected"), [("base", 63_082_496), ("big", 214_245_376)], ids=["base", "big"]
)
def test_base_and_big_have_the_papers_number_of_parameters(preset: str, expected: int) -> None:
    with torch.device("meta"):
        model = Transformer(model_config(preset, vocab_size=37_000))
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


def test_the_names_and_shapes_of_the_parameters_are_the_checkpoint_format() -> None:
    golden = json.loads(Path(__file__).with_name("tiny_state_dict.json").read_text("utf-8"))
    with torch.device("meta"):
        model = Transformer(model_config("tiny"))
    assert {name: list(value.shape) for name, value in model.state_dict().items()} == golden


def test_what_the_settings_add_to_a_checkpoint(make_model: Make) -> None:
    plain, learned, pre = (
        make_model(**changes).state_dict().keys()
        for changes in ({}, {"positions": "learned"}, {"norm": "pre"})
    )
    assert learned - plain == {"positions.table"}
    norms = {
        f"{side}_norm.{part}" for side in ("encoder", "decoder") for part in ("weight", "bias")
    }
    assert pre - plain == norms
    assert plain <= learned & pre


def test_one_table_serves_source_target_and_output(make_model: Make) -> None:
    model = make_model(positions="learned")
    shapes = [name for name, value in model.state_dict().items() if value.size(0) == V]
    assert shapes == ["embedding.weight"]
    source, target, output = 5, 7, 9
    logits = model(torch.full((B, S), source), torch.full((B, T), target))
    logits[..., output].sum().backward()
    gradient = model.embedding.weight.grad
    assert gradient is not None
    assert gradient.abs().sum(1).nonzero().flatten().tolist() == [source, target, output]


def test_embeddings_are_scaled_by_the_root_of_the_width_before_positions_are_added(
    make_model: Make,
) -> None:
    model = make_model()
    expected = model.embedding.weight[TGT] * 12**0.5 + model.positions(2, T)
    assert_close(model.embed(TGT, start=2), expected)


def test_fresh_weights_have_the_scale_that_the_docstring_names() -> None:
    torch.manual_seed(1)
    config = ModelConfig(d_model=64, n_heads=2, d_ff=96, n_encoder_layers=1, n_decoder_layers=1)
    model = Transformer(config)
    scaled = model.embedding.weight * math.sqrt(64)
    assert scaled.std().item() == pytest.approx(1.0, rel=0.01)
    inner = model.encoder[0].get_submodule("feed_forward.expand").get_parameter("weight")
    assert inner.abs().max().item() == pytest.approx(math.sqrt(6 / (64 + 96)), rel=0.01)
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    assert len(biases) > 20
    assert not any(bias.any() for bias in biases)


@pytest.mark.parametrize("length", [8, 9])
def test_more_tokens_than_positions_are_refused(make_model: Make, length: int) -> None:
    model = make_model(max_len=7)
    assert model(SRC, TGT).isfinite().all()
    long = torch.full((B, length), 4)
    with pytest.raises(ValueError, match=f"at most max_len = 7 tokens, got {length}"):
        model.encode(long)
    with pytest.raises(ValueError, match=f"at most max_len = 7 tokens, got {length}"):
        model(SRC, long)
    _, state = model.decode(TGT, model.encode(SRC))
    with pytest.raises(ValueError, match="at most max_len = 7 tokens, got 8"):
        model.decode(TGT[:, :1], state)


def next_scores(model: Transformer, state: DecoderState, tokens: Tensor) -> Tensor:
    logits: Tensor = model.decode(tokens, state)[0]
    return logits


@pytest.mark.parametrize("rows", [[1, 0], [1, 1, 0], [1]], ids=str)
def test_selected_rows_decode_as_those_rows(make_model: Make, rows: list[int]) -> None:
    model = make_model()
    _, state = model.decode(TGT[:, :3], model.encode(SRC))
    chosen = state.select(torch.tensor(rows))
    assert chosen.length == 3
    assert chosen.memory_mask.shape == (len(rows), 1, 1, S)
    expected = next_scores(model, state, TGT[:, 3:])[rows]
    assert_close(next_scores(model, chosen, TGT[rows, 3:]), expected)


def test_repeated_rows_decode_as_their_originals_one_after_the_other(make_model: Make) -> None:
    model, rows = make_model(), torch.tensor([0, 0, 0, 1, 1, 1])
    _, state = model.decode(TGT[:, :3], model.encode(SRC))
    expected, _ = model.decode(TGT[:, 3:], state)
    found, _ = model.decode(TGT[rows, 3:], state.repeat(3))
    assert_close(found, expected[rows])


def test_rows_are_selected_by_a_mask_and_before_the_first_step_too(make_model: Make) -> None:
    model = make_model()
    chosen = model.encode(SRC).select(torch.tensor([False, True]))
    assert_close(next_scores(model, chosen, TGT[1:]), model(SRC, TGT)[1:])


def test_decoding_leaves_the_state_that_it_was_given(make_model: Make) -> None:
    model = make_model()
    _, state = model.decode(TGT[:, :3], model.encode(SRC))
    first = next_scores(model, state, TGT[:, 3:])
    assert state.length == 3
    assert torch.equal(next_scores(model, state, TGT[:, 3:]), first)
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.length = 4  # type: ignore[misc]


def test_dropout_acts_in_training_only(make_model: Make) -> None:
    model = make_model(dropout=0.5)
    assert torch.equal(model(SRC, TGT), model(SRC, TGT))
    model.train()
    assert not torch.equal(model(SRC, TGT), model(SRC, TGT))


def test_every_parameter_learns(make_model: Make) -> None:
    model = make_model(positions="learned")
    model(SRC, TGT).log_softmax(-1)[..., 4].sum().backward()
    # The softmax does not feel what all keys have in common, so a key's bias has no slope.
    still = [
        name
        for name, parameter in model.named_parameters()
        if not name.endswith("key.bias") and (parameter.grad is None or not parameter.grad.any())
    ]
    assert still == []


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_decoder_layer_looks_at_the_last_encoder_layer(make_model: Make, norm: str) -> None:
    model, src = make_model(norm=norm), torch.tensor([[4, 5, EOS_ID, PAD_ID], [6, 7, 8, EOS_ID]])
    x, mask = model.embed(src), padding_mask(src, PAD_ID)
    for layer in model.encoder:
        x = layer(x, mask)
    x = model.encoder_norm(x)
    state = model.encode(src)
    assert torch.equal(state.memory_mask, mask)
    assert len(state.memory) == len(model.decoder)
    for layer, memory in zip(model.decoder, state.memory, strict=True):
        attention = layer.get_submodule("cross_attention")
        assert isinstance(attention, MultiHeadAttention)
        assert_close(memory.key, attention.kv(x).key)
        assert_close(memory.value, attention.kv(x).value)
