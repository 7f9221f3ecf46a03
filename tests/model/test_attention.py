"""Attention against other ways to the same numbers."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from transformer.model import KV, MultiHeadAttention, attention_weights, causal_mask, padding_mask

B, Q, K, H, C = 2, 5, 7, 3, 4
D = H * C
PADDING = padding_mask(torch.tensor([[1, 5, 4, 2, 0, 0, 0], [1, 4, 6, 7, 8, 9, 2]]), pad_id=0)
NO_PEEK = causal_mask(Q, K)
MASKS = pytest.mark.parametrize(
    "mask",
    [None, PADDING, NO_PEEK, PADDING & NO_PEEK],
    ids=["no mask", "padding", "no peek", "both"],
)


def example() -> tuple[MultiHeadAttention, Tensor, Tensor]:
    """An attention, a sequence that looks (B, Q, D), and one that is looked at (B, K, D)."""
    torch.manual_seed(1)
    return MultiHeadAttention(D, H).eval(), torch.randn(B, Q, D), torch.randn(B, K, D)


@MASKS
def test_all_heads_at_once_equal_one_head_at_a_time(mask: Tensor | None) -> None:
    attention, x, memory = example()
    heads = []
    for start in range(0, D, C):
        channels = slice(start, start + C)
        query = x @ attention.query.weight[channels].T + attention.query.bias[channels]
        key = memory @ attention.key.weight[channels].T + attention.key.bias[channels]
        value = memory @ attention.value.weight[channels].T + attention.value.bias[channels]
        scores = query @ key.transpose(1, 2) / C**0.5
        if mask is not None:
            scores[~mask.expand(B, 1, Q, K)[:, 0]] = -math.inf
        shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
        heads.append(shares @ value)
    expected = torch.cat(heads, -1) @ attention.out.weight.T + attention.out.bias
    assert_close(attention(x, attention.kv(memory), mask), expected)


@MASKS
def test_outputs_and_weights_agree_with_torch_given_the_same_parameters(
    mask: Tensor | None,
) -> None:
    attention, x, memory = example()
    theirs = nn.MultiheadAttention(D, H, batch_first=True).eval()
    projections = attention.query, attention.key, attention.value
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([p.weight for p in projections]),
            "in_proj_bias": torch.cat([p.bias for p in projections]),
            "out_proj.weight": attention.out.weight,
            "out_proj.bias": attention.out.bias,
        }
    )
    blocked = None if mask is None else ~mask.expand(B, H, Q, K).flatten(0, 1)
    output, weights = theirs(x, memory, memory, attn_mask=blocked, average_attn_weights=False)
    kv = attention.kv(memory)
    assert_close(attention(x, kv, mask), output)
    assert_close(attention.weights(x, kv, mask), weights)


@MASKS
def test_the_fast_path_equals_the_written_out_softmax(mask: Tensor | None) -> None:
    attention, x, memory = example()
    kv = attention.kv(memory)
    heads = attention.weights(x, kv, mask) @ kv.value  # (B, H, Q, C)
    joined = torch.cat([heads[:, h] for h in range(H)], dim=-1)  # (B, Q, D)
    assert_close(attention(x, kv, mask), attention.out(joined))


@MASKS
def test_each_row_of_weights_sums_to_one_and_a_masked_weight_is_exactly_zero(
    mask: Tensor | None,
) -> None:
    attention, x, memory = example()
    weights = attention.weights(x, attention.kv(memory), mask)
    assert weights.shape == (B, H, Q, K)
    assert_close(weights.sum(-1), torch.ones(B, H, Q))
    may_look = torch.ones_like(weights, dtype=torch.bool) if mask is None else mask
    assert torch.equal(weights == 0, ~may_look.expand_as(weights))
    assert attention_weights(torch.randn(Q, C), torch.randn(K, C)).shape == (Q, K)


def test_the_fast_path_does_not_feel_what_is_masked_however_large() -> None:
    attention, x, memory = example()
    kv = attention.kv(memory)
    hidden = ~PADDING.transpose(2, 3)  # (B, 1, K, 1)
    loud = KV(torch.where(hidden, 1e6, kv.key), torch.where(hidden, 1e6, kv.value))
    assert_close(attention(x, loud, PADDING), attention(x, kv, PADDING), rtol=0, atol=0)


def test_the_padding_mask_is_true_where_a_token_stands() -> None:
    mask = padding_mask(torch.tensor([[5, 2, 9], [3, 9, 9]]), pad_id=9)
    assert mask.tolist() == [[[[True, True, False]]], [[[True, False, False]]]]


def test_the_no_peek_mask_lets_each_query_see_itself_and_what_came_before() -> None:
    assert causal_mask(3, 3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert causal_mask(2, 5).int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert causal_mask(1, 4).int().tolist() == [[1, 1, 1, 1]]


def test_projecting_two_pieces_and_appending_equals_projecting_the_whole() -> None:
    attention, _, memory = example()
    whole = attention.kv(memory)
    pieces = attention.kv(memory[:, :3]).append(attention.kv(memory[:, 3:]))
    assert whole.key.shape == whole.value.shape == (B, H, K, C)
    assert_close(pieces.key, whole.key)
    assert_close(pieces.value, whole.value)


def test_rows_of_keys_and_values_are_selected_by_number_or_by_mask() -> None:
    attention, _, memory = example()
    kv = attention.kv(memory)
    turned = kv.select(torch.tensor([1, 0, 1]))
    assert torch.equal(turned.key, torch.stack([kv.key[1], kv.key[0], kv.key[1]]))
    assert torch.equal(turned.value, torch.stack([kv.value[1], kv.value[0], kv.value[1]]))
    kept = kv.select(torch.tensor([False, True]))
    assert torch.equal(kept.key, kv.key[1:])
    assert torch.equal(kept.value, kv.value[1:])
