"""The flags of the `translate` command. Those of the search and of the server are of `config`."""

import argparse
from pathlib import Path

from transformer.config import (
    COMPUTE_TYPE_HELP,
    ComputeType,
    DecodeConfig,
    add_arguments,
    choices,
)
from transformer.detect import LANGUAGES
from transformer.serving import ServeConfig

__all__ = ["PICTURES", "parser"]
PICTURES = (".png", ".svg", ".html")
GUARD_HELP = (
    "keep placeholders, addresses, tags and emoji, lower capitals, retry faulty translations and "
    "warn of what is still wrong; --no-guard: the plain search (default: --guard)"
)


def parser() -> argparse.ArgumentParser:
    """The flags of `translate`; those of the search come from DecodeConfig."""
    flags = argparse.ArgumentParser(
        prog="translate",
        description="Translates between Spanish and English, offline: the arguments, a file, or "
        "standard input, line by line.",
    )
    add = flags.add_argument
    add("text", nargs="*", help="texts to translate; without any, standard input is read")
    add("--input", type=Path, help="a UTF-8 file to translate line by line")
    add("--output", type=Path, help="the file to write, one line for each line")
    add("--from", dest="src_lang", choices=LANGUAGES, help="source language (default: recognised)")
    add("--to", dest="tgt_lang", choices=LANGUAGES, help="target language (default: the other one)")
    add("--model", help="checkpoint folder (default: checkpoints/FROM-TO)")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)")
    add("--compute-type", choices=choices(ComputeType), default="auto", help=COMPUTE_TYPE_HELP)
    add("--guard", action=argparse.BooleanOptionalAction, default=True, help=GUARD_HELP)
    add(
        "--selftest",
        action="store_true",
        help="translate the model's golden sentences; exit "
        "code 1 if they differ from those of its release",
    )
    add(
        "--json",
        action="store_true",
        help="a JSON object a line: translation, score, tokens, languages, warnings",
    )
    add("--serve", action="store_true", help="answer over HTTP: the LibreTranslate API and a page")
    add("--new-api-key", type=Path, metavar="FILE", help="print a new key, add its hash to FILE")
    add("--explain", action="store_true", help="print how each sentence was decoded, step by step")
    add("--attention", type=Path, metavar="FILE", help="draw the alignment: .png, .svg or .html")
    add_arguments(flags, DecodeConfig, skip=("scores",))
    add_arguments(flags, ServeConfig)
    return flags
