"""Spanish-English machine translation with an encoder-decoder Transformer.

    import transformer
    transformer.load().translate("Buenos días.").text

The names below are imported when they are first used: importing the package costs nothing.

If torch is not imported yet, importing this package makes torch's idle threads sleep soon instead
of spinning, by GOMP_SPINCOUNT: with spinning threads, training beside any other work on the
machine falls to a fifth of its speed. A value of that variable or of OMP_WAIT_POLICY is kept.
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

SPIN_COUNT = "20000"  # checks of a waiting thread before it sleeps: under a millisecond
if "torch" not in sys.modules and not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT

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
        """List the public names, for `help(transformer)` and the Tab key."""
        return [*__all__, *(name for name in globals() if name[:2] == "__")]
