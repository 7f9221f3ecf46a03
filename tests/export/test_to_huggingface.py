"""Exports to Hugging Face Transformers: the same logits, ids, texts and translations."""

import contextlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from tests.processes import ROOT, shipped
from transformer import DecodeConfig
from transformer.checkpoint import weights
from transformer.config import BOS_ID, EOS_ID, PAD_ID, Direction, ModelConfig, UserError, target_tag
from transformer.corpus.batching import collate
from transformer.decoding.search import greedy_search
from transformer.export.export import SENTENCES, ExportRequest, export
from transformer.export.to_huggingface import (
    check_tokenizer,
    open_huggingface,
    to_huggingface_model,
)
from transformer.model import Transformer, source_batch
from transformer.text.tokenizer import Tokenizer

transformers = pytest.importorskip("transformers", reason="needs the extra `export`")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

SHAPES: list[dict[str, Any]] = [
    {},
    {"activation": "gelu"},
    {"n_encoder_layers": 3, "n_decoder_layers": 1, "n_heads": 1},
    {"n_encoder_layers": 1, "n_decoder_layers": 3, "d_model": 30, "d_ff": 7},
    {"norm": "pre"},
    {"norm": "pre", "activation": "gelu", "n_encoder_layers": 3, "n_decoder_layers": 1},
]


@pytest.fixture(scope="module", params=["post", "pre"])
def trained(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    phrases: list[tuple[str, str]],
    phrase_tokenizer: Tokenizer,
) -> Path:
    """A checkpoint that has learnt most of the small language in a few seconds."""
    config = ModelConfig(
        vocab_size=phrase_tokenizer.vocab_size, d_model=48, n_heads=3, n_encoder_layers=2,
        n_decoder_layers=1, d_ff=96, max_len=64, dropout=0.0, norm=request.param,
    )  # fmt: skip
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more only wait for each other: the matrices are small
    torch.manual_seed(1)
    model = Transformer(config)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3, betas=(0.9, 0.98))
    pairs = [tuple(phrase_tokenizer.encode(side) for side in pair) for pair in phrases[64:]]
    for step in range(200):
        for group in optimiser.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 30)
        start = 32 * step % 800
        batch = collate([(src, tgt) for src, tgt in pairs[start : start + 32]])
        logits = model(batch.src, batch.tgt_in).flatten(0, 1)
        loss = F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=PAD_ID)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.set_num_threads(threads)
    folder = tmp_path_factory.mktemp("run") / "best"
    weights.save(folder, model.state_dict(), config, phrase_tokenizer, [("es", "en")], "# A test\n")
    return folder


@pytest.fixture(scope="module")
def exported(trained: Path, phrases: list[tuple[str, str]]) -> Path:
    """Its folder for Transformers."""
    folder = trained.parent / "huggingface"
    texts = [src for src, _ in phrases[:64]]
    found = export(
        ExportRequest(model=trained, folder=folder, target="huggingface", texts=tuple(texts))
    )
    assert (found.n_sentences, found.n_ties) == (len(SENTENCES) + 64, 0)
    return folder


@pytest.fixture(scope="module")
def opened(exported: Path) -> tuple[Any, Any]:
    return open_huggingface(exported)


def ours(trained: Path, texts: list[str]) -> list[str]:
    """Our greedy translations, as long as the model has positions."""
    found = weights.load(trained)
    src = source_batch([found.tokenizer.encode(text) for text in texts])
    best = greedy_search(found.model, src, DecodeConfig(max_ratio=100))
    return [found.tokenizer.decode(hypothesis.ids) for hypothesis in best]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
def test_logits_are_the_models(
    make_model: Callable[..., Transformer], shape: dict[str, Any]
) -> None:
    model = make_model(**shape)
    src = source_batch([[4, 9, 11, 5, 6], [12, 7]])
    tgt = torch.tensor([[BOS_ID, 8, 4, 10, 12, 5, 6], [BOS_ID, 11, 9, 9, 3, 7, 4]])
    theirs = to_huggingface_model(model)(
        input_ids=src, attention_mask=(src != PAD_ID).long(), decoder_input_ids=tgt
    ).logits
    torch.testing.assert_close(theirs, model(src, tgt), atol=1e-4, rtol=0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_weight_has_its_place(make_model: Callable[..., Transformer], norm: str) -> None:
    """A second model filled with the same weights gets all of them; there are no more."""
    model = make_model(norm=norm)
    theirs = to_huggingface_model(model)
    fixed = {"embed_positions"}
    sizes = {p.data_ptr(): p.numel() for name, p in theirs.named_parameters()
             if not any(part in name for part in fixed)}  # fmt: skip
    assert sum(sizes.values()) == sum(p.numel() for p in model.parameters())


def test_learned_positions_are_refused_in_a_sentence(
    make_model: Callable[..., Transformer],
) -> None:
    with pytest.raises(UserError, match="expected a model with --positions sinusoidal, as Marian"):
        to_huggingface_model(make_model(positions="learned"))


def test_the_folder_translates_as_the_checkpoint(
    trained: Path, opened: tuple[Any, Any], phrases: list[tuple[str, str]]
) -> None:
    model, tokenizer = opened
    texts = [src for src, _ in phrases[:64]]
    expected = ours(trained, texts)
    right = sum(text == tgt for text, (_, tgt) in zip(expected, phrases[:64], strict=True))
    assert right > 40, "it has learnt too little to tell anything"
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    ids = model.generate(**batch)
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == expected


def test_the_settings_of_the_generation_are_those_of_our_search(
    opened: tuple[Any, Any], trained: Path
) -> None:
    model, tokenizer = opened
    settings = model.generation_config
    assert settings.max_length == 1 + weights.load(trained).model.config.max_len
    assert settings.bad_words_ids == [[PAD_ID], [BOS_ID]]
    assert settings.decoder_start_token_id == BOS_ID
    assert (settings.num_beams or 1) == 1
    ids = [settings.pad_token_id, settings.bos_token_id, settings.eos_token_id]
    assert ids == [PAD_ID, BOS_ID, EOS_ID]
    names = [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id]
    assert names == [PAD_ID, BOS_ID, EOS_ID]


@given(text=st.text(max_size=40).filter(lambda text: not text.startswith(">>")))
def test_the_tokenizer_cuts_and_joins_any_text_as_ours(
    opened: tuple[Any, Any], phrase_tokenizer: Tokenizer, text: str
) -> None:
    check_tokenizer(opened[1], phrase_tokenizer, [text, f"a </s> {text} <pad><unk>"])


def test_a_language_code_is_told(opened: tuple[Any, Any], phrase_tokenizer: Tokenizer) -> None:
    with pytest.raises(
        UserError, match=r"expected MarianTokenizer to cut '>>es<< Hola' into the ids"
    ):
        check_tokenizer(opened[1], phrase_tokenizer, [">>es<< Hola"])


def test_the_usage_of_the_folder_works(
    exported: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first lines with any version, the pipeline where there is one."""
    readme = (exported / "README.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in readme.split("```python\n")[1:]]
    has_pipeline = int(transformers.__version__.split(".")[0]) < 5
    monkeypatch.chdir(exported)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for code in blocks[: 1 + has_pipeline]:
            exec(code, {})
    (expected,) = ours(trained, ["¿Dónde está la biblioteca?"])
    lines = [str([expected]), str([{"translation_text": expected}])]
    assert said.getvalue().splitlines() == lines[: 1 + has_pipeline]


@pytest.mark.parametrize("langs", [None, ("en", "es")])
def test_a_folder_of_one_of_two_directions_tells_the_model_which(
    both_checkpoint: Path, tmp_path: Path, langs: Direction | None
) -> None:
    folder, ours = tmp_path / "new", weights.load(both_checkpoint).tokenizer
    export(ExportRequest(model=both_checkpoint, folder=folder, target="huggingface", langs=langs))
    name = target_tag("es" if langs else "en")
    assert f"`{name}`" in (folder / "README.md").read_text(encoding="utf-8")
    _, theirs = open_huggingface(folder)
    texts = ("El gato ve la casa.", "<2es> a </s> <s>", " ", "1 << 2", "東京 😀")
    check_tokenizer(theirs, ours, texts, [ours.tag_id(name)])
    labels = theirs(text_target=texts[0]).input_ids  # as the folder says of its tokeniser
    assert labels == [BOS_ID, *ours.encode(texts[0]), EOS_ID]


def test_another_model_in_the_folder_is_told_and_leaves_none(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(model: Any) -> Callable[[Tensor, int], list[list[int]]]:
        return lambda src, most: [[5, 6]] * src.size(0)

    monkeypatch.setattr("transformer.export.to_huggingface.huggingface_search", other)
    with pytest.raises(
        UserError, match=r"expected Transformers to translate '.+' as the model does"
    ):
        export(ExportRequest(model=trained, folder=tmp_path / "new", target="huggingface"))
    assert os.listdir(tmp_path) == []


def test_other_names_of_weights_are_told(
    make_model: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Renamed(nn.Linear):
        def __init__(self, config: object) -> None:
            super().__init__(2, 3)

    monkeypatch.setattr("transformers.MarianMTModel", Renamed)
    with pytest.raises(RuntimeError, match="expected other names of weights; transformers"):
        to_huggingface_model(make_model())


def test_without_the_library_the_extra_is_named(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r'pip install -e "\.\[export\]"'):
        export(ExportRequest(model=trained, folder=tmp_path / "new", target="huggingface"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["es-en", "en-es"])
def test_the_released_models_translate_alike(tmp_path: Path, name: str) -> None:
    texts = tuple(pair[name.startswith("en")] for pair in shipped("test")[:300])
    for target in ("huggingface", "ctranslate2"):
        request = ExportRequest(
            model=ROOT / "checkpoints" / name, folder=tmp_path / target, target=target, texts=texts
        )
        found = export(request)
        assert found.n_sentences > 300
        assert found.n_ties < 3
