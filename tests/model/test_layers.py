"""Layers against the formulas, and against torch's own layers with the same parameters."""

import math
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from transformer.config import ModelConfig
from transformer.model import (
    DecoderLayer,
    Dropout,
    EncoderLayer,
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    Residual,
    SinusoidalPositions,
    causal_mask,
    padding_mask,
    sinusoids,
)

B, S, T, H, D = 2, 5, 7, 3, 12
MEMORY_MASK = padding_mask(torch.tensor([[4, 5, 6, 2, 0], [4, 5, 6, 7, 2]]), pad_id=0)
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])
Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu"]


def config(**changes: Any) -> ModelConfig:
    return ModelConfig(**{"d_model": D, "n_heads": H, "d_ff": 17, "dropout": 0.0, **changes})


def shaken(layer: nn.Module) -> None:
    """Moves every parameter, so that no bias is 0 and no gain is 1."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))


def attention_parameters(ours: MultiHeadAttention, prefix: str) -> dict[str, Tensor]:
    """The parameters of one attention under torch's names."""
    projections = ours.query, ours.key, ours.value
    return {
        f"{prefix}.in_proj_weight": torch.cat([p.weight for p in projections]),
        f"{prefix}.in_proj_bias": torch.cat([p.bias for p in projections]),
        f"{prefix}.out_proj.weight": ours.out.weight,
        f"{prefix}.out_proj.bias": ours.out.bias,
    }


def other_parameters(ours: EncoderLayer | DecoderLayer, last_norm: str) -> dict[str, Tensor]:
    """The feed-forward sublayer and the first and last norm under torch's names."""
    return {
        "linear1.weight": ours.feed_forward.expand.weight,
        "linear1.bias": ours.feed_forward.expand.bias,
        "linear2.weight": ours.feed_forward.contract.weight,
        "linear2.bias": ours.feed_forward.contract.bias,
        "norm1.weight": ours.self_residual.norm.weight,
        "norm1.bias": ours.self_residual.norm.bias,
        f"{last_norm}.weight": ours.feed_residual.norm.weight,
        f"{last_norm}.bias": ours.feed_residual.norm.bias,
    }


@NORMS
@ACTIVATIONS
def test_an_encoder_layer_agrees_with_torch(norm: Norm, activation: Activation) -> None:
    ours = EncoderLayer(config(norm=norm, activation=activation))
    shaken(ours)
    theirs = nn.TransformerEncoderLayer(
        D, H, 17, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    )
    theirs.load_state_dict(
        attention_parameters(ours.self_attention, "self_attn") | other_parameters(ours, "norm2")
    )
    x = torch.randn(B, S, D)
    expected = theirs(x, src_key_padding_mask=~MEMORY_MASK[:, 0, 0])
    assert_close(ours(x, MEMORY_MASK), expected)


@NORMS
@ACTIVATIONS
def test_a_decoder_layer_agrees_with_torch(norm: Norm, activation: Activation) -> None:
    ours = DecoderLayer(config(norm=norm, activation=activation))
    shaken(ours)
    theirs = nn.TransformerDecoderLayer(
        D, H, 17, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    )
    theirs.load_state_dict(
        {
            **attention_parameters(ours.self_attention, "self_attn"),
            **attention_parameters(ours.cross_attention, "multihead_attn"),
            **other_parameters(ours, "norm3"),
            "norm2.weight": ours.cross_residual.norm.weight,
            "norm2.bias": ours.cross_residual.norm.bias,
        }
    )
    x, memory, mask = torch.randn(B, T, D), torch.randn(B, S, D), causal_mask(T, T)
    expected = theirs(x, memory, tgt_mask=~mask, memory_key_padding_mask=~MEMORY_MASK[:, 0, 0])
    output, _ = ours(x, None, ours.cross_attention.kv(memory), mask, MEMORY_MASK)
    assert_close(output, expected)


@NORMS
def test_a_decoder_layer_gives_the_same_in_two_pieces_as_at_once(norm: Norm) -> None:
    layer = DecoderLayer(config(norm=norm))
    shaken(layer)
    x, memory = torch.randn(B, T, D), layer.cross_attention.kv(torch.randn(B, S, D))
    whole, seen = layer(x, None, memory, causal_mask(T, T), MEMORY_MASK)
    first, past = layer(x[:, :3], None, memory, causal_mask(3, 3), MEMORY_MASK)
    second, after = layer(x[:, 3:], past, memory, causal_mask(T - 3, T), MEMORY_MASK)
    assert_close(torch.cat([first, second], dim=1), whole)
    assert seen.key.shape == (B, H, T, D // H)
    assert_close(after.key, seen.key)
    assert_close(after.value, seen.value)


def test_the_feed_forward_sublayer_is_two_linear_maps_with_a_bend_between() -> None:
    layer = FeedForward(config())
    x = torch.randn(B, T, D)
    inner = (x @ layer.expand.weight.T + layer.expand.bias).clamp(min=0)  # (B, T, 17)
    assert inner.shape == (B, T, 17)
    assert_close(layer(x), inner @ layer.contract.weight.T + layer.contract.bias)


@ACTIVATIONS
def test_the_feed_forward_sublayer_treats_each_position_by_itself(activation: Activation) -> None:
    layer = FeedForward(config(activation=activation))
    x = torch.randn(B, T, D)
    alone = torch.cat([layer(x[:, t : t + 1]) for t in range(T)], dim=1)
    assert_close(layer(x), alone)


def test_post_norm_normalises_the_sum_and_pre_norm_the_input() -> None:
    x = torch.randn(B, T, D)
    post, pre = Residual(config(norm="post")), Residual(config(norm="pre"))
    assert_close(post(x, torch.sin), F.layer_norm(x + x.sin(), (D,)))
    assert_close(pre(x, torch.sin), x + F.layer_norm(x, (D,)).sin())


@NORMS
def test_dropout_falls_on_the_sublayers_output_and_only_in_training(norm: Norm) -> None:
    torch.manual_seed(1)
    residual = Residual(config(norm=norm, dropout=0.5)).train()
    x = torch.zeros(B, T, D)
    output = residual(x, lambda y: torch.ones_like(y))
    if norm == "pre":  # dropped to 0, or kept and doubled
        assert sorted(output.unique().tolist()) == [0.0, 2.0]
    assert not torch.equal(output, residual(x, lambda y: torch.ones_like(y)))
    residual.eval()
    ones = x + 1
    expected = F.layer_norm(ones, (D,)) if norm == "post" else ones
    assert_close(residual(x, lambda y: torch.ones_like(y)), expected)


@pytest.mark.parametrize(("p", "dropped"), [(0.1, 26), (0.3, 77), (0.5, 128), (0.99, 253)])
def test_dropout_drops_its_share_and_keeps_the_mean(p: float, dropped: int) -> None:
    torch.manual_seed(1)
    output = Dropout(p)(torch.ones(199_999))
    scale = 256 / (256 - dropped)
    assert sorted(output.unique().tolist()) == pytest.approx([0.0, scale])
    share = (output == 0).double().mean().item()
    assert share == pytest.approx(dropped / 256, abs=0.005)  # more than four standard errors
    assert output.double().mean().item() == pytest.approx(1.0, abs=0.005 * scale)


@pytest.mark.parametrize("p", [0.0, 0.001, 0.998, 0.999])
def test_dropout_stays_finite_at_every_rate_that_the_configuration_allows(p: float) -> None:
    assert Dropout(p)(torch.ones(7, 11)).isfinite().all()


def test_nothing_is_dropped_at_rate_zero_or_outside_training_and_shape_and_type_stay() -> None:
    x = torch.randn(B, T, D)
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    output = Dropout(0.5)(x.bfloat16())
    assert (output.shape, output.dtype) == (x.shape, torch.bfloat16)


def test_what_is_dropped_has_no_gradient_and_follows_the_seed() -> None:
    x, dropout = torch.ones(B, T, D, requires_grad=True), Dropout(0.5)
    torch.manual_seed(1)
    output = dropout(x)
    output.sum().backward()
    assert_close(x.grad, output.detach())  # of ones: 0 where dropped, 2 where kept
    assert not torch.equal(dropout(x), output)
    torch.manual_seed(1)
    assert torch.equal(dropout(x), output)


def test_neighbours_are_dropped_independently() -> None:
    """Eight elements share one random word."""
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(80_000)) != 0).double().view(-1, 8)
    assert_close(torch.corrcoef(kept.T), torch.eye(8).double(), rtol=0, atol=0.05)


L = 7


def test_even_channels_are_sines_and_odd_ones_cosines_of_the_papers_angles() -> None:
    codes = sinusoids(L, D)
    assert codes.shape == (L, D)
    for position in range(L):
        for i in range(D // 2):
            angle = position / 10_000 ** (2 * i / D)
            assert codes[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert codes[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_codes_stay_exact_far_from_the_start() -> None:
    last = sinusoids(5003, D)[-1]
    assert last[0].item() == pytest.approx(math.sin(5002), abs=1e-6)
    assert last[1].item() == pytest.approx(math.cos(5002), abs=1e-6)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_codes_from_a_start_are_that_part_of_all_codes(
    kind: type[SinusoidalPositions] | type[LearnedPositions],
) -> None:
    positions = kind(L, D)
    whole = positions(0, L)
    assert whole.shape == (L, D)
    assert torch.equal(positions(3, 2), whole[3:5])


def test_sinusoids_are_computed_and_not_part_of_a_checkpoint() -> None:
    positions = SinusoidalPositions(L, D)
    assert positions.state_dict() == {}
    assert list(positions.parameters()) == []
    assert torch.equal(positions(0, L), sinusoids(L, D))


def test_learned_codes_are_trained_and_start_at_about_unit_length() -> None:
    torch.manual_seed(1)
    positions = LearnedPositions(101, 64)
    assert [name for name, _ in positions.named_parameters()] == ["table"]
    lengths = positions(0, 101).norm(dim=1)
    assert lengths.mean().item() == pytest.approx(1.0, abs=0.05)
    positions(2, 3).sum().backward()
    assert positions.table.grad is not None
    assert positions.table.grad.abs().sum(1).nonzero().flatten().tolist() == [2, 3, 4]
