"""The start of a model from one with another vocabulary."""

import torch
from torch.testing import assert_close

from transformer.tokenizer import Tokenizer
from transformer.transfer import embeddings

CATS = [f"the cat {i} eats bread and drinks milk" for i in range(40)]
DOGS = [f"the dog {i} eats meat and drinks water" for i in range(40)]


def test_a_piece_of_both_keeps_its_row_and_a_new_one_is_the_mean_of_its_parts() -> None:
    before, after = Tokenizer.train(CATS, 310), Tokenizer.train(DOGS, 320)
    torch.manual_seed(0)
    old = torch.randn(before.vocab_size, 4)
    new = embeddings(old, before, after)
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
    assert_close(embeddings(old, tokenizer, tokenizer), old)
