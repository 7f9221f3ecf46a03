"""A checkpoint is a folder: weights, configuration, tokeniser and a card, written all or nothing.

`locate` says which files. Weights are read by mapping the file into memory: what is stored as
float32 is not copied. No pickle is read or written.

Weights of one model are a start for another (`weights_for`). Of another vocabulary: a piece that
both have keeps its embedding; any other begins as the mean of the old pieces that write it (as Gee
et al. 2022, section 3, do). A model of the other direction, too, begins with what it knows of both
languages (Kocmi and Bojar 2018). A larger model computes what the small one did, with room to learn
(Chen et al. 2016, "Net2Net"): a wider one holds each channel several times, and whatever reads it
shares its weight among the copies; a deeper one has new layers that add nothing yet, for which the
norm must stand before each sublayer.

Shapes: V vocabulary, D model width, N units of a linear layer, K copies of a channel.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.checkpoint import locate, tensors
from transformer.checkpoint.tensors import SCALE, Shapes, Stored, open_checkpoint
from transformer.config import Direction, ModelConfig, UserError
from transformer.files import replaced_folder
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

MAY_GROW = ("d_model", "n_heads", "n_encoder_layers", "n_decoder_layers", "d_ff")
READERS, WRITERS = ("query", "key", "value", "expand"), ("out", "contract")  # of channels
SPREAD = 0.5  # how unequally a reader weighs the copies, beside the deviation of its weights
Storage = Literal["float16", "int8"]
TABLES = ("embedding.weight", "positions.table")  # read row by row, not multiplied with
FILLS = {
    *(Tensor.fill_, Tensor.normal_, Tensor.uniform_, Tensor.zero_),
    *(nn.init.constant_, nn.init.kaiming_uniform_, nn.init.normal_, nn.init.uniform_),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A model that is ready to use, with what it needs to read and write text."""

    model: Transformer
    tokenizer: Tokenizer
    directions: tuple[Direction, ...]  # one, or several that the first source piece chooses among
    folder: Path


def save(
    folder: Path,
    weights: Mapping[str, Tensor],
    config: ModelConfig,
    tokenizer: Tokenizer,
    directions: Sequence[Direction],
    card: str,
    training: tuple[Mapping[str, Tensor], Mapping[str, Any]] | None = None,
) -> None:
    """Writes a checkpoint; `training` is what `load_training` gives back, tensors and values."""
    values = {**locate.described(directions), "model": dataclasses.asdict(config)}
    with replaced_folder(folder) as new:
        (new / locate.CONFIG).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        (new / locate.VOCABULARY).write_bytes(tokenizer.model)
        (new / locate.CARD).write_text(card, encoding="utf-8")
        _save_tensors(new / locate.WEIGHTS, weights)
        if training is not None:
            if training[0]:
                _save_tensors(new / locate.STATE, training[0])
            text = json.dumps(dict(training[1]), indent=2) + "\n"
            (new / locate.STATE_VALUES).write_text(text, encoding="utf-8")
        locate.write_sums(new)
        for path in new.glob("*.safetensors"):  # which safetensors lets nobody else read
            path.chmod((new / locate.CONFIG).stat().st_mode)


def _save_tensors(path: Path, named: Mapping[str, Tensor]) -> None:
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in named.items()}
    try:
        safetensors.torch.save_file(ready, path)
    except safetensors.SafetensorError as error:  # the disk is full, most likely
        raise OSError(str(error)) from error


def compact(weights: Mapping[str, Tensor], storage: Storage) -> dict[str, Tensor]:
    """The weights as a release stores them, to be saved.

    Half precision; or int8 with a scale for each row of a matrix, from which the int8 kernels
    make the very numbers that they make of the matrix itself, and half precision elsewhere. The
    embedding is such: it is no matrix where it is read, and 8 bits moved BLEU by 0.2 both ways.
    """
    stored: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if storage == "int8" and tensor.dim() == 2 and name not in TABLES:
            rows, scale = tensors.quantise_rows(tensor.float().numpy())
            stored |= {name: torch.from_numpy(rows), name + SCALE: torch.from_numpy(scale)}
        else:
            stored[name] = tensor.half()
    return stored


def _tensor(stored: Stored) -> Tensor:
    """A tensor of the type that it is stored in; where that is int8 with scales, float32."""
    if stored.scale is not None:
        return torch.from_numpy(stored.float32())
    tensor = torch.from_numpy(stored.values)
    return tensor.view(torch.bfloat16) if stored.dtype == "BF16" else tensor


def _load_tensors(path: Path, shapes: Shapes | None = None) -> dict[str, Tensor]:
    return {name: _tensor(stored) for name, stored in tensors.read(path, shapes).items()}


class _Unfilled(TorchFunctionMode):
    """Builds modules without first values: memory that is never touched costs nothing.

    The meta device would do the same, were it not for its `arange` and `normal_`, which import
    torch's compiler: more than a second.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in FILLS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def load(folder: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Reads a checkpoint, in evaluation mode and float32; a defect of the folder is a UserError."""
    opened = open_checkpoint(folder)
    path = opened.folder
    stored = tensors.read_weights(path / locate.WEIGHTS, opened.config)
    with _Unfilled():
        model = Transformer(opened.config)
    model.load_state_dict({name: _tensor(s).float() for name, s in stored.items()}, assign=True)
    return Checkpoint(
        model=model.to(device).eval(),
        tokenizer=opened.tokenizer,
        directions=opened.directions,
        folder=path,
    )


def load_weights(folder: str | Path) -> dict[str, Tensor]:
    """Only the weights of a checkpoint, by parameter name."""
    return _load_tensors(locate.find(folder) / locate.WEIGHTS)


def load_training(
    folder: Path, shapes: Shapes | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What training goes on from: tensors and values as they were given to `save`.

    Tensors of other names or shapes than the given ones are a UserError.
    """
    path = locate.find(folder)
    return _load_tensors(path / locate.STATE, shapes), locate.read_json(path / locate.STATE_VALUES)


def mean(models: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of the weights of models of one shape, by name, in float64."""
    total: dict[str, Tensor] = {}
    count = 0
    for weights in models:
        count += 1
        for name, tensor in weights.items():
            total[name] = total[name] + tensor if name in total else tensor.double()
    return {name: tensor / count for name, tensor in total.items()}


def weights_for(before: Checkpoint, tokenizer: Tokenizer, config: ModelConfig) -> dict[str, Tensor]:
    """The weights of `before` by name, in the shape `config`, their vocabulary `tokenizer`'s."""
    weights = dict(before.model.state_dict())
    if tokenizer.model != before.tokenizer.model:
        old = weights["embedding.weight"]
        weights["embedding.weight"] = embeddings(old, before.tokenizer, tokenizer)
    return grown(weights, before.model.config, config)


@torch.no_grad()
def embeddings(old: Tensor, before: Tokenizer, tokenizer: Tokenizer) -> Tensor:
    """Rows for the pieces of a vocabulary, out of those of the one before: (V, D) -> (V', D)."""
    known = {piece: i for i, piece in enumerate(before.pieces(range(before.vocab_size)))}
    new = old.new_empty(tokenizer.vocab_size, old.size(1))
    for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size))):
        parts = [known[piece]] if piece in known else before.encode(piece.replace("\u2581", " "))
        new[i] = old[parts].mean(0) if parts else old.mean(0)
    return new


def check_growth(old: ModelConfig, new: ModelConfig) -> None:
    """UserError unless `new` is `old`, or `old` grown; dropout and vocabulary are free."""
    free = dataclasses.replace(new, dropout=old.dropout, vocab_size=old.vocab_size)
    if free == old:
        return
    same = dataclasses.replace(free, **{name: getattr(old, name) for name in MAY_GROW})
    if same != old:
        raise UserError(f"expected the shape of --init, {old}, or a larger one; got {new}")
    if old.norm != "pre":
        raise UserError("expected --init with the norm before each sublayer: others cannot grow")
    copies, rest = divmod(new.d_model, old.d_model)
    if rest or new.n_heads != copies * old.n_heads:
        raise UserError(
            f"expected --d-model {old.d_model} times a whole number, and --n-heads {old.n_heads} "
            f"times the same; got {new.d_model} and {new.n_heads}"
        )
    for name in ("n_encoder_layers", "n_decoder_layers", "d_ff"):
        if getattr(new, name) < getattr(old, name):
            option = "--" + name.replace("_", "-")
            raise UserError(
                f"expected {option} of at least {getattr(old, name)}, as --init has; "
                f"got {getattr(new, name)}"
            )


@torch.no_grad()
def grown(
    weights: dict[str, Tensor], old: ModelConfig, new: ModelConfig, seed: int = 1
) -> dict[str, Tensor]:
    """Weights by name of the shape `new`, which compute what those of the shape `old` do.

    Exactly so at equal width; a wider model has finer sinusoidal codes between the old ones,
    which moves its output a little. Its copies are read with unequal weights, drawn from
    `seed`, or they would stay equal for ever. The embeddings are those of `new`'s vocabulary.
    """
    check_growth(old, new)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        wider = _Wider(old.d_model, new.d_model)
        fresh = Transformer(new).state_dict()
        depths = {"encoder": old.n_encoder_layers, "decoder": old.n_decoder_layers}
        for name, tensor in fresh.items():
            stack, layer = name.split(".")[:2]
            if stack in depths and int(layer) >= depths[stack]:
                if name.split(".")[-2] in WRITERS:
                    tensor.zero_()
            else:
                wider.fill(name, tensor, weights[name])
    return fresh


class _Wider:
    """From D channels to K x D; pairs stay together, as each is one wavelength of the codes."""

    def __init__(self, old: int, new: int) -> None:
        self.copies = new // old
        channels = torch.arange(new)
        self.of = channels // 2 // self.copies * 2 + channels % 2  # the old channel of each

    def fill(self, name: str, new: Tensor, old: Tensor) -> None:
        """Writes a weight of the small model, by its name, into that of the large one."""
        part, kind = name.split(".")[-2:]
        if kind == "weight" and part in READERS:
            new[: len(old)] = self._read(old)
        elif part in READERS:
            new[: len(old)] = old
        elif kind == "weight" and part in WRITERS:
            new.zero_()
            new[:, : old.size(1)] = old[self.of]
        elif part == "embedding":  # scaled by sqrt(D) where it is read
            new.copy_(old[:, self.of] / math.sqrt(self.copies))
        elif part == "decoder_norm":  # the logits are sums over all copies
            new.copy_(old[self.of] / math.sqrt(self.copies))
        else:
            new.copy_(old[..., self.of])

    def _read(self, old: Tensor) -> Tensor:
        """Each weight shared among the copies: (N, D) -> (N, K x D)."""
        if self.copies == 1:
            return old
        parts = torch.randn(len(old), old.size(1) // 2, self.copies, 2) * old.std()
        parts -= parts.mean(2, keepdim=True)  # copies that are equal are read as before
        return (old[:, self.of] + SPREAD * parts.flatten(1)) / self.copies
