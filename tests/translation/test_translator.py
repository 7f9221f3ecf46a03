"""Strings in, strings out: nothing lost or moved, whatever the text, the order, the number."""

import itertools
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch
from hypothesis import strategies
from torch import Tensor

from transformer.config import EOS_ID, PAD_ID, DecodeConfig, ModelConfig, UserError
from transformer.decoding import search as search_module
from transformer.decoding.hypothesis import Hypothesis
from transformer.decoding.search import select_device
from transformer.model import Transformer
from transformer.text.sentences import Segment
from transformer.text.tokenizer import Tokenizer
from transformer.translation import translator as translate
from transformer.translation.translator import Candidate, Translation, Translator

LONG = "La casa que mi hermano quiere comprar en la ciudad mañana temprano "
TEXTS = [
    "El gato ve la casa.",
    "",
    "Nadie. ¿Nadie? ¡Nadie compra agua!",
    " \t ",
    "Un médico",
    "La niña quiere dos manzanas por la mañana temprano, y mi hermano no encuentra su libro.",
    "😀",
    "Hoy.\n\n  Mañana.\n",
]


@pytest.fixture(scope="module")
def translator(random_checkpoint: Path) -> Translator:
    return Translator.load(random_checkpoint, "cpu")


def content(row: Tensor) -> tuple[int, ...]:
    """The pieces of a source without its special ids."""
    return tuple(int(i) for i in row if i not in (PAD_ID, EOS_ID))


def echo(
    model: Transformer, src: Tensor, config: DecodeConfig, **_: object
) -> list[list[Hypothesis]]:
    """A search that gives each source back, at one nat a piece."""
    return [[Hypothesis(content(row), -float(len(content(row))))] for row in src]


@pytest.fixture
def echoes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations that are their sources: what is lost or moved shows."""
    monkeypatch.setattr(search_module, "search", echo)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[int]]:
    """The shapes of what is searched for by a search that gives each source back."""
    shapes: list[Sequence[int]] = []

    def search(*given: Any, **_: object) -> list[list[Hypothesis]]:
        shapes.append(given[1].shape)
        return echo(*given)

    monkeypatch.setattr(search_module, "search", search)
    return shapes


# Texts


def test_texts_come_back_in_order_each_as_if_it_were_alone(random_checkpoint: Path) -> None:
    # PyTorch's int8 kernels, `auto` on some processors, round the rows of a batch on one grid.
    translator = Translator.load(random_checkpoint, "cpu", "float32")
    together = translator.translate(TEXTS)
    assert [result.source for result in together] == TEXTS
    for text, result in zip(TEXTS, together, strict=True):
        (alone,) = translator.translate([text])
        assert result.text == alone.text
        assert result.tokens == alone.tokens
        assert result.score == pytest.approx(alone.score, rel=1e-4)
    for text, result in zip(TEXTS, translator.translate(TEXTS[::-1])[::-1], strict=True):
        assert result.source == text
    assert translator.translate([]) == []


@pytest.mark.parametrize(
    "text", ["", " ", "\t\n\r\n ", "😀 🎉\n", "12 + 3 = 15", "…", "¿?", "\u3000"]
)
def test_a_text_without_words_stays_as_it_is(translator: Translator, text: str) -> None:
    (result,) = translator.translate([text], DecodeConfig(beam_size=2, n_best=2))
    assert result == Translation(
        source=text, candidates=(Candidate(text=text, score=0, tokens=()),)
    )


def test_sentences_are_translated_by_themselves_and_keep_their_white_space(
    translator: Translator,
) -> None:
    sentences = ["El gato ve agua.", "¿Quiere la casa?", "Nadie dibuja hoy."]
    first, second, third = (result.text for result in translator.translate(sentences))
    text = "  {}   {}\n\n\t{} \n"
    (result,) = translator.translate([text.format(*sentences)])
    assert result.text == text.format(first, second, third)


def test_the_score_of_a_text_is_the_sum_over_its_sentences(
    translator: Translator, echoes: None
) -> None:
    (result,) = translator.translate(["El gato.\nLa niña ve agua."])
    assert (
        result.score
        == -len(result.tokens)
        == -sum(len(translator.tokenizer.encode(text)) for text in ("El gato.", "La niña ve agua."))
    )
    assert "".join(result.tokens) == "▁El▁gato.▁La▁niña▁ve▁agua."


@pytest.mark.parametrize(
    "text",
    [LONG * 30, LONG.replace(" ", "") * 90, "a" * 5000, "¡Qué " + "casa, " * 400 + "no!"],
    ids=["words", "letters", "a", "clauses"],
)
def test_a_very_long_text_is_translated_whole(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    seen = watched(monkeypatch)
    (result,) = translator.translate([text])
    assert result.text == text
    assert max(width for _, width in seen) <= translator.config.max_len // 2
    assert len(result.tokens) > 10 * translator.config.max_len


def test_a_very_long_text_passes_through_the_model(translator: Translator) -> None:
    (result,) = translator.translate([LONG * 7 + "b" * 300])
    assert result.text
    assert result.score < 0


@hypothesis.given(
    strategies.lists(strategies.text("abñÁ .,!?¿\n\t1€中😀", max_size=60), max_size=4)
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_no_text_is_lost_or_moved(translator: Translator, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "search", echo)
        results = translator.translate(texts)
    assert [result.source for result in results] == texts
    for text, result in zip(texts, results, strict=True):
        assert result.text.split() == text.split()
        assert re.findall(r"^\s*|\n|\s*$", result.text) == re.findall(r"^\s*|\n|\s*$", text)


def test_a_translated_sentence_is_one_line_without_white_space_around_it(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = translator.tokenizer.pieces(range(translator.config.vocab_size))
    ids = tuple(pieces.index(piece) for piece in ("▁", "<0x0A>", "a", "<0x0A>", "<0x0D>", "b", "▁"))
    monkeypatch.setattr(search_module, "search", lambda *_, **__: [[Hypothesis(ids, -1.0)]])
    assert translator.translate(["Hola.\n"])[0].text == "a b\n"


def test_a_character_that_fits_no_model_is_an_error(phrase_tokenizer: Tokenizer) -> None:
    config = ModelConfig(
        vocab_size=phrase_tokenizer.vocab_size, d_model=4, n_heads=1, n_encoder_layers=1,
        n_decoder_layers=1, d_ff=4, max_len=4,
    )  # fmt: skip
    small = Translator.from_model(Transformer(config), phrase_tokenizer, ("es", "en"))
    with pytest.raises(UserError, match="expected room for a character, but '中'"):
        small.translate(["中"])


# The search


def test_the_n_best_translations_come_best_first(translator: Translator) -> None:
    (result,) = translator.translate(["El gato ve la casa."], DecodeConfig(beam_size=4, n_best=3))
    assert len(result.candidates) == 3
    assert len({candidate.tokens for candidate in result.candidates}) == 3
    scores = [candidate.score for candidate in result.candidates]
    assert scores == sorted(scores, reverse=True)
    assert (result.text, result.score, result.tokens) == (
        result.candidates[0].text, scores[0], result.candidates[0].tokens
    )  # fmt: skip


def test_the_kth_translation_of_a_text_is_made_of_the_kth_of_its_sentences(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = translator.tokenizer.encode
    found = {"agua": [("water", -1.0), ("wet", -2.0), ("sea", -4.0)], "Nadie": [("nobody", -0.5)]}

    def search(
        model: Transformer, src: Tensor, config: DecodeConfig, **_: object
    ) -> list[list[Hypothesis]]:
        answers = [found[translator.tokenizer.decode(content(row))] for row in src]
        return [[Hypothesis(tuple(encode(t)), score) for t, score in texts] for texts in answers]

    monkeypatch.setattr(search_module, "search", search)
    (result,) = translator.translate(["agua\nNadie"], DecodeConfig(beam_size=3, n_best=3))
    assert [(c.text, c.score) for c in result.candidates] == [
        ("water\nnobody", -1.5), ("wet\nnobody", -2.5), ("sea\nnobody", -4.5)
    ]  # fmt: skip


@pytest.mark.parametrize(("budget", "beam_size"), [(1, 1), (40, 1), (40, 2), (4096, 1)])
def test_batches_keep_to_their_budget_and_change_no_translation(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, budget: int, beam_size: int
) -> None:
    shapes = watched(monkeypatch)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # two workers' order is by chance
    texts = [text for text in TEXTS if text != "Hoy.\n\n  Mañana.\n"]
    results = translator.translate(texts, DecodeConfig(batch_tokens=budget, beam_size=beam_size))
    assert [result.text for result in results] == texts
    assert all(n == 1 or n * width * beam_size <= budget for n, width in shapes)
    assert sum(n for n, _ in shapes) == 8  # sentences with words, the longest in three pieces
    widths = [width for _, width in shapes]
    assert widths == sorted(widths, reverse=True)


# Streams


@pytest.mark.parametrize("window", [1, 3, 100])
def test_a_stream_gives_what_the_texts_at_once_give(
    translator: Translator, echoes: None, window: int
) -> None:
    streamed = list(translator.stream(iter(TEXTS * 3), window=window))
    assert streamed == translator.translate(TEXTS * 3)
    assert list(translator.stream([])) == []


def test_a_translation_comes_before_the_next_line_is_there(translator: Translator) -> None:
    arrived = threading.Event()

    def lines() -> Iterator[str]:
        yield "El gato."
        if not arrived.wait(60):
            raise TimeoutError("no translation of the first line within a minute")
        yield "La niña."

    stream = translator.stream(lines())
    assert next(stream).source == "El gato."
    arrived.set()
    assert next(stream).source == "La niña."
    with pytest.raises(StopIteration):
        next(stream)


def test_a_stream_reads_at_most_two_windows_ahead(translator: Translator, echoes: None) -> None:
    n_read, window, sizes = 0, 5, []

    def lines() -> Iterator[str]:
        nonlocal n_read
        for number in range(100):
            n_read = number + 1
            yield f"línea {number}"

    class Slow(Translator):
        def translate_segments(
            self, sentences: Sequence[Segment], decode: DecodeConfig = translate.GREEDY
        ) -> list[Translation]:
            time.sleep(0.002)  # meanwhile lines are read
            sizes.append(len(sentences))
            return super().translate_segments(sentences, decode)

    slow = Slow(translator.decoder, translator.tokenizer, ("es", "en"))
    for number, result in enumerate(slow.stream(lines(), window=window)):
        assert result.source == f"línea {number}"
        assert n_read - number <= 2 * window + 2
    assert number == 99
    assert 1 < max(sizes) <= window


def test_an_error_in_the_source_comes_out_after_what_was_read_before_it(
    translator: Translator, echoes: None
) -> None:
    def lines() -> Iterator[str]:
        yield "uno"
        yield "dos"
        raise UserError("line 3 is no text")

    stream = translator.stream(lines())
    assert [next(stream).text, next(stream).text] == ["uno", "dos"]
    with pytest.raises(UserError, match="line 3 is no text"):
        next(stream)


def test_a_stream_that_is_left_early_stops_reading(translator: Translator, echoes: None) -> None:
    before = threading.active_count()
    stream = translator.stream(itertools.repeat("hola"), window=2)
    assert next(stream).text == "hola"
    assert isinstance(stream, Iterator)
    stream.close()  # type: ignore[attr-defined]
    end = time.monotonic() + 60
    while threading.active_count() > before:
        assert time.monotonic() < end, "the reader is still there"
        time.sleep(0.01)


# Opening


def test_a_translator_says_what_it_is(translator: Translator, random_checkpoint: Path) -> None:
    assert (translator.src_lang, translator.tgt_lang) == ("es", "en")
    assert translator.name == str(random_checkpoint)
    assert translator.device == "cpu"
    assert not translator.model.training


def test_the_device_is_picked_by_name() -> None:
    assert select_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert select_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "", "cpu cpu"])
def test_a_device_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(UserError, match=f"expected a device such as cpu or cuda, got '{name}'"):
        select_device(name)


def test_a_string_gives_one_translation_which_prints_as_its_text(translator: Translator) -> None:
    found = translator.translate(TEXTS[0])
    assert found == translator.translate([TEXTS[0]])[0]
    assert str(found) == f"{found}" == found.text
    assert translator.translate(iter(TEXTS[:1])) == [found]
    assert len(translator.translate(TEXTS[0], n_best=2).candidates) == 2
    assert [*translator.stream(iter(TEXTS[:1]), beam_size=2)] == [
        translator.translate(TEXTS[0], DecodeConfig(beam_size=2))
    ]
    assert repr(translator) == f"<Translator es-en of {translator.name} on cpu>"
