"""Convert a model to a CTranslate2 folder, with that library's `TransformerSpec`.

The ctranslate2 library is optional, so it is imported only when it is used.

Shapes: B batch, S source, L any length.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, UserError
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

Quantization = Literal[
    "none", "int8", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16"
]
IMPOSSIBLE_LOGIT = -1e4  # a logit that is never the highest, within the range of float16
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
# Appended to the usage text of a model with several directions:
TAG_USAGE = "\nIt also puts the piece `{tag}` first, which names the language to write.\n"


def _import_library() -> Any:
    """Import ctranslate2; if it is not installed, a UserError says how to install it."""
    try:
        import ctranslate2
    except ImportError as error:
        raise UserError(
            "expected the library ctranslate2, which this needs; it is not installed: "
            'pip install -e ".[export]"'
        ) from error
    return ctranslate2


def vocabulary(tokenizer: Tokenizer | None, vocab_size: int) -> list[str]:
    """Return the pieces in the order of their ids; without a tokeniser, the ids as digits."""
    if tokenizer is not None:
        return list(tokenizer.pieces(range(vocab_size)))
    special = {PAD_ID: "<pad>", BOS_ID: "<s>", EOS_ID: "</s>", UNK_ID: "<unk>"}
    return [special.get(i, str(i)) for i in range(vocab_size)]


def _copy(*tensors: Tensor) -> Tensor:
    """Copy and concatenate, since quantization works in place: n x (L, ...) -> (n x L, ...)."""
    return torch.cat([tensor.detach().float().cpu() for tensor in tensors])


def _set_linear(spec: Any, *layers: Any) -> None:
    spec.weight = _copy(*(layer.weight for layer in layers))
    spec.bias = _copy(*(layer.bias for layer in layers))


def _set_norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _copy(norm.weight), _copy(norm.bias)


def _set_layer(spec: Any, layer: Any) -> None:
    """Copy our encoder or decoder `layer` into CTranslate2's `spec`.

    CTranslate2 joins linear layers that have the same input, such as query, key and value.
    """
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


def _build_specification(model: Transformer) -> Any:
    config, specs = model.config, _import_library().specs
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
        table.weight = _copy(model.embedding.weight)  # CTranslate2 stores equal tables once
    bias = torch.zeros(config.vocab_size)
    bias[[PAD_ID, BOS_ID]] = IMPOSSIBLE_LOGIT  # our search never generates them either
    spec.decoder.projection.bias = bias
    return spec


def to_ctranslate2(
    model: Transformer,
    tokenizer: Tokenizer | None,
    folder: Path,
    quantization: Quantization = "none",
    tags: Sequence[int] = (),
) -> None:
    """Write a folder that `ctranslate2.Translator` can open; UserError without the library.

    `tags` holds at most one id, which CTranslate2 puts in front of each source. Without a
    tokeniser (for measurements) each piece of the vocabulary is its id in decimal digits.
    """
    spec = _build_specification(model)
    pieces = vocabulary(tokenizer, model.config.vocab_size)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.decoder_start_token = pieces[BOS_ID]
    spec.config.add_source_bos = bool(tags)
    (spec.config.bos_token,) = (pieces[i] for i in tags or (BOS_ID,))
    spec.config.eos_token, spec.config.unk_token = pieces[EOS_ID], pieces[UNK_ID]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(None if quantization == "none" else quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def open_ctranslate2(folder: Path, **options: Any) -> Any:
    """Return the `ctranslate2.Translator(folder, **options)`; UserError without the library."""
    return _import_library().Translator(str(folder), **options)


def ctranslate2_search(
    translator: Any, pieces: Sequence[str], tags: Sequence[int] = ()
) -> Callable[[Tensor, int], list[list[int]]]:
    """Return a function that does greedy search on ids with CTranslate2: (B, S), limit -> B lists.

    Limit and lists are without end mark; `pieces` is the vocabulary by id. CTranslate2 adds `tags`
    and the end mark to the sources itself, so both are removed first.
    """
    ids = {piece: i for i, piece in enumerate(pieces)}
    added = {PAD_ID, EOS_ID, *tags}

    def search(src: Tensor, most: int) -> list[list[int]]:
        rows = [[pieces[i] for i in row if i not in added] for row in src.tolist()]
        # By default CTranslate2 uses two beams and never returns an empty translation.
        results = translator.translate_batch(
            rows, beam_size=1, min_decoding_length=0, max_decoding_length=most
        )
        return [[ids[piece] for piece in result.hypotheses[0]] for result in results]

    return search
