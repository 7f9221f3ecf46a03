"""What is shown of a translation is what the model did; as pictures by suffix, steps as text."""

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transformer import cli
from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig, UserError
from transformer.explain.alignment import Trace, align, alternatives
from transformer.explain.trace import (
    best_alignment_layer,
    explain,
    format_trace,
    save_picture,
    trace,
)
from transformer.model import KV, MultiHeadAttention, Transformer, source_batch
from transformer.text.tokenizer import Tokenizer
from transformer.translation.translator import Translator

RELEASED = Path(__file__).resolve().parents[2] / "checkpoints" / "es-en"


TEXT = "La niña dibuja el coche rojo hoy."
SENTENCE = "El gato ve la casa."


@pytest.fixture(params=["pre", "post"])
def translator(
    request: pytest.FixtureRequest,
    make_model: Callable[..., Transformer],
    phrase_tokenizer: Tokenizer,
) -> Translator:
    """A random model of two encoder and three decoder layers."""
    model = make_model(
        vocab_size=phrase_tokenizer.vocab_size, max_len=64, n_decoder_layers=3, norm=request.param
    )
    return Translator.from_model(model, phrase_tokenizer, ("es", "en"), "float32")


@pytest.fixture
def traced(translator: Translator) -> Trace:
    return trace(translator, TEXT)


def test_the_shapes_are_those_of_model_and_sentence(translator: Translator, traced: Trace) -> None:
    n_source, n_target = len(traced.source_ids), len(traced.target_ids)
    assert n_source != n_target
    assert traced.encoder.shape == (2, 3, n_source, n_source)
    assert traced.decoder.shape == (3, 3, n_target, n_target)
    assert traced.cross.shape == (3, 3, n_target, n_source)
    assert len(traced.probabilities) == len(traced.steps) == len(traced.target_pieces) == n_target
    assert traced.source_pieces[-1] == traced.target_pieces[-1] == "</s>"
    assert {len(step) for step in traced.steps} == {10}


def test_what_is_traced_is_the_translation(translator: Translator, traced: Trace) -> None:
    translation = translator.translate([TEXT])[0]
    assert traced.target == translation.text
    assert traced.target_pieces[:-1] == translation.tokens
    beams = DecodeConfig(beam_size=3)
    assert (
        trace(translator, TEXT, decode=beams).target == translator.translate([TEXT], beams)[0].text
    )


def test_rows_sum_to_one_and_nothing_looks_ahead(traced: Trace) -> None:
    for maps in (traced.encoder, traced.decoder, traced.cross):
        torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:-1]))
    assert not traced.decoder.triu(1).any()
    assert (traced.decoder.tril().sum((0, 1)).diagonal() > 0).all()


def test_the_maps_times_the_values_are_what_attention_gave(
    translator: Translator, traced: Trace
) -> None:
    """Each module's output, computed from its map by hand, in the order in which they run."""
    model = translator.model
    ran: list[tuple[MultiHeadAttention, KV, Tensor]] = []

    def record(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        assert isinstance(module, MultiHeadAttention)
        ran.append((module, inputs[1], output))

    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.register_forward_hook(record)
    with torch.inference_mode():
        model(torch.tensor([traced.source_ids]), torch.tensor([[BOS_ID, *traced.target_ids[:-1]]]))
        decoder = [one for pair in zip(traced.decoder, traced.cross, strict=True) for one in pair]
        for (attend, kv, output), weights in zip(ran, [*traced.encoder, *decoder], strict=True):
            heads = (weights @ kv.value[0]).transpose(0, 1).flatten(1)
            torch.testing.assert_close(attend.out(heads), output[0], atol=1e-5, rtol=1e-5)


def test_a_trace_leaves_the_model_as_it_was(translator: Translator, traced: Trace) -> None:
    assert not [m for m in translator.model.modules() if m._forward_hooks]


def test_the_choices_are_those_of_decoding_step_by_step(
    translator: Translator, traced: Trace
) -> None:
    model = translator.model
    read = [BOS_ID, *traced.target_ids]
    with torch.inference_mode():
        state = model.encode(torch.tensor([traced.source_ids]))
        for step, choices in enumerate(traced.steps):
            logits, state = model.decode(torch.tensor([read[step : step + 1]]), state)
            expected, ids = logits[0, 0].softmax(-1).topk(10)
            assert [choice.id for choice in choices] == ids.tolist()
            assert [c.probability for c in choices] == pytest.approx(expected.tolist(), rel=1e-3)
            own = logits[0, 0].softmax(-1)[traced.target_ids[step]]
            assert traced.probabilities[step] == pytest.approx(float(own), rel=1e-3)
            pieces = translator.tokenizer.pieces(choice.id for choice in choices)
            assert tuple(choice.piece for choice in choices) == pieces


def test_words_are_aligned_by_the_mean_of_the_last_layer(traced: Trace) -> None:
    found = traced.alignment()
    assert len(found) == len(traced.target_words)
    for row, target in zip(found, traced.target_words, strict=True):
        assert sum(row) <= 1 + 1e-5
        for value, source in zip(row, traced.source_words, strict=True):
            cut = traced.cross[-1, :, target.first : target.last, source.first : source.last]
            assert value == pytest.approx(float(cut.sum(-1).mean()), rel=1e-4)


def test_an_alignment_is_that_of_the_trace(translator: Translator, traced: Trace) -> None:
    for aligned in align(translator, ["Un libro.", TEXT])[1:]:
        assert aligned.target_ids == traced.target_ids
        assert aligned.attention == pytest.approx(traced.attention, abs=1e-5)
        assert aligned.probabilities == pytest.approx(traced.probabilities, rel=1e-3)


def test_a_word_is_as_likely_as_its_pieces_together(traced: Trace) -> None:
    for word, found in zip(traced.target_words, traced.confidence(), strict=True):
        expected = 1.0
        for value in traced.probabilities[word.first : word.last]:
            expected *= value
        assert found == pytest.approx(expected, rel=1e-3)


def test_a_forced_prefix_stays_and_the_rest_follows_from_it(
    translator: Translator, traced: Trace
) -> None:
    prefix = [traced.target_ids[0], 20, 30]
    found = trace(translator, TEXT, prefix)
    assert found.target_ids[:3] == tuple(prefix)
    again = trace(translator, TEXT, found.target_ids[:5])
    length = len(found.target_ids) - 1  # a prefix comes on top of the longest translation
    assert again.target_ids[:length] == found.target_ids[:length]
    ended = trace(translator, TEXT, [20, EOS_ID])
    assert ended.target_ids == (20, EOS_ID)


def test_alternatives_are_the_likeliest_words(translator: Translator, traced: Trace) -> None:
    found = alternatives(translator, TEXT, traced.target_ids[:1], k=5)
    assert 1 <= len(found) <= 5
    assert len({one.text for one in found}) == len(found)
    assert [one.probability for one in found] == sorted(
        (one.probability for one in found), reverse=True
    )
    likeliest = {choice.id for choice in traced.steps[1][:7]}  # padding and start may be among them
    assert {one.ids[0] for one in found} <= likeliest
    for one in found:
        again = trace(translator, TEXT, [*traced.target_ids[:1], *one.ids])
        product = torch.tensor(again.probabilities[1 : 1 + len(one.ids)]).prod()
        assert one.probability == pytest.approx(float(product), rel=1e-3)
        assert one.pieces == again.target_pieces[1 : 1 + len(one.ids)]


def test_the_word_that_was_chosen_is_among_its_alternatives() -> None:
    translator = Translator.load(RELEASED, "cpu")
    found = trace(translator, TEXT)
    assert len(found.target_words) > 4
    for word in found.target_words:
        options = alternatives(translator, TEXT, found.target_ids[: word.first])
        assert any(found.target_ids[word.first :][: len(one.ids)] == one.ids for one in options), (
            word
        )


def test_the_end_is_an_alternative_too(translator: Translator) -> None:
    bias = translator.model.embedding.weight
    with torch.no_grad():
        bias[EOS_ID] *= 50.0
    found = {one.text: one for one in alternatives(translator, TEXT, (), k=40)}
    assert found[""].ids == (EOS_ID,)


@pytest.mark.parametrize("text", ["", "  ", "agua " * 40])
def test_what_is_not_one_sentence_is_refused(translator: Translator, text: str) -> None:
    with pytest.raises(UserError, match="expected one sentence of 1 to 31 pieces"):
        trace(translator, text)


@pytest.mark.parametrize("prefix", [[PAD_ID], [-1], [99_999], [EOS_ID, 20], [20] * 63])
def test_a_prefix_that_cannot_stand_is_refused(translator: Translator, prefix: list[int]) -> None:
    with pytest.raises(UserError, match="expected a prefix of at most 62 ids"):
        trace(translator, TEXT, prefix)
    with pytest.raises(UserError, match="expected a prefix of at most 62 ids"):
        alternatives(translator, TEXT, prefix)


def test_a_source_of_the_longest_size_can_be_traced(translator: Translator) -> None:
    text = "agua " * 5
    while len(translator.tokenizer.encode(f"{text} agua")) < 32:
        text = f"{text} agua"
    found = trace(translator, text)
    assert found.source_ids == tuple(source_batch([translator.tokenizer.encode(text)])[0].tolist())
    assert alternatives(translator, text, [20] * 62)


@pytest.fixture(scope="module")
def opened(random_checkpoint: Path) -> Translator:
    return Translator.load(random_checkpoint, "cpu", "float32")


@pytest.fixture(scope="module")
def told(opened: Translator) -> Trace:
    ids = [*opened.tokenizer.encode("The cat sees the house."), EOS_ID]
    return trace(opened, SENTENCE, ids)


def test_the_sharpest_layer_is_the_one_that_looks_at_single_pieces() -> None:
    vague, sharp = torch.full((2, 4, 5), 0.2), torch.eye(4, 5).expand(2, 4, 5)
    assert best_alignment_layer(torch.stack([vague, sharp])) == 1
    assert best_alignment_layer(torch.stack([sharp, vague])) == 0


def test_looking_at_the_end_mark_is_no_alignment() -> None:
    resting = torch.zeros(2, 4, 5)
    resting[:, :, -1] = 1
    assert best_alignment_layer(torch.stack([resting, torch.full((2, 4, 5), 0.2)])) == 1


def test_every_step_is_told(told: Trace) -> None:
    text = "\n".join(format_trace(told))
    steps = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    assert steps == [str(n + 1) for n in range(len(told.target_ids))]
    assert text.count("likeliest: ") == text.count("looks at: ") == len(steps)
    assert text.endswith(f"translation: {told.target}")
    first = told.steps[0][0]
    assert f"{first.piece} {first.probability:.3f}" in text


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_the_suffix_says_what_is_drawn(told: Trace, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"map{suffix}"
    save_picture(told, file)
    drawn = file.read_bytes()
    if suffix == ".png":
        assert drawn.startswith(b"\x89PNG")
        return
    text = drawn.decode()
    assert all(piece in text for piece in told.source_pieces[:-1])
    if suffix == ".svg":
        ET.fromstring(text)
    else:
        assert text.startswith("<!DOCTYPE html>")
        assert "likeliest" in text


def test_a_folder_that_is_not_there_is_told(told: Trace, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        save_picture(told, tmp_path / "no" / "map.svg")


def test_a_picture_is_of_one_sentence(opened: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected one sentence for --attention, got 2"):
        list(explain(opened, ["Hola. Adiós."], tmp_path / "map.svg"))


def test_without_matplotlib_one_line_says_what_to_install(
    told: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match="install the extra `plots`"):
        save_picture(told, tmp_path / "map.png")


def test_the_command_explains_each_sentence_and_draws_one(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--from", "es", "--to", "en", "--model", str(random_checkpoint)]
    assert cli.main([*common, "--explain", "Hola. El gato ve la casa."]) == 0
    assert capsys.readouterr().out.count("translation: ") == 2
    picture = tmp_path / "map.svg"
    assert cli.main([*common, "--attention", str(picture), SENTENCE]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert picture.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--attention", "map.jpg"], "expected .png, .svg, .html for --attention, got map.jpg"),
        (["--explain", "--json"], "expected --json, or --explain and --attention, got both"),
    ],
)
def test_mistakes_are_told_in_one_line(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*options, "Hola."]) == 2
    assert capsys.readouterr().err == f"translate: {message}\n"
