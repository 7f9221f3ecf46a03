"""Exports to CTranslate2: the same numbers, the same translations, or no folder at all."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import pytest
import torch

from scripts import export as script
from transformer.checkpoint import weights
from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig, UserError
from transformer.decoding.search import greedy_search
from transformer.export.export import SENTENCES, ExportRequest, Target, export
from transformer.export.to_ctranslate2 import (
    Quantization,
    ctranslate2_search,
    open_ctranslate2,
    to_ctranslate2,
    vocabulary,
)
from transformer.model import Transformer, source_batch

pytest.importorskip("ctranslate2", reason="needs the extra `export`")

ROOT = Path(__file__).resolve().parents[2]
RELEASED = ROOT / "checkpoints" / "es-en"
SHAPES = [
    {"norm": norm, "positions": positions, "activation": activation}
    for norm, positions, activation in itertools.product(
        ("pre", "post"), ("sinusoidal", "learned"), ("relu", "gelu")
    )
] + [
    {"norm": "pre", "n_encoder_layers": 3, "n_decoder_layers": 1},
    {"norm": "post", "n_encoder_layers": 1, "n_decoder_layers": 3, "n_heads": 1},
]
SOURCES = [[4, 9, 11], [5], [12, 7, 4, 4, 8, 10, 6], [9, 9]]
TARGETS = [[8, 4], [10, 12, 5, 6, 7], [11], [4, 9, 3]]


def words(rows: list[list[int]]) -> list[list[str]]:
    """Ids as the words of a model without a tokeniser."""
    pieces = vocabulary(None, 13)
    return [[pieces[i] for i in row] for row in rows]


def request(
    model: Path, folder: Path, target: Target, quantization: Quantization = "none",
    texts: Sequence[str] = (),
) -> ExportRequest:  # fmt: skip
    return ExportRequest(
        model=model, folder=folder, target=target, quantization=quantization, texts=tuple(texts)
    )


def siblings(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
def test_log_probabilities_are_the_models(
    make_model: Callable[..., Transformer], shape: dict[str, object], tmp_path: Path
) -> None:
    model = make_model(**shape)
    to_ctranslate2(model, None, tmp_path)
    translator = open_ctranslate2(tmp_path, compute_type="float32")
    results = translator.score_batch(words(SOURCES), words(TARGETS))
    for src, tgt, result in zip(SOURCES, TARGETS, results, strict=True):
        logits = model(source_batch([src]), torch.tensor([[BOS_ID, *tgt]]))[0]
        logits[:, [PAD_ID, BOS_ID]] = -torch.inf  # they never follow
        expected = logits.log_softmax(-1)[range(len(tgt) + 1), [*tgt, EOS_ID]]
        torch.testing.assert_close(torch.tensor(result.log_probs), expected, atol=1e-4, rtol=0)


def test_greedy_translations_are_the_models(
    make_wanderer: Callable[..., Transformer], tmp_path: Path
) -> None:
    model = make_wanderer()
    to_ctranslate2(model, None, tmp_path)
    search = ctranslate2_search(
        open_ctranslate2(tmp_path, compute_type="float32"), vocabulary(None, 13)
    )
    random = torch.Generator().manual_seed(3)
    src = source_batch([
        torch.randint(4, 13, (length,), generator=random).tolist()
        for length in (3, 7, 5, 6, 2, 4, 6, 1)
    ])  # fmt: skip
    ours = [list(h.ids) for h in greedy_search(model, src, DecodeConfig(max_ratio=100))]
    assert len({tuple(row) for row in ours}) > 4, "too alike to tell anything"
    assert search(src, model.config.max_len - 1) == ours


def test_an_empty_translation_is_one(
    make_model: Callable[..., Transformer], tmp_path: Path
) -> None:
    model = make_model()
    with torch.no_grad():
        state = model.decode_hidden(torch.tensor([[BOS_ID]]), model.encode(source_batch([[5, 6]])))[
            0
        ]
        model.embedding.weight[EOS_ID] = state[0, 0]  # what the first step looks for
    src = source_batch([[5, 6]])
    assert greedy_search(model, src)[0].ids == ()
    to_ctranslate2(model, None, tmp_path)
    search = ctranslate2_search(open_ctranslate2(tmp_path), vocabulary(None, 13))
    assert search(src, 9) == [[]]


@pytest.mark.parametrize("quantization", get_args(Quantization))
def test_every_quantization_opens_and_leaves_the_model_as_it_was(
    make_model: Callable[..., Transformer], quantization: Quantization, tmp_path: Path
) -> None:
    model = make_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    to_ctranslate2(model, None, tmp_path, quantization)
    results = open_ctranslate2(tmp_path, compute_type="auto").translate_batch(
        words(SOURCES), max_decoding_length=5
    )
    assert len(results) == len(SOURCES)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_int8_weights_take_about_a_quarter(
    make_model: Callable[..., Transformer], tmp_path: Path
) -> None:
    model = make_model(d_model=96, d_ff=384, vocab_size=400)
    sizes: dict[Quantization, int] = {}
    for quantization in get_args(Quantization):
        to_ctranslate2(model, None, tmp_path / quantization, quantization)
        sizes[quantization] = (tmp_path / quantization / "model.bin").stat().st_size
    n_bytes = 4 * sum(p.numel() for p in model.parameters())
    assert n_bytes < sizes["none"] < 1.05 * n_bytes, "the embeddings are stored once"
    assert sizes["int8"] < 0.3 * sizes["none"]
    assert 0.49 < sizes["float16"] / sizes["none"] < 0.51


def test_the_released_model_goes_over_whole(tmp_path: Path) -> None:
    """And the usage line of the folder gives the translation of the model."""
    folder = tmp_path / "new" / "es-en"
    texts = ["Tengo hambre.", "", "Tengo hambre.", "Mañana voy a la playa."]
    found = export(request(RELEASED, folder, "ctranslate2", "int8", texts))
    assert (found.n_sentences, found.n_ties) == (len(SENTENCES) + 2, 0)
    assert 0 < found.n_quantized <= found.n_sentences
    assert siblings(folder) == ["es-en"]
    assert {path.name for path in folder.iterdir()} == {
        *("README.md", "CARD.md", "config.json"),
        *("model.bin", "shared_vocabulary.json", "tokenizer.model"),
    }
    opened = weights.load(RELEASED)
    assert (folder / "tokenizer.model").read_bytes() == opened.tokenizer.model
    pieces = json.loads((folder / "shared_vocabulary.json").read_text(encoding="utf-8"))
    assert tuple(pieces) == opened.tokenizer.pieces(range(opened.tokenizer.vocab_size))

    readme = (folder / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    source = source_batch([opened.tokenizer.encode("¿Dónde está la biblioteca?")])
    expected = opened.tokenizer.decode(greedy_search(opened.model, source)[0].ids)
    assert (done.returncode, done.stdout.strip()) == (0, expected), done.stderr


@pytest.mark.parametrize(
    ("direction", "name"), [([], "<2en>"), (["--direction", "en-es"], "<2es>")]
)
def test_a_folder_of_one_of_two_directions_tells_the_model_which(
    both_checkpoint: Path, tmp_path: Path, direction: list[str], name: str
) -> None:
    folder, opened = tmp_path / "new", weights.load(both_checkpoint)
    arguments = ["--model", str(both_checkpoint), "--to", "ctranslate2", "--output", str(folder)]
    assert script.main([*arguments, *direction]) == 0
    assert f"`{name}`" in (folder / "README.md").read_text(encoding="utf-8")
    src, tgt = opened.tokenizer.encode("El gato ve la casa."), [20, 9]
    (result,) = open_ctranslate2(folder, compute_type="float32").score_batch(
        [opened.tokenizer.pieces(src)], [opened.tokenizer.pieces(tgt)]
    )
    scores = {}
    for tag in ("<2en>", "<2es>"):
        tagged = source_batch([[opened.tokenizer.tag_id(tag), *src]])
        logits = opened.model(tagged, torch.tensor([[BOS_ID, *tgt]]))[0]
        logits[:, [PAD_ID, BOS_ID]] = -torch.inf  # they never follow
        scores[tag] = logits.log_softmax(-1)[range(len(tgt) + 1), [*tgt, EOS_ID]].tolist()
    assert result.log_probs == pytest.approx(scores[name], abs=1e-4)
    assert scores["<2en>"] != pytest.approx(scores["<2es>"], abs=1e-3)


def test_a_direction_that_the_model_has_not_is_told(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--model", str(random_checkpoint), "--output", str(tmp_path / "new")]
    assert script.main([*arguments, "--to", "ctranslate2", "--direction", "en-es"]) == 2
    assert "expected a model for en-es, but" in capsys.readouterr().err


def test_a_model_that_translates_otherwise_leaves_no_folder(
    random_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoiled(model: Transformer, *rest: object) -> None:
        with torch.no_grad():
            model.decoder_norm.get_parameter("bias").add_(torch.arange(16.0))
        to_ctranslate2(model, *rest)  # type: ignore[arg-type]
        with torch.no_grad():
            model.decoder_norm.get_parameter("bias").sub_(torch.arange(16.0))

    monkeypatch.setattr("transformer.export.to_ctranslate2.to_ctranslate2", spoiled)
    with pytest.raises(UserError, match=r"expected CTranslate2 to translate '.+' as the model"):
        export(request(random_checkpoint, tmp_path / "new", "ctranslate2"))
    assert not list(tmp_path.iterdir())


def test_a_tie_is_counted_and_no_fault(
    random_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two equal rows of the embedding: which of the two words is written is chance."""
    original = weights.load
    opened = original(random_checkpoint)
    source = source_batch([opened.tokenizer.encode(SENTENCES[0])])
    own = greedy_search(opened.model, source)[0].ids[0]
    first, second = (own, own + 1) if own < 349 else (own - 1, own)
    with torch.no_grad():
        opened.model.embedding.weight[[first, second]] = opened.model.embedding.weight[own].clone()

    def other_way(translator: object, pieces: list[str], tags: list[int]) -> object:
        swapped = list(pieces)
        swapped[first], swapped[second] = pieces[second], pieces[first]
        return ctranslate2_search(translator, swapped, tags)

    monkeypatch.setattr(weights, "load", lambda path: opened)
    monkeypatch.setattr("transformer.export.to_ctranslate2.ctranslate2_search", other_way)
    found = export(request(random_checkpoint, tmp_path / "new", "ctranslate2"))
    assert found.n_ties > 0


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_there_is_not_overwritten(
    random_checkpoint: Path, tmp_path: Path, kind: str
) -> None:
    target = tmp_path / "taken"
    precious = target if kind == "file" else target / "letter.txt"
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="expected a new or empty folder to write, got"):
        export(request(random_checkpoint, target, "ctranslate2"))
    assert precious.read_text(encoding="utf-8") == "mine"
    assert siblings(target) == ["taken"]


def test_a_folder_that_cannot_be_made_is_told(random_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*file/new: File exists"):
        export(request(random_checkpoint, tmp_path / "file" / "new", "ctranslate2"))


def test_without_the_library_the_extra_is_named(
    random_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r'pip install -e "\.\[export\]"'):
        export(request(random_checkpoint, tmp_path / "new", "ctranslate2"))
    assert not list(tmp_path.iterdir())


def test_the_command_says_what_it_checked(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = tmp_path / "more.txt"
    more.write_text("El gato ve la casa.\n\nNadie compra agua.\n", encoding="utf-8")
    arguments = ["--model", str(random_checkpoint), "--to", "ctranslate2", "--check", str(more)]
    target = tmp_path / "new"
    assert script.main([*arguments, "--output", str(target), "--quantization", "int16"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(
        f"{target}: {len(SENTENCES) + 2} sentences translated as by the model"
    )
    assert said[1].startswith("with int16 weights: ")
    assert script.main([*arguments, "--output", str(target)]) == 2
    assert capsys.readouterr().err.startswith("export: expected a new or empty folder")


@pytest.mark.parametrize(
    ("content", "message"), [(b"\xff\n", "line 1: expected UTF-8"), (None, "cannot read")]
)
def test_a_file_of_sentences_that_cannot_be_read_is_told(
    random_checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    message: str,
) -> None:
    more = tmp_path / "more.txt"
    if content is not None:
        more.write_bytes(content)
    arguments = ["--model", str(random_checkpoint), "--output", str(tmp_path / "new")]
    assert script.main([*arguments, "--to", "ctranslate2", "--check", str(more)]) == 2
    assert message in capsys.readouterr().err


def test_marian_takes_no_quantization(random_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected no --quantization with --to marian, got int8"):
        export(request(random_checkpoint, tmp_path / "new", "marian", "int8"))
