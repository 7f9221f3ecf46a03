"""Differences between two implementations: found, weighed, and none where there is none."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID
from transformer.decoding.search import greedy_search, length_limits
from transformer.export.export import (
    MAX_RATIO,
    SENTENCES,
    TIE_TOLERANCE,
    Difference,
    GreedySearch,
    find_differences,
)
from transformer.model import Transformer, source_batch
from transformer.text.tokenizer import Tokenizer

TEXTS = ("El gato ve la casa.", "Nadie compra agua hoy.", "Un médico dibuja un libro.")


@pytest.fixture
def model(make_model: Callable[..., Transformer], phrase_tokenizer: Tokenizer) -> Transformer:
    return make_model(vocab_size=phrase_tokenizer.vocab_size, max_len=64)


def itself(model: Transformer) -> GreedySearch:
    """The model's own search, as ids."""
    return lambda src, most: [list(h.ids) for h in greedy_search(model, src)]


def changed(model: Transformer, place: int, token: int) -> GreedySearch:
    """The model's own search with another token at one place."""

    def search(src: Tensor, most: int) -> list[list[int]]:
        rows = itself(model)(src, most)
        return [[*row[:place], token, *row[place + 1 :]] for row in rows]

    return search


def found(
    model: Transformer, tokenizer: Tokenizer, search: GreedySearch, texts: tuple[str, ...] = TEXTS
) -> list[Difference]:
    return list(find_differences(model, tokenizer, texts, search))


def test_a_model_does_not_differ_from_itself(
    model: Transformer, phrase_tokenizer: Tokenizer
) -> None:
    assert not found(model, phrase_tokenizer, itself(model), SENTENCES)


def test_another_token_is_found_in_every_sentence_with_both_translations(
    model: Transformer, phrase_tokenizer: Tokenizer
) -> None:
    other = 77
    pairs = found(model, phrase_tokenizer, changed(model, 2, other))
    assert {pair.text for pair in pairs} == set(TEXTS)
    (word,) = phrase_tokenizer.pieces([other])
    for pair in pairs:
        assert pair.theirs.split()[2] == word != pair.ours.split()[2]
        assert pair.margin >= TIE_TOLERANCE


def test_the_margin_is_how_much_likelier_the_own_token_is(
    model: Transformer, phrase_tokenizer: Tokenizer
) -> None:
    place, other = 2, 77
    (pair,) = found(model, phrase_tokenizer, changed(model, place, other), TEXTS[:1])
    src = source_batch([phrase_tokenizer.encode(TEXTS[0])])
    ids = greedy_search(model, src)[0].ids
    log_probs = model(src, torch.tensor([[BOS_ID, *ids]]))[0].log_softmax(-1)
    expected = log_probs[place, ids[place]] - log_probs[place, other]
    assert pair.margin == pytest.approx(expected.item(), abs=1e-5)


def test_two_tokens_with_one_embedding_tie(model: Transformer, phrase_tokenizer: Tokenizer) -> None:
    src = source_batch([phrase_tokenizer.encode(TEXTS[0])])
    own = greedy_search(model, src)[0].ids[2]
    other = own + 1
    with torch.no_grad():
        model.embedding.weight[other] = model.embedding.weight[own]
    (pair,) = found(model, phrase_tokenizer, changed(model, 2, other), TEXTS[:1])
    assert abs(pair.margin) < TIE_TOLERANCE
    assert pair.margin < TIE_TOLERANCE


def test_an_end_too_early_is_a_difference(model: Transformer, phrase_tokenizer: Tokenizer) -> None:
    def shortened(src: Tensor, most: int) -> list[list[int]]:
        return [row[:-3] for row in itself(model)(src, most)]

    pairs = found(model, phrase_tokenizer, shortened)
    assert len(pairs) == len(TEXTS)
    assert all(pair.margin >= TIE_TOLERANCE for pair in pairs)


def test_a_start_mark_is_never_a_tie(model: Transformer, phrase_tokenizer: Tokenizer) -> None:
    with torch.no_grad():  # whatever its logit: it is high here
        model.embedding.weight[BOS_ID] *= 50
    (pair,) = found(model, phrase_tokenizer, changed(model, 0, BOS_ID), TEXTS[:1])
    assert pair.margin == math.inf


def test_tokens_beyond_the_limit_of_a_sentence_do_not_count(
    model: Transformer, phrase_tokenizer: Tokenizer
) -> None:
    """One that goes on for the longest sentence of a batch gives the short ones too many."""
    with torch.no_grad():  # the end is never likely
        model.embedding.weight[EOS_ID] = 0
        model.embedding.weight[EOS_ID, 0] = -50 * model.embedding.weight[:, 0].sign().sum().sign()

    def longer(src: Tensor, most: int) -> list[list[int]]:
        limits = length_limits(model, src, MAX_RATIO)
        rows = itself(model)(src, most)
        at_limit = [len(row) + 1 == limit for row, limit in zip(rows, limits, strict=True)]
        assert any(at_limit)
        return [[*row, 77] if full else row for row, full in zip(rows, at_limit, strict=True)]

    assert not found(model, phrase_tokenizer, longer)


@pytest.mark.parametrize("tags", [[], [4]])
def test_texts_longer_than_the_model_are_cut_and_empty_ones_left_out(
    model: Transformer, phrase_tokenizer: Tokenizer, tags: list[int]
) -> None:
    text, rows = "gato " * 200, []

    def watched(src: Tensor, most: int) -> list[list[int]]:
        rows.extend(src.tolist())
        assert most < model.config.max_len
        return itself(model)(src, most)

    assert not list(find_differences(model, phrase_tokenizer, (text, "", " "), watched, tags))
    longest = model.config.max_len // 2 - 1
    assert rows == [[*[*tags, *phrase_tokenizer.encode(text)][:longest], EOS_ID]]
