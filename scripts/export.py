"""Write a trained model as a folder for CTranslate2 or Hugging Face Transformers, and check it.

    python scripts/export.py --model checkpoints/es-en --to ctranslate2 --output es-en-ct2
    python scripts/export.py --model checkpoints/both --direction en-es --to huggingface --output x

The folder is written only if, in float32, it translates test sentences exactly as the model does.
"""

import argparse
from pathlib import Path
from typing import get_args

from transformer.command import Parser, from_arguments, os_errors_as_user_errors, run_command
from transformer.export.export import ExportRequest, Target, export
from transformer.export.to_ctranslate2 import Quantization
from transformer.files import read_lines


def parser() -> argparse.ArgumentParser:
    """Define the flags; their choices are those of the library."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--model", required=True, help="checkpoint folder, or the folder of a run")
    add("--to", dest="target", required=True, choices=get_args(Target),
        help="the engine to export to; marian is the same as huggingface")  # fmt: skip
    add("--output", dest="folder", required=True, type=Path, metavar="FOLDER",
        help="the folder to write, new or empty")  # fmt: skip
    add("--direction", dest="langs", type=lambda langs: tuple(langs.split("-")), metavar="es-en",
        help="direction to export, of a model with several (default: its first)")  # fmt: skip
    add("--quantization", choices=get_args(Quantization), default="none",
        help="how CTranslate2 stores the weights (default: none, float32)")  # fmt: skip
    add("--check", type=Path, help="a UTF-8 file of more sentences to check, one a line")
    return flags


def run(args: argparse.Namespace) -> None:
    """Export, and print what the check found."""
    with os_errors_as_user_errors(f"read {args.check}"):
        args.texts = args.check and tuple(read_lines(args.check.open("rb"), str(args.check)))
    agreement = export(from_arguments(ExportRequest, args))
    print(
        f"{args.folder}: {agreement.n_sentences} sentences translated as by the model in float32 "
        f"({agreement.n_ties} of them with a tie)"
    )
    if args.quantization != "none":
        print(f"with {args.quantization} weights: {agreement.n_quantized} of them alike")


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(lambda: run(parser().parse_args(argv)), "export")


if __name__ == "__main__":
    raise SystemExit(main())
