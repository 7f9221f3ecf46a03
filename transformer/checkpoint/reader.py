"""A checkpoint read without torch: configuration, tokeniser, and the weights as NumPy arrays."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.checkpoint import sums
from transformer.checkpoint.locate import VOCABULARY, WEIGHTS, find, read_config
from transformer.config import Direction, ModelConfig, UserError
from transformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A checkpoint whose weights have not been read yet."""

    folder: Path
    config: ModelConfig
    tokenizer: Tokenizer
    directions: tuple[Direction, ...]  # one, or several that the first source piece chooses among

    def weights(self) -> "Iterator[tuple[str, np.ndarray]]":
        """The weights by parameter name, one after the other in float32; defects are UserErrors."""
        from transformer.checkpoint.tensors import read_weights  # and with it numpy

        for name, stored in read_weights(self.folder / WEIGHTS, self.config).items():
            yield name, stored.float32()


def open_checkpoint(folder: str | Path) -> Opened:
    """All of a checkpoint but its weights; a defect of the folder is a UserError."""
    path = find(folder)
    config, directions = read_config(path)
    tokenizer = read_vocabulary(path / VOCABULARY)
    if tokenizer.vocab_size != config.vocab_size:
        raise UserError(
            f"expected {config.vocab_size} pieces in {path / VOCABULARY}, "
            f"got {tokenizer.vocab_size}: tokeniser and model are not of one training"
        )
    return Opened(folder=path, config=config, tokenizer=tokenizer, directions=directions)


def read_vocabulary(path: Path) -> Tokenizer:
    """Reads a SentencePiece model file; a missing or foreign one is a UserError."""
    try:
        return Tokenizer(sums.read_checked(path))
    except (OSError, ValueError) as error:
        raise UserError(f"expected a tokeniser in {path}: {error}") from error
