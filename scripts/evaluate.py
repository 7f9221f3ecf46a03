"""Scores a model, or a file of translations, on test sets and writes a report.

    python scripts/evaluate.py --model checkpoints/es-en --test newstest2013.parquet
    python scripts/evaluate.py --model mine.txt --from es --to en --test test.tsv

BLEU, chrF and TER by sacreBLEU with 95 per cent intervals, by sentence length, speed, faults, the
worst sentences; with --compare, whether the difference of two systems counts.
"""

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace

from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import ColumnConfig, DecodeConfig
from transformer.evaluation.evaluate import PAGE_NAME, EvaluationRequest, evaluate
from transformer.evaluation.report import summary_table
from transformer.flags import add_device_arguments
from transformer.text.language import language_code


def parser() -> argparse.ArgumentParser:
    """Define the flags; those of decoding come from DecodeConfig."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--model", required=True, help="checkpoint folder, or a file of translations, one a line")
    add("--test", dest="tests", required=True, nargs="+", metavar="TEST",
        help="test sets: parquet, jsonl, tsv, csv, tmx, Moses, hub:")  # fmt: skip
    add("--name", dest="names", nargs="+", metavar="NAME",
        help="a name for each test set (default: of its file)")  # fmt: skip
    add("--output", help="folder of the report (default: evaluation/NAME in the model's folder, "
        "of a released model in the one at hand)")  # fmt: skip
    add("--compare", help="the baseline: a checkpoint, a file of translations, an earlier report")
    add("--from", dest="src_lang", type=language_code,
        help="source language, where there is no checkpoint")  # fmt: skip
    add("--to", dest="tgt_lang", type=language_code,
        help="target language, where there is no checkpoint")  # fmt: skip
    add_device_arguments(flags)
    add("--guard", action="store_true", help="translate with the guard, as `translate` does")
    add("--limit", type=int, help="use only so many sentences of each test set, the first ones")
    add("--known", nargs="+", metavar="CORPUS",
        help="training text: words that only the output has are counted")  # fmt: skip
    add_arguments(flags, ColumnConfig)
    add_arguments(flags, DecodeConfig, skip=("n_best", "scores"))
    return flags


def run(given: argparse.Namespace) -> None:
    """Evaluate, and print the scores and the path of the report."""
    given.columns = from_arguments(ColumnConfig, given)
    given.decode = replace(from_arguments(DecodeConfig, given), scores=False)
    report, folder = evaluate(from_arguments(EvaluationRequest, given))
    print(f"{summary_table(report)}\n\n{folder / PAGE_NAME}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    logging.basicConfig(format="%(message)s")
    logging.getLogger("transformer").setLevel(logging.INFO)
    return run_command(lambda: run(parser().parse_args(arguments)), "evaluate")


if __name__ == "__main__":
    raise SystemExit(main())
