"""Spanish-English machine translation with an encoder-decoder Transformer."""

__version__ = "0.1.0"
