"""Scores a model, or a file of translations, on test sets and writes a report.

python scripts/evaluate.py --model checkpoints/es-en --test newstest2013.parquet
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace

from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import COMPUTE_TYPE_HELP, ComputeType, DecodeConfig, choices
from transformer.evaluation.evaluate import PAGE_NAME, EvaluationRequest, evaluate
from transformer.evaluation.report import table


def parser() -> argparse.ArgumentParser:
    """The flags; those of decoding come from DecodeConfig."""
    flags = Parser(
        description="Scores a model on test sets: BLEU, chrF and TER by sacreBLEU with 95 per cent "
        "intervals, by sentence length, speed, faults, the worst sentences; compares two systems."
    )
    add = flags.add_argument
    add("--model", required=True, help="checkpoint folder, or a file of translations, one a line")
    add("--test", required=True, nargs="+", help="test sets: parquet, jsonl, tsv, tmx, Moses, hub:")
    add("--name", nargs="+", default=[], help="a name for each test set (default: of its file)")
    add("--output", help="folder of the report (default: evaluation/NAME in the model's folder)")
    add("--compare", help="the baseline: a checkpoint, a file of translations, an earlier report")
    add("--from", dest="src_lang", help="source language, where there is no checkpoint")
    add("--to", dest="tgt_lang", help="target language, where there is no checkpoint")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)")
    add("--compute-type", choices=choices(ComputeType), default="auto", help=COMPUTE_TYPE_HELP)
    add("--guard", action="store_true", help="translate with care, as `translate` does by default")
    add("--limit", type=int, help="only the first sentences of each test set")
    add(
        "--known",
        nargs="+",
        default=[],
        metavar="CORPUS",
        help="training text: words of the output that it has in neither language are counted",
    )
    add_arguments(flags, DecodeConfig, skip=("n_best", "scores"))
    return flags


def run(given: argparse.Namespace) -> None:
    """Evaluates, and prints the scores and where the report is."""
    request = EvaluationRequest(
        model=given.model,
        tests=tuple(given.test),
        names=tuple(given.name),
        output=given.output,
        compare=given.compare,
        src_lang=given.src_lang,
        tgt_lang=given.tgt_lang,
        device=given.device,
        limit=given.limit,
        guard=given.guard,
        known=tuple(given.known),
        compute_type=given.compute_type,
        decode=replace(from_arguments(DecodeConfig, given), scores=False),
    )
    report, folder = evaluate(request)
    print(f"{table(report)}\n\n{folder / PAGE_NAME}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("transformer").setLevel(logging.INFO)
    return run_command(lambda: run(given), "evaluate")


if __name__ == "__main__":
    sys.exit(main())
