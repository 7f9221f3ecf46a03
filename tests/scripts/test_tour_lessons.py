"""The worked examples of the lessons, each against numbers that were computed by hand."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from transformer.config import BOS_ID, EOS_ID, PAD_ID, model_config
from transformer.decoding.search import greedy_search
from transformer.model import (
    KV,
    MultiHeadAttention,
    Transformer,
    attention_weights,
    causal_mask,
    padding_mask,
    sinusoids,
)

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])
IDENTITY = torch.eye(3)


def near(actual: Tensor, expected: list[list[float]], digits: int = 4) -> None:
    """Equal to the last printed digit."""
    assert_close(actual, torch.tensor(expected), rtol=0, atol=0.5001 * 10.0**-digits)


def unprojected(d_model: int, n_heads: int = 1) -> MultiHeadAttention:
    """Attention whose four projections change nothing."""
    attention = MultiHeadAttention(d_model, n_heads)
    for projection in (attention.query, attention.key, attention.value, attention.out):
        nn.init.eye_(projection.weight)
        nn.init.zeros_(projection.bias)
    return attention


def one_head(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """The fast path on single matrices: (Q, D), (K, D), (K, D) -> (Q, D)."""
    kv = KV(key[None, None], value[None, None])
    output: Tensor = unprojected(query.size(1))(query[None], kv, mask)[0]
    return output


def test_1_hard_attention_copies_the_vectors_it_looks_at() -> None:
    itself = torch.eye(3, dtype=torch.bool)
    assert torch.equal(attention_weights(X, X, itself), IDENTITY)
    assert torch.equal(one_head(X, X, X, itself), X)


def test_1_hard_attention_to_the_first_vector_leaves_only_that_one() -> None:
    first = torch.tensor([[True, False, False]])
    assert attention_weights(X[:1], X, first).tolist() == [[1, 0, 0]]
    assert one_head(X[:1], X, X, first).tolist() == [[1, 0]]


def test_2_soft_attention_mixes_the_vectors() -> None:
    wanted = torch.full((3, 3), 0.1).fill_diagonal_(0.8)
    query = wanted.log() * math.sqrt(3)  # against the unit vectors: scores log 0.8 and log 0.1
    weights = attention_weights(query, IDENTITY)
    assert_close(weights, wanted)
    near(weights @ X, [[0.75, 0.05], [0.05, 0.75], [-0.30, -0.30]])


def test_2_attention_without_preference_gives_the_mean() -> None:
    near(one_head(torch.zeros(3, 2), X, X), [[0.1667, 0.1667]] * 3)


def test_3_self_attention_compares_the_vectors_with_each_other() -> None:
    query = X * math.sqrt(2)  # undoes the division by the root of the two channels
    near(
        attention_weights(query, X),
        [[0.6285, 0.2312, 0.1402], [0.2312, 0.6285, 0.1402], [0.2119, 0.2119, 0.5761]],
    )
    near(one_head(query, X, X), [[0.5584, 0.1611], [0.1611, 0.5584], [-0.0761, -0.0761]])


def test_4_a_recurrent_decoder_weighs_the_encoder_states() -> None:
    encoder = torch.tensor([[3.0, 2.0], [3.0, 0.0], [1.0, 3.0]])
    decoder = torch.tensor([[3.0, 2.0]])
    assert (decoder @ encoder.T).tolist() == [[13, 9, 9]]
    query = decoder * math.sqrt(2)
    near(attention_weights(query, encoder), [[0.9647, 0.0177, 0.0177]])
    context = [0.9647 * 3 + 0.0177 * 3 + 0.0177 * 1, 0.9647 * 2 + 0.0177 * 3]
    near(one_head(query, encoder, encoder), [context], digits=3)


def test_5_scores_are_divided_by_the_root_of_the_channels() -> None:
    query, key = torch.ones(1, 64), torch.tensor([[1.75], [1.5]]).expand(2, 64)
    assert (query @ key.T).tolist() == [[112, 96]]
    near(attention_weights(query, key), [[0.88, 0.12]], digits=2)
    assert_close(attention_weights(query, key), torch.tensor([[14.0, 12.0]]).softmax(1))
    near(one_head(query, key, key)[:, :1], [[0.8808 * 1.75 + 0.1192 * 1.5]])


def test_5_queries_keys_and_values_are_learned_projections() -> None:
    torch.manual_seed(1)
    attention, x = MultiHeadAttention(64, 1), torch.randn(1, 3, 64)
    query, key, value = attention.query(x), attention.key(x), attention.value(x)
    mixed = (query @ key.transpose(1, 2) / 8).softmax(-1) @ value
    assert_close(attention(x, attention.kv(x)), attention.out(mixed))


def eight_heads() -> tuple[MultiHeadAttention, Tensor]:
    torch.manual_seed(1)
    return MultiHeadAttention(512, 8), 3 * torch.randn(1, 4, 512)  # four words


def test_6_eight_heads_one_at_a_time_equal_all_at_once() -> None:
    attention, words = eight_heads()
    query, key, value = attention.query(words), attention.key(words), attention.value(words)
    heads = []
    for start in range(0, 512, 64):
        part = slice(start, start + 64)
        scores = query[..., part] @ key[..., part].transpose(1, 2) / math.sqrt(64)
        heads.append(scores.softmax(-1) @ value[..., part])
    assert_close(attention(words, attention.kv(words)), attention.out(torch.cat(heads, -1)))


def test_6_many_heads_do_not_forget_the_division_by_8() -> None:
    attention, words = eight_heads()
    first = attention.query(words)[0, :, :64] @ attention.key(words)[0, :, :64].T
    weights = attention.weights(words, attention.kv(words))[0, 0]
    assert_close(weights, (first / 8).softmax(-1))
    assert not torch.allclose(weights, first.softmax(-1), atol=0.01)


TABLE = torch.arange(50).view(5, 10) / 100  # 0.00 ... 0.49
MAY_LOOK = causal_mask(5, 5) & padding_mask(torch.tensor([[5, 6, 7, 8, PAD_ID]]), PAD_ID)[0, 0]


def test_7_the_masked_row_one_is_one_and_zeros() -> None:
    scores = TABLE @ TABLE.T
    near(scores[:1], [[0.0285, 0.0735, 0.1185, 0.1635, 0.2085]])
    weights = attention_weights(TABLE, TABLE, MAY_LOOK)
    assert weights[0].tolist() == [1, 0, 0, 0, 0]
    assert torch.equal(one_head(TABLE, TABLE, TABLE, MAY_LOOK)[0], TABLE[0])


def test_7_filling_with_a_tiny_number_would_leave_the_future_most_of_the_weight() -> None:
    slip = (TABLE @ TABLE.T).masked_fill(~MAY_LOOK, -1e-9).softmax(-1)
    near(slip[:1], [[0.2046, 0.1989, 0.1989, 0.1989, 0.1989]])


def test_7_padding_has_weight_zero_in_every_row_and_rows_still_sum_to_one() -> None:
    weights = attention_weights(TABLE, TABLE, MAY_LOOK)
    assert weights[:, 4].tolist() == [0] * 5
    assert torch.equal(weights != 0, MAY_LOOK)
    assert_close(weights.sum(1), torch.ones(5))


def test_9_six_encoder_layers_are_equal_in_shape_and_share_no_weights() -> None:
    with torch.device("meta"):
        model = Transformer(model_config("base", vocab_size=13))
    for stack in (model.encoder, model.decoder):
        shapes = [[(n, p.shape) for n, p in layer.named_parameters()] for layer in stack]
        assert len(shapes) == 6
        assert all(shape == shapes[0] for shape in shapes)
        weights = [id(p) for layer in stack for p in layer.parameters()]
        assert len(set(weights)) == len(weights) == 6 * len(shapes[0])


def test_9_each_sublayer_has_a_residual_connection_and_a_normalisation() -> None:
    with torch.device("meta"):
        model = Transformer(model_config("base", vocab_size=13))
    sublayers = {"self": "self_attention", "cross": "cross_attention", "feed": "feed_forward"}
    for stack, used in ((model.encoder, ("self", "feed")), (model.decoder, tuple(sublayers))):
        expected = {sublayers[name] for name in used} | {f"{name}_residual" for name in used}
        for layer in stack:
            assert {name for name, _ in layer.named_children()} == expected


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_9_every_decoder_layer_looks_at_the_last_encoder_layer(
    make_model: Callable[..., Transformer], norm: str
) -> None:
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


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_9_positions_are_added_to_the_embeddings(
    make_model: Callable[..., Transformer], positions: str
) -> None:
    model, ids = make_model(positions=positions), torch.tensor([[4, 4, 4, 4, 4]])
    added = model.embed(ids) - model.embedding(ids) * math.sqrt(12)
    learned = model.state_dict().get("positions.table")
    expected = sinusoids(5, 12) if learned is None else learned[:5]
    assert_close(added[0], expected, atol=1e-5, rtol=0)


def test_10_one_token_a_step_fed_back_until_the_end(
    make_wanderer: Callable[..., Transformer],
) -> None:
    model, src = make_wanderer(), torch.tensor([[4, 5, 6, EOS_ID]])
    fed, state, score = [BOS_ID], model.encode(src), 0.0
    while fed[-1] != EOS_ID and len(fed) < 20:
        logits, state = model.decode(torch.tensor([fed[-1:]]), state)
        share = logits[0, -1].softmax(-1)  # over the vocabulary
        assert share.sum().item() == pytest.approx(1.0)
        share[[PAD_ID, BOS_ID]] = 0.0
        fed.append(int(share.argmax()))
        score += math.log(share.max().item())
        assert_close(model(src, torch.tensor([fed[:-1]]))[0, -1], logits[0, -1])
    assert fed[-1] == EOS_ID
    assert len(fed) > 3
    found = greedy_search(model, src)[0]
    assert found.ids == tuple(fed[1:-1])
    assert found.score == pytest.approx(score, abs=1e-4)


def test_10_positions_not_generated_yet_have_weight_zero(
    make_model: Callable[..., Transformer],
) -> None:
    model, tgt = make_model(), torch.tensor([[BOS_ID, 4, 5, 6, 7]])
    attention = model.decoder[0].get_submodule("self_attention")
    assert isinstance(attention, MultiHeadAttention)
    x = model.embed(tgt)
    weights = attention.weights(x, attention.kv(x), causal_mask(5, 5))
    assert weights.triu(1).count_nonzero() == 0
    assert (weights.tril() > 0).sum() == 3 * 15  # three heads, the lower triangle
