"""Convert a model to Hugging Face Transformers: in memory, or as a folder for its pipelines.

A model with the norm after each sublayer becomes a Marian model, one with the norm before it a
Pegasus model; the network is the same. Both have sinusoidal positions, so a model with learned
positions is refused. The tokeniser is Marian's for both. The transformers library is optional, so
it is imported only when it is used.

Shapes: B batch, S source, D model width.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Direction, UserError
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

# The special ids by their names in the configurations of the model and of `generate`.
SPECIAL_IDS: Mapping[str, int] = {
    "pad_token_id": PAD_ID,
    "bos_token_id": BOS_ID,
    "eos_token_id": EOS_ID,
    "decoder_start_token_id": BOS_ID,
}
PROJECTIONS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "out": "out_proj"}
# Parameters that Transformers derives from others or computes: they may be missing from our weights
DERIVED = ("lm_head.weight", "final_logits_bias", "embed_tokens.weight", "embed_positions.weight")

USAGE = """\
# Translation model {src} to {tgt} for Hugging Face Transformers

In this folder, one sentence at a time, of at most {longest} pieces:

```python
from transformers import AutoModelForSeq2SeqLM, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
batch = tokenizer([{example!r}], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

or, with transformers 4 (version 5 has no such pipeline):

```python
from transformers import pipeline

print(pipeline("translation", model=".")({example!r}, num_beams=1))
```

The search is greedy, unless `generate` is given `num_beams=4`, which is what the pipeline does
by itself. `CARD.md` says how the model was trained.
"""
# Appended to the usage text of a model with several directions:
TAG_USAGE = """
The tokeniser puts the piece `{tag}`, which names the language to write, in front of each source.
For training it puts `<s>` in front of each `text_target`: drop that piece.
"""


def _import_library() -> Any:
    """Import transformers; if it is not installed, a UserError says how to install it."""
    try:
        import transformers
    except ImportError as error:
        raise UserError(
            "expected the library transformers, which this export needs; it is not "
            'installed: pip install -e ".[export]"'
        ) from error
    return transformers


def _linear(name: str, layer: Any, rows: Any, columns: Any) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.weight", layer.weight[rows][:, columns]
    yield f"{name}.bias", layer.bias[rows]


def _layer(prefix: str, layer: Any, order: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield the names in Transformers and the weights of a layer, its channels in `order` (D,)."""
    every = slice(None)  # channels outside the residual stream keep their order
    blocks = {"self_attn": (layer.self_attention, layer.self_residual)}
    if hasattr(layer, "cross_attention"):
        blocks["encoder_attn"] = (layer.cross_attention, layer.cross_residual)
    norms = {"final_layer_norm": layer.feed_residual.norm}
    for block, (attention, residual) in blocks.items():
        for ours, theirs in PROJECTIONS.items():
            rows, columns = (order, every) if ours == "out" else (every, order)
            name = f"{prefix}.{block}.{theirs}"
            yield from _linear(name, getattr(attention, ours), rows, columns)
        norms[f"{block}_layer_norm"] = residual.norm
    yield from _linear(f"{prefix}.fc1", layer.feed_forward.expand, every, order)
    yield from _linear(f"{prefix}.fc2", layer.feed_forward.contract, order, every)
    for name, norm in norms.items():
        yield f"{prefix}.{name}.weight", norm.weight[order]
        yield f"{prefix}.{name}.bias", norm.bias[order]


def _weights(model: Transformer) -> dict[str, Tensor]:
    """Return the weights with the names and the order of channels that Transformers uses.

    Our position encodings alternate sine and cosine; in Transformers all sines come first. Every
    weight that reads or writes these channels is reordered alike, so the outputs stay the same.
    """
    order = torch.arange(model.config.d_model).view(-1, 2).t().flatten()  # (D,) 0 2 ... 1 3 ...
    weights = {"model.shared.weight": model.embedding.weight[:, order]}
    sides: tuple[tuple[str, Any], ...] = (("encoder", model.encoder), ("decoder", model.decoder))
    for side, layers in sides:
        for i, layer in enumerate(layers):
            weights.update(_layer(f"model.{side}.layers.{i}", layer, order))
        if model.config.norm == "pre":
            norm = getattr(model, f"{side}_norm")
            weights[f"model.{side}.layer_norm.weight"] = norm.weight[order]
            weights[f"model.{side}.layer_norm.bias"] = norm.bias[order]
    return {name: tensor.detach().float().cpu() for name, tensor in weights.items()}


def to_huggingface_model(model: Transformer) -> Any:
    """Return a `MarianMTModel` or `PegasusForConditionalGeneration`, in float32, for evaluation.

    Raises UserError for a model with learned positions, or if transformers is not installed.
    """
    config, library = model.config, _import_library()
    if config.positions != "sinusoidal":
        raise UserError(
            "expected a model with --positions sinusoidal, as Marian and Pegasus have, got "
            f"--positions {config.positions}"
        )
    names = {"post": ("MarianMTModel", "MarianConfig"),
             "pre": ("PegasusForConditionalGeneration", "PegasusConfig")}  # fmt: skip
    new_model, new_config = (getattr(library, name) for name in names[config.norm])
    new = new_model(
        new_config(
            vocab_size=config.vocab_size,
            max_position_embeddings=config.max_len,
            d_model=config.d_model,
            encoder_layers=config.n_encoder_layers,
            decoder_layers=config.n_decoder_layers,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function=config.activation,
            dropout=config.dropout,
            scale_embedding=True,
            static_position_embeddings=True,
            forced_eos_token_id=None,  # set for the search, in generation_config below
            **SPECIAL_IDS,
        )
    )
    keys = new.load_state_dict(_weights(model), strict=False)
    missing = [name for name in keys.missing_keys if not name.endswith(DERIVED)]
    if missing or keys.unexpected_keys:
        raise RuntimeError(
            f"expected other names of weights; transformers {library.__version__} misses "
            f"{missing} and does not know {keys.unexpected_keys}"
        )
    new.generation_config = library.GenerationConfig(
        max_length=config.max_len + 1,  # `generate` counts the start mark, too
        num_beams=1,
        bad_words_ids=[[PAD_ID], [BOS_ID]],  # our search never generates them either
        forced_eos_token_id=EOS_ID,
        **SPECIAL_IDS,
    )
    return new.eval()


def to_huggingface(
    model: Transformer,
    tokenizer: Tokenizer,
    folder: Path,
    langs: Direction,
    tags: Sequence[int] = (),
) -> None:
    """Write the model, its tokeniser and their configurations into a folder.

    `tags` holds at most one id, which the tokeniser puts in front of each source. UserError for
    learned positions, or without transformers.
    """
    to_huggingface_model(model).save_pretrained(str(folder))
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    special = {"pad": PAD_ID, "bos": BOS_ID, "eos": EOS_ID, "unk": UNK_ID}
    configuration = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": langs[0],
        "target_lang": langs[1],
        "model_max_length": model.config.max_len,
        "separate_vocabs": False,
        "clean_up_tokenization_spaces": False,  # SentencePiece restores the spaces itself
        "split_special_tokens": True,  # a user's "</s>" is text, not the end mark
        **{f"{name}_token": pieces[i] for name, i in special.items()},
        **({"sp_model_kwargs": {"add_bos": True}} if tags else {}),
    }
    contents = {
        "vocab.json": {piece: i for i, piece in enumerate(pieces)},
        "tokenizer_config.json": configuration,
    }
    for name, values in contents.items():
        text = json.dumps(values, ensure_ascii=False, indent=1) + "\n"
        (folder / name).write_text(text, encoding="utf-8")
    first = b"".join(_override_bos_piece(pieces[i]) for i in tags)
    (folder / "source.spm").write_bytes(tokenizer.model + first)
    (folder / "target.spm").write_bytes(tokenizer.model)


def _override_bos_piece(piece: str) -> bytes:
    """Return bytes that, appended to a SentencePiece model, make `piece` its mark of beginning.

    If a protobuf message holds a field twice, the later value wins: here `bos_piece` (field 46) of
    `trainer_spec` (field 2, see sentencepiece_model.proto). MarianTokenizer has no option for it.
    """
    field = bytes([0xF2, 0x02, len(piece.encode())]) + piece.encode()
    return bytes([0x12, len(field)]) + field


def open_huggingface(folder: Path) -> tuple[Any, Any]:
    """Return the float32 model and MarianTokenizer of a folder; UserError without transformers."""
    library = _import_library()
    with warnings.catch_warnings():
        # sacremoses normalises punctuation, which our tokeniser does not do.
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
        tokenizer = library.MarianTokenizer.from_pretrained(str(folder))
    model = library.AutoModelForSeq2SeqLM.from_pretrained(str(folder))
    return model.float().eval(), tokenizer


def huggingface_search(model: Any) -> Callable[[Tensor, int], list[list[int]]]:
    """Return a function that does greedy search with `generate`, as `ctranslate2_search` does."""

    def search(src: Tensor, most: int) -> list[list[int]]:
        rows = model.generate(
            input_ids=src,
            attention_mask=(src != PAD_ID).long(),
            num_beams=1,
            do_sample=False,
            max_length=most + 2,  # `generate` counts the start and end marks, too
        )
        return [[i for i in row[1:] if i not in (PAD_ID, EOS_ID)] for row in rows.tolist()]

    return search


def check_tokenizer(
    theirs: Any, ours: Tokenizer, texts: Iterable[str], tags: Sequence[int] = ()
) -> None:
    """Raise UserError at the first text that `theirs` (MarianTokenizer) cuts or joins otherwise.

    For example, it reads `>>es<<` at the beginning of a text as a language code. It must put the
    ids `tags` in front.
    """
    for text in texts:
        ids = [*tags, *ours.encode(text), EOS_ID]
        their_ids = theirs(text, verbose=False).input_ids
        joined = theirs.decode([BOS_ID, *their_ids, PAD_ID], skip_special_tokens=True)
        if (their_ids, joined.split()) != (ids, ours.decode(ids).split()):
            raise UserError(
                f"expected MarianTokenizer to cut {text!r} into the ids {ids} and to join them to "
                f"{ours.decode(ids)!r}; it gives {their_ids} and {joined!r}. Nothing was written"
            )
