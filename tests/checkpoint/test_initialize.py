"""A larger model begun from a smaller one computes the same, and can learn what that could not."""

import dataclasses
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from transformer.checkpoint.initialize import check_growth, grow_weights, transfer_embeddings
from transformer.config import ModelConfig, UserError
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

SMALL = ModelConfig(
    vocab_size=40, d_model=32, n_heads=2, n_encoder_layers=2, n_decoder_layers=1, d_ff=48,
    dropout=0.0, norm="pre", positions="learned",
)  # fmt: skip
SRC, TGT = torch.randint(4, 40, (3, 9)), torch.randint(4, 40, (3, 7))


def trained(config: ModelConfig) -> Transformer:
    """A model whose biases and gains are not those of the beginning."""
    torch.manual_seed(3)
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.eval()


def larger(model: Transformer, **sizes: Any) -> Transformer:
    config = dataclasses.replace(model.config, **sizes)
    found = Transformer(config)
    found.load_state_dict(grow_weights(model.state_dict(), model.config, config))
    return found.eval()


@pytest.mark.parametrize(
    "sizes",
    [
        {"d_ff": 80},
        {"n_encoder_layers": 4, "n_decoder_layers": 3},
        {"d_model": 64, "n_heads": 4},
        {"d_model": 96, "n_heads": 6, "n_decoder_layers": 2, "d_ff": 100},
        {},
    ],
)
def test_a_grown_model_computes_what_the_small_one_does(sizes: dict[str, int]) -> None:
    small = trained(SMALL)
    large = larger(small, **sizes)
    assert_close(large(SRC, TGT), small(SRC, TGT), atol=2e-5, rtol=1e-4)


def test_sinusoidal_codes_between_the_old_ones_move_the_output_little() -> None:
    small = trained(dataclasses.replace(SMALL, positions="sinusoidal"))
    with torch.no_grad():
        before, after = small(SRC, TGT), larger(small, d_model=64, n_heads=4)(SRC, TGT)
        apart = (after.softmax(-1) - before.softmax(-1)).abs().sum(-1).mean() / 2
    assert 0 < apart < 0.1


def test_every_weight_of_a_grown_model_learns_and_copies_part() -> None:
    large = larger(trained(SMALL), d_model=64, n_heads=4, n_encoder_layers=3, d_ff=80)
    optimizer = torch.optim.Adam(large.parameters(), lr=1e-3)
    before = {name: weight.clone() for name, weight in large.state_dict().items()}
    for _ in range(3):
        logits = large(SRC, TGT[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), TGT[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for name, weight in large.state_dict().items():
        if "key.bias" not in name:  # it moves all scores of a query alike
            assert not torch.equal(weight, before[name]), name
    table = large.embedding.weight[:, [0, 2]].detach()  # two copies of one channel
    assert not torch.equal(table[:, 0], table[:, 1])


def test_growing_leaves_the_random_state_alone() -> None:
    small = trained(SMALL)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    config = dataclasses.replace(SMALL, d_ff=64)
    grow_weights(small.state_dict(), small.config, config)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_model": 48}, "expected --d-model 32 times a whole number"),
        ({"d_model": 64}, "and --n-heads 2 times the same; got 64 and 2"),
        ({"n_encoder_layers": 1}, "expected --n-encoder-layers of at least 2"),
        ({"d_ff": 16}, "expected --d-ff of at least 48"),
        ({"max_len": 9}, "or a larger one"),
        ({"norm": "post"}, "or a larger one"),
    ],
)
def test_what_cannot_grow_is_told(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_growth(SMALL, dataclasses.replace(SMALL, **sizes))


def test_a_norm_after_the_sublayer_cannot_grow() -> None:
    post = dataclasses.replace(SMALL, norm="post")
    check_growth(post, dataclasses.replace(post, dropout=0.3, vocab_size=99))
    with pytest.raises(UserError, match="others cannot grow"):
        check_growth(post, dataclasses.replace(post, d_ff=64))


CATS = [f"the cat {i} eats bread and drinks milk" for i in range(40)]
DOGS = [f"the dog {i} eats meat and drinks water" for i in range(40)]


def test_a_piece_of_both_keeps_its_row_and_a_new_one_is_the_mean_of_its_parts() -> None:
    before, after = Tokenizer.train(CATS, 310), Tokenizer.train(DOGS, 320)
    torch.manual_seed(0)
    old = torch.randn(before.vocab_size, 4)
    new = transfer_embeddings(old, before, after)
    assert new.shape == (after.vocab_size, 4)
    known = {piece: i for i, piece in enumerate(before.pieces(range(before.vocab_size)))}
    pieces = after.pieces(range(after.vocab_size))
    shared = [i for i, piece in enumerate(pieces) if piece in known]
    others = [i for i, piece in enumerate(pieces) if piece not in known]
    assert len(shared) > 270
    assert others
    assert_close(new[shared], old[[known[pieces[i]] for i in shared]])
    for i in others:
        assert_close(new[i], old[before.encode(pieces[i].replace("▁", " "))].mean(0))


def test_the_same_vocabulary_gives_the_same_table() -> None:
    tokenizer = Tokenizer.train(CATS, 310)
    old = torch.randn(tokenizer.vocab_size, 4)
    assert_close(transfer_embeddings(old, tokenizer, tokenizer), old)
