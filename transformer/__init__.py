"""Spanish-English machine translation with an encoder-decoder Transformer.

    import transformer
    transformer.load().translate(["Buenos días."])[0].text

The names below are imported when they are first used: importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer.config import DecodeConfig, ModelConfig, UserError
    from transformer.model import Transformer
    from transformer.text.tokenizer import Tokenizer
    from transformer.translation.directions import load
    from transformer.translation.translator import Translation, Translator

__version__ = "0.1.0"
__all__ = [  # noqa: RUF022 the first is all that most need
    "load", "Translator", "Translation", "Transformer", "Tokenizer", "ModelConfig", "DecodeConfig",
    "UserError", "__version__",
]  # fmt: skip

_HOMES = {"load": "translation.directions", "Translator": "translation.translator",
          "Translation": "translation.translator", "Transformer": "model",
          "Tokenizer": "text.tokenizer", "ModelConfig": "config", "DecodeConfig": "config",
          "UserError": "config"}  # fmt: skip

if not TYPE_CHECKING:  # which would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
