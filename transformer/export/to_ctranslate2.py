"""A trained model for other engines: a CTranslate2 folder or a Hugging Face Marian folder.

What is written is opened again and must translate test sentences as the model does, in float32
and token for token, or there is no folder. The CTranslate2 model is built from that library's
own description of a Transformer. The only module that imports ctranslate2, and only when asked.

Shapes: B batch, S source, L any length.
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from transformer.checkpoint import weights
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, UserError
from transformer.export import to_huggingface
from transformer.export.parity import SENTENCES, Rival, differences
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

Target = Literal["ctranslate2", "marian"]
Quantization = Literal[
    "none", "int8", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16"
]
CARD = "CARD.md"
NEVER = -1e4  # a logit that is never the highest, within the range of float16
EXAMPLES = {"es": "¿Dónde está la biblioteca?", "en": "Where is the library?"}
USAGE = """\
# Translation model {src} to {tgt} for CTranslate2

In this folder, one sentence at a time, of at most {longest} pieces:

```python
import ctranslate2
import sentencepiece

pieces = sentencepiece.SentencePieceProcessor(model_file="tokenizer.model")
translator = ctranslate2.Translator(".")
source = pieces.encode({example!r}, out_type=str)
result = translator.translate_batch(
    [source], beam_size=1, max_input_length={max_len}, max_decoding_length={longest}
)
print(pieces.decode(result[0].hypotheses[0]))
```

CTranslate2 adds the end mark of the source itself (`config.json`). `CARD.md` says how the model
was trained.
"""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """What the check of an export found.

    Of `n_sentences` the export translates all alike in float32, but for `n_ties` that part where
    two tokens are equally likely; `n_quantized` alike with the weights as they are stored.
    """

    n_sentences: int
    n_ties: int
    n_quantized: int


def _library() -> Any:
    """The optional library, or a UserError that says how to install it."""
    try:
        import ctranslate2
    except ImportError as error:
        raise UserError(
            "expected the library ctranslate2, which this needs; it is not installed: "
            'pip install -e ".[export]"'
        ) from error
    return ctranslate2


def vocabulary(tokenizer: Tokenizer | None, vocab_size: int) -> list[str]:
    """The pieces by id; without a tokeniser a word is its id in decimal digits."""
    if tokenizer is not None:
        return list(tokenizer.pieces(range(vocab_size)))
    special = {PAD_ID: "<pad>", BOS_ID: "<s>", EOS_ID: "</s>", UNK_ID: "<unk>"}
    return [special.get(i, str(i)) for i in range(vocab_size)]


def _copy(*tensors: Tensor) -> Tensor:
    """A new tensor, since quantisation works in place: n x (L, ...) -> (n x L, ...)."""
    return torch.cat([tensor.detach().float().cpu() for tensor in tensors])


def _set_linear(spec: Any, *layers: Any) -> None:
    spec.weight = _copy(*(layer.weight for layer in layers))
    spec.bias = _copy(*(layer.bias for layer in layers))


def _set_norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _copy(norm.weight), _copy(norm.bias)


def _set_layer(spec: Any, layer: Any) -> None:
    """One encoder or decoder layer; maps that read the same vector are one map there."""
    attention = layer.self_attention
    _set_linear(spec.self_attention.linear[0], attention.query, attention.key, attention.value)
    _set_linear(spec.self_attention.linear[1], attention.out)
    _set_norm(spec.self_attention.layer_norm, layer.self_residual.norm)
    if hasattr(layer, "cross_attention"):
        attention = layer.cross_attention
        _set_linear(spec.attention.linear[0], attention.query)
        _set_linear(spec.attention.linear[1], attention.key, attention.value)
        _set_linear(spec.attention.linear[2], attention.out)
        _set_norm(spec.attention.layer_norm, layer.cross_residual.norm)
    _set_linear(spec.ffn.linear_0, layer.feed_forward.expand)
    _set_linear(spec.ffn.linear_1, layer.feed_forward.contract)
    _set_norm(spec.ffn.layer_norm, layer.feed_residual.norm)


def _specification(model: Transformer) -> Any:
    """The model as CTranslate2 describes one."""
    config, specs = model.config, _library().specs
    activations = {"relu": specs.Activation.RELU, "gelu": specs.Activation.GELU}
    spec = specs.TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=activations[config.activation],
    )
    sides: tuple[tuple[Any, Any, Any], ...] = (
        (spec.encoder, model.encoder, model.encoder_norm),
        (spec.decoder, model.decoder, model.decoder_norm),
    )
    for side, layers, norm in sides:
        side.position_encodings.encodings = _copy(model.positions(0, config.max_len))
        for target, layer in zip(side.layer, layers, strict=True):
            _set_layer(target, layer)
        if config.norm == "pre":
            _set_norm(side.layer_norm, norm)
        spec.config.layer_norm_epsilon = layers[0].feed_residual.norm.eps
    for table in (*spec.encoder.embeddings, spec.decoder.embeddings, spec.decoder.projection):
        table.weight = _copy(model.embedding.weight)  # equal ones are stored once
    bias = torch.zeros(config.vocab_size)
    bias[[PAD_ID, BOS_ID]] = NEVER  # as in our search, they never follow
    spec.decoder.projection.bias = bias
    return spec


def to_ctranslate2(
    model: Transformer,
    tokenizer: Tokenizer | None,
    folder: Path,
    quantization: Quantization = "none",
) -> None:
    """Writes what `ctranslate2.Translator` opens into a folder; nothing is checked here.

    Without a tokeniser, for measurements, a word is its id in decimal digits.
    """
    spec = _specification(model)
    pieces = vocabulary(tokenizer, model.config.vocab_size)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token = spec.config.decoder_start_token = pieces[BOS_ID]
    spec.config.eos_token, spec.config.unk_token = pieces[EOS_ID], pieces[UNK_ID]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(None if quantization == "none" else quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def open_ctranslate2(folder: Path, **options: Any) -> Any:
    """The `ctranslate2.Translator` of a folder; the options are those of its constructor."""
    return _library().Translator(str(folder), **options)


def ctranslate2_rival(translator: Any, pieces: Sequence[str]) -> Rival:
    """Greedy search by CTranslate2, in ids; `pieces` is the vocabulary."""
    ids = {piece: i for i, piece in enumerate(pieces)}

    def search(src: Tensor, most: int) -> list[list[int]]:
        rows = [[pieces[i] for i in row if i not in (PAD_ID, EOS_ID)] for row in src.tolist()]
        # Its defaults are two beams and no empty translation.
        results = translator.translate_batch(
            rows, beam_size=1, min_decoding_length=0, max_decoding_length=most
        )
        return [[ids[piece] for piece in result.hypotheses[0]] for result in results]

    return search


@contextlib.contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that gets its name once the block ends well, and vanishes otherwise."""
    folder = folder.resolve()
    try:
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise UserError(
                f"expected a new or empty folder to write, got {str(folder)!r}, where something "
                "is: remove that or name another folder"
            )
        with weights.replaced_folder(folder) as new:
            try:
                yield new
            except BaseException:
                shutil.rmtree(new)
                raise
    except OSError as error:
        raise UserError(f"cannot write {str(folder)!r}: {error.strerror or error}") from error


def _n_ties(opened: weights.Checkpoint, texts: Sequence[str], rival: Rival, engine: str) -> int:
    """How often float32 cannot tell which token is next; any real difference is a UserError."""
    n_ties = 0
    for found in differences(opened.model, opened.tokenizer, texts, rival):
        if not found.is_tie:
            raise UserError(
                f"expected {engine} to translate {found.text!r} as the model does, to "
                f"{found.ours!r}; it gives {found.theirs!r}. Nothing was written; try another "
                f"version of {engine}"
            )
        n_ties += 1
    return n_ties


def _as_ctranslate2(
    opened: weights.Checkpoint, folder: Path, texts: Sequence[str], quantization: Quantization
) -> Agreement:
    """Writes and checks in float32, then once more with the weights as they are wanted."""
    model, tokenizer = opened.model, opened.tokenizer
    pieces = vocabulary(tokenizer, model.config.vocab_size)
    to_ctranslate2(model, tokenizer, folder)
    rival = ctranslate2_rival(open_ctranslate2(folder, compute_type="float32"), pieces)
    n_ties = n_different = _n_ties(opened, texts, rival, "CTranslate2")
    if quantization != "none":
        to_ctranslate2(model, tokenizer, folder, quantization)
        rival = ctranslate2_rival(open_ctranslate2(folder, compute_type="auto"), pieces)
        n_different = len(list(differences(model, tokenizer, texts, rival)))
    (folder / weights.VOCABULARY).write_bytes(tokenizer.model)
    return Agreement(n_sentences=len(texts), n_ties=n_ties, n_quantized=len(texts) - n_different)


def _as_marian(opened: weights.Checkpoint, folder: Path, texts: Sequence[str]) -> Agreement:
    """Writes and checks the model, and that the tokeniser cuts and joins as ours."""
    to_huggingface.to_marian(
        opened.model, opened.tokenizer, folder, (opened.src_lang, opened.tgt_lang)
    )
    model, tokenizer = to_huggingface.open_marian(folder)
    to_huggingface.check_tokenizer(tokenizer, opened.tokenizer, texts)
    n_ties = _n_ties(opened, texts, to_huggingface.marian_rival(model), "Marian")
    return Agreement(n_sentences=len(texts), n_ties=n_ties, n_quantized=len(texts) - n_ties)


def export(
    model: str | Path,
    folder: Path,
    target: Target,
    quantization: Quantization = "none",
    texts: Sequence[str] = (),
) -> Agreement:
    """Writes a checkpoint as a folder of another engine, checked on its own sentences and `texts`.

    Raises UserError where the folder is taken, the engine is not installed or cannot express the
    model, or a translation differs; then nothing is left behind.
    """
    if target == "marian" and quantization != "none":
        raise UserError(
            f"expected no --quantization with --to marian, got {quantization}: Marian holds float32"
        )
    opened = weights.load(model)
    texts = list(
        dict.fromkeys(text for text in (*SENTENCES, *texts) if opened.tokenizer.encode(text))
    )
    with _new_folder(folder) as new:
        if target == "marian":
            usage, agreement = to_huggingface.USAGE, _as_marian(opened, new, texts)
        else:
            usage, agreement = USAGE, _as_ctranslate2(opened, new, texts, quantization)
        max_len = opened.model.config.max_len
        text = usage.format(
            src=opened.src_lang,
            tgt=opened.tgt_lang,
            example=EXAMPLES.get(opened.src_lang, SENTENCES[0]),
            max_len=max_len,
            longest=max_len - 1,
        )
        (new / "README.md").write_text(text, encoding="utf-8")
        (new / CARD).write_bytes((opened.folder / weights.CARD).read_bytes())
    return agreement
