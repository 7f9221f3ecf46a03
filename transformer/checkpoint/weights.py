"""Save and load checkpoints: folders of weights, configuration, tokeniser and card.

A folder is written atomically; `locate` lists its files. Weights are mapped into memory, so that
those stored as float32 are not copied. No pickle is read or written.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.checkpoint import locate, tensors
from transformer.checkpoint.tensors import SCALE_SUFFIX, Shapes, StoredTensor, open_checkpoint
from transformer.config import Direction, ModelConfig
from transformer.files import atomic_folder
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

Storage = Literal["float16", "int8"]
EMBEDDING_TABLES = ("embedding.weight", "positions.table")  # read row by row, not multiplied with
INITIALIZERS = {
    *(Tensor.fill_, Tensor.normal_, Tensor.uniform_, Tensor.zero_),
    *(nn.init.constant_, nn.init.kaiming_uniform_, nn.init.normal_, nn.init.uniform_),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A loaded model and tokeniser; of several `directions` a source's first piece names one."""

    model: Transformer
    tokenizer: Tokenizer
    directions: tuple[Direction, ...]
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
    """Write a checkpoint atomically, `card` as its README; UserError if that fails.

    `training` is what `load_training` returns.
    """
    values = {**locate.describe_directions(directions), "model": dataclasses.asdict(config)}
    with atomic_folder(folder) as new:
        (new / locate.CONFIG).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        (new / locate.VOCABULARY).write_bytes(tokenizer.model)
        (new / locate.MODEL_CARD).write_text(card, encoding="utf-8")
        _save_tensors(new / locate.WEIGHTS, weights)
        if training is not None:
            if training[0]:
                _save_tensors(new / locate.TRAINING_STATE, training[0])
            text = json.dumps(dict(training[1]), indent=2) + "\n"
            (new / locate.TRAINING_VALUES).write_text(text, encoding="utf-8")
        locate.write_checksums(new)
        for path in new.glob("*.safetensors"):  # which safetensors lets nobody else read
            path.chmod((new / locate.CONFIG).stat().st_mode)


def _save_tensors(path: Path, named: Mapping[str, Tensor]) -> None:
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in named.items()}
    try:
        safetensors.torch.save_file(ready, path)
    except safetensors.SafetensorError as error:  # the disk is full, most likely
        raise OSError(str(error)) from error


def compress(weights: Mapping[str, Tensor], storage: Storage) -> dict[str, Tensor]:
    """Return the weights in the smaller types of a release, ready to be saved.

    With `storage` float16 all weights become float16. With int8, matrices become int8 with a scale
    for each row, in float32 as NAME.scale, and the rest float16; the int8 kernels compute the same
    from these as from float32, as they would quantize them alike. EMBEDDING_TABLES stay float16:
    their rows are used one by one, and 8 bits moved BLEU by 0.2 up or down.
    """
    stored: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if storage == "int8" and tensor.dim() == 2 and name not in EMBEDDING_TABLES:
            rows, scale = tensors.quantize_rows(tensor.float().numpy())
            stored |= {name: torch.from_numpy(rows), name + SCALE_SUFFIX: torch.from_numpy(scale)}
        else:
            stored[name] = tensor.half()
    return stored


def _to_tensor(stored: StoredTensor) -> Tensor:
    """Convert to a tensor of the stored type, or to float32 from int8 with scales."""
    if stored.scale is not None:
        return torch.from_numpy(stored.float32())
    tensor = torch.from_numpy(stored.values)
    return tensor.view(torch.bfloat16) if stored.dtype == "BF16" else tensor


def _load_tensors(path: Path, shapes: Shapes | None = None) -> dict[str, Tensor]:
    return {name: _to_tensor(stored) for name, stored in tensors.read_tensors(path, shapes).items()}


class _SkipInit(TorchFunctionMode):
    """A mode in which modules are built without initializing their weights, which saves time.

    The meta device would do the same, but its `arange` and `normal_` import torch's compiler,
    which takes more than a second.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in INITIALIZERS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def load(folder: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Load, in float32 and evaluation mode, what `find_checkpoint` finds; UserError if invalid."""
    opened = open_checkpoint(folder)
    stored = opened.stored_weights()
    with _SkipInit():
        model = Transformer(opened.config)
    model.load_state_dict({name: _to_tensor(s).float() for name, s in stored}, assign=True)
    return Checkpoint(
        model=model.to(device).eval(),
        tokenizer=opened.tokenizer,
        directions=opened.directions,
        folder=opened.folder,
    )


def load_weights(folder: str | Path, config: ModelConfig | None = None) -> dict[str, Tensor]:
    """Load only the weights of a checkpoint, by name; UserError unless they fit `config`, if given.

    They have the stored types, but int8 becomes float32.
    """
    shapes = [*tensors.weight_shapes(config)] if config else None
    return _load_tensors(locate.find_checkpoint(folder) / locate.WEIGHTS, shapes)


def load_training(
    folder: Path, shapes: Shapes | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the values that training resumes from, as given to `save`, by name.

    UserError if they are missing, or the tensors have other names or shapes than `shapes`.
    """
    path = locate.find_checkpoint(folder)
    stored = _load_tensors(path / locate.TRAINING_STATE, shapes)
    return stored, locate.read_json(path / locate.TRAINING_VALUES)


def average_weights(models: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of the weights of models of one shape, by name, as float64."""
    total: dict[str, Tensor] = {}
    count = 0
    for weights in models:
        count += 1
        for name, tensor in weights.items():
            total[name] = total[name] + tensor if name in total else tensor.double()
    return {name: tensor / count for name, tensor in total.items()}
