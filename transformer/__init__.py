"""Spanish-English machine translation with an encoder-decoder Transformer.

    import transformer
    transformer.load().translate("Buenos días.").text

The names below are imported when they are first used: importing the package costs nothing.

It is imported before torch starts its threads, and tells them to sleep soon while they wait for
each other. By default they spin, and beside any other work on the machine training falls to a
fifth. Whoever imports torch first, or sets one of these variables, decides for themselves.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer.config import DecodeConfig, ModelConfig, UserError
    from transformer.model import Transformer
    from transformer.text.tokenizer import Tokenizer
    from transformer.translation.directions import Directions, load
    from transformer.translation.translator import Translation, Translator

SPINS = "20000"  # looks of a waiting thread before it sleeps, less than a millisecond
if "torch" not in sys.modules and not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = SPINS

__version__ = "0.1.0"
__all__ = [  # noqa: RUF022 the first is all that most need
    "load", "Directions", "Translator", "Translation", "Transformer", "Tokenizer", "ModelConfig",
    "DecodeConfig", "UserError", "__version__",
]  # fmt: skip

_HOMES = {"load": "translation.directions", "Directions": "translation.directions",
          "Translator": "translation.translator", "Translation": "translation.translator",
          "Transformer": "model",
          "Tokenizer": "text.tokenizer", "ModelConfig": "config", "DecodeConfig": "config",
          "UserError": "config"}  # fmt: skip

if not TYPE_CHECKING:  # which would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

    def __dir__() -> list[str]:
        """What people may use: it is shown by `help(transformer)` and by the Tab key."""
        return [*__all__, *(name for name in globals() if name[:2] == "__")]
