"""Spanish-English machine translation with an encoder-decoder Transformer.

    from transformer import Translator
    Translator.load("checkpoints/es-en").translate(["Buenos días."])[0].text

The names below are imported when they are first used: importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer.config import ModelConfig
    from transformer.model import Transformer
    from transformer.text.tokenizer import Tokenizer
    from transformer.translation.translator import Translator

__version__ = "0.1.0"
__all__ = ["ModelConfig", "Tokenizer", "Transformer", "Translator", "__version__"]

_HOMES = {"ModelConfig": "config", "Transformer": "model", "Tokenizer": "text.tokenizer",
          "Translator": "translation.translator"}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
