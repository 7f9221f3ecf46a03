"""Pairs written as a corpus: TSV whose first line names the languages."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from transformer.folder import write_text
from transformer.sources import Languages, Pair


def tsv(name: str) -> Path:
    """The value of a flag that names a file to write; refused before any work is done."""
    if not name.endswith(".tsv"):
        raise argparse.ArgumentTypeError(f"expected a name that ends in .tsv, got {name}")
    return Path(name)


def write_tsv(path: Path, langs: Languages, pairs: Iterable[Pair]) -> None:
    """Writes a whole file or nothing. No text holds a tab or a line break (`cleaning.tidy`)."""
    write_text(path, "".join(f"{src}\t{tgt}\n" for src, tgt in [langs, *pairs]))
