"""Subwords: nothing is lost between text and ids, and chance comes only from where it is asked."""

import collections
import io
import math
import random
import unicodedata
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, UserError
from transformer.text.tokenizer import N_BEST, Tokenizer, Word, group_words

NORMALISED = {
    # NFKC: one way to write each character
    "ﬁn": "fin",
    "e\u0301l": "él",
    "ｎｏ １２": "no 12",
    "½ de 2ª": "1⁄2 de 2a",
    "espera…": "espera...",
    # blanks of every kind: one between words, none at the ends
    "  a \t b\n\u3000c\u00a0d ": "a b c d",
    "a\u200bb": "a b",
    "\ufeffhola\u2028": "hola",
    "": "",
    " \n ": "",
    "a\u2581b": "a b",  # SentencePiece's own sign for a blank
    # control characters vanish, the mark of a broken encoding is a blank
    "a\x01b\x7f\x8f": "ab",
    "a\ufffdb": "a b",
    # left alone
    "¿«Sí», “no”?": "¿«Sí», “no”?",
    "😀👩\u200d🔬 漢字 Жук עברית": "😀👩\u200d🔬 漢字 Жук עברית",
    "<s> <unk> <0x41>": "<s> <unk> <0x41>",
    "a\x00b": "a\x00b",
}
AWKWARD = st.text(st.sampled_from("aé \u0301\u2581\n\x00\x01\x85½ﬁ😀\u200d漢\ufeff\ufffd0"))


def normalized(tokenizer: Tokenizer, text: str) -> str:
    """The text as SentencePiece itself normalises it."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return str(processor.Normalize(text)).replace("\u2581", " ").strip(" ")


def piece_scores(tokenizer: Tokenizer) -> dict[str, float]:
    """Each piece and its log probability, as SentencePiece itself tells them."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return {processor.IdToPiece(i): processor.GetScore(i) for i in range(len(processor))}


def segmentations(text: str, scores: dict[str, float]) -> dict[tuple[str, ...], float]:
    """Every way to spell a text in pieces, with its log probability."""
    if not text:
        return {(): 0.0}
    heads = [text[:n] for n in range(1, len(text) + 1) if text[:n] in scores]
    return {
        (head, *rest): scores[head] + score
        for head in heads
        for rest, score in segmentations(text[len(head) :], scores).items()
    }


@pytest.mark.parametrize(("text", "expected"), NORMALISED.items())
def test_normalisation_is_this(phrase_tokenizer: Tokenizer, text: str, expected: str) -> None:
    assert normalized(phrase_tokenizer, text) == expected
    assert phrase_tokenizer.decode(phrase_tokenizer.encode(text)) == expected


@settings(deadline=None)
@given(text=st.text() | AWKWARD)
def test_decoding_gives_the_normalised_text_back(phrase_tokenizer: Tokenizer, text: str) -> None:
    ids = phrase_tokenizer.encode(text)
    assert phrase_tokenizer.decode(ids) == normalized(phrase_tokenizer, text)
    assert not {PAD_ID, BOS_ID, EOS_ID, UNK_ID}.intersection(ids)


def test_no_character_that_can_be_seen_is_lost(phrase_tokenizer: Tokenizer) -> None:
    written = [c for c in map(chr, range(0x11000)) if unicodedata.category(c)[0] in "LMNPS"]
    lost = [
        c
        for c, ids in zip(written, phrase_tokenizer.encode_batch(written), strict=True)
        if not phrase_tokenizer.decode(ids).strip() or UNK_ID in ids
    ]
    assert lost == ["\u2581", "\ufffd"]


def test_the_special_ids_are_fixed_and_leave_no_trace(phrase_tokenizer: Tokenizer) -> None:
    special = [PAD_ID, BOS_ID, EOS_ID, UNK_ID]
    assert phrase_tokenizer.pieces(special) == ("<pad>", "<s>", "</s>", "<unk>")
    ids = phrase_tokenizer.encode("La casa.")
    assert phrase_tokenizer.decode([BOS_ID, *ids, UNK_ID, EOS_ID, PAD_ID]) == "La casa."
    assert phrase_tokenizer.decode(special) == ""


def test_pieces_spell_the_text(phrase_tokenizer: Tokenizer) -> None:
    pieces = phrase_tokenizer.pieces(phrase_tokenizer.encode("el gato ve agua"))
    assert "".join(pieces) == "\u2581el\u2581gato\u2581ve\u2581agua"


def test_many_texts_at_once_are_encoded_as_one_by_one(phrase_tokenizer: Tokenizer) -> None:
    texts = ["La casa.", "", "漢", "Mrs García sees 12 apples."]
    assert phrase_tokenizer.encode_batch(texts) == [phrase_tokenizer.encode(t) for t in texts]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_twice_gives_the_same_bytes(phrases: list[tuple[str, str]], kind: str) -> None:
    texts = [text for pair in phrases[:150] for text in pair]
    first = Tokenizer.train(iter(texts), 330, kind)  # type: ignore[arg-type]
    again = Tokenizer.train(texts, 330, kind)  # type: ignore[arg-type]
    assert first.model == again.model
    assert first.vocab_size == 330
    assert first.decode(first.encode(texts[0])) == texts[0]


@pytest.mark.parametrize(("texts", "size"), [(["Una casa."], 200), ([], 300)])
def test_text_that_makes_no_vocabulary_of_that_size_is_an_error(
    texts: list[str], size: int
) -> None:
    with pytest.raises(UserError, match=f"vocabulary of {size} pieces.*--vocab-size or give more"):
        Tokenizer.train(texts, size)


def test_a_small_corpus_gets_a_smaller_vocabulary() -> None:
    small = Tokenizer.train(["Una casa roja.", "A red house."] * 5, 5000)
    assert 260 < small.vocab_size < 400


def test_a_file_is_loaded_as_it_was_trained(phrase_tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(phrase_tokenizer.model)
    assert Tokenizer.load(path).encode("La casa.") == phrase_tokenizer.encode("La casa.")
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(tmp_path / "none")


@pytest.mark.parametrize("model", [b"", b"no vocabulary"])
def test_other_bytes_are_no_tokeniser(model: bytes) -> None:
    with pytest.raises(ValueError, match=f"expected a SentencePiece model, got {len(model)} bytes"):
        Tokenizer(model)


def test_a_vocabulary_with_other_special_ids_is_refused(phrases: list[tuple[str, str]]) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter([src for src, _ in phrases]),
        model_writer=model,
        vocab_size=60,
        minloglevel=2,
    )
    with pytest.raises(ValueError, match=r"pad, bos, eos, unk ids .*, got \(-1, 1, 2, 0\)"):
        Tokenizer(model.getvalue())


def test_sampling_is_repeated_by_its_generator_alone(phrase_tokenizer: Tokenizer) -> None:
    def drawn(seed: int) -> list[list[int]]:
        rng = random.Random(seed)
        return [phrase_tokenizer.sample("Mi hermano limpia la mesa.", 0.1, rng) for _ in range(20)]

    random.seed(1)
    first = drawn(3)
    random.seed(2)
    sentencepiece.set_random_generator_seed(5)
    assert drawn(3) == first
    assert drawn(4) != first
    assert len(set(map(tuple, first))) > 1


@settings(deadline=None, max_examples=50)
@given(text=st.text() | AWKWARD, seed=st.integers(0, 99))
def test_a_sampled_segmentation_says_the_same(
    phrase_tokenizer: Tokenizer, text: str, seed: int
) -> None:
    ids = phrase_tokenizer.sample(text, 0.2, random.Random(seed))
    assert phrase_tokenizer.decode(ids) == normalized(phrase_tokenizer, text)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5])
def test_segmentations_are_drawn_by_their_probability_to_the_power_of_alpha(
    phrase_tokenizer: Tokenizer, alpha: float
) -> None:
    every = segmentations("\u2581la\u2581mesa", piece_scores(phrase_tokenizer))
    best = sorted(every.items(), key=lambda item: -item[1])[:N_BEST]
    assert len(best) == N_BEST
    weights = [math.exp(alpha * score) for _, score in best]
    rng, draws = random.Random(1), 4000
    found = collections.Counter(
        phrase_tokenizer.pieces(phrase_tokenizer.sample("la mesa", alpha, rng))
        for _ in range(draws)
    )
    for (pieces, _), weight in zip(best, weights, strict=True):
        p = weight / sum(weights)
        assert abs(found[pieces] / draws - p) < 4.5 * math.sqrt(p * (1 - p) / draws)


def test_a_large_alpha_takes_the_likeliest(phrase_tokenizer: Tokenizer) -> None:
    text, rng = "La señora García dibuja dos manzanas.", random.Random(1)
    assert phrase_tokenizer.sample(text, 500.0, rng) == phrase_tokenizer.encode(text)


def test_bpe_has_nothing_to_sample_by(phrases: list[tuple[str, str]]) -> None:
    tokenizer = Tokenizer.train([src for src, _ in phrases], 310, "bpe")
    with pytest.raises(UserError, match="expected a unigram vocabulary for --sample-alpha"):
        tokenizer.sample("La casa.", 0.2, random.Random(1))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((), ()),
        (("▁",), ()),
        (("▁Buenos", "▁días", "."), (("Buenos", 0, 1), ("días", 1, 2), (".", 2, 3))),
        (("▁¿", "D", "ónde", "▁está"), (("¿", 0, 1), ("Dónde", 1, 3), ("está", 3, 4))),
        (("▁don", "'", "t", "▁go"), (("don't", 0, 3), ("go", 3, 4))),
        (("▁the", "▁", "<0xC3>", "<0xB1>", "▁x"), (("the", 0, 1), ("ñ", 1, 4), ("x", 4, 5))),
        (("▁a", "<0xC3>"), (("a", 0, 1), ("\ufffd", 1, 2))),
        (("▁yes.", "No"), (("yes", 0, 1), (".", 0, 1), ("No", 1, 2))),
    ],
)
def test_pieces_make_words(
    pieces: tuple[str, ...], expected: tuple[tuple[str, int, int], ...]
) -> None:
    assert group_words(pieces) == tuple(Word(*one) for one in expected)


@given(st.text())
def test_words_are_all_of_the_text_but_its_white_space(
    phrase_tokenizer: Tokenizer, text: str
) -> None:
    pieces = phrase_tokenizer.pieces(phrase_tokenizer.encode(text))
    shown = "".join(word.text for word in group_words(pieces))
    assert shown == "".join(normalized(phrase_tokenizer, text).split())
