"""Trains a translation model, from the corpus to its own evaluation report.

    python scripts/train.py                              the small corpus that comes with it
    python scripts/train.py --train my.tsv --dev dev.tsv --from es --to en --preset small
    accelerate launch --num_processes 2 scripts/train.py ...      the same, on several processes

The same command goes on where a stopped run left off.
"""

import argparse
import dataclasses
import logging
import sys
from pathlib import Path

from transformer.command import add_arguments, from_arguments, run_command
from transformer.config import (
    NOISE_PRESETS,
    PRESETS,
    CorpusConfig,
    ModelConfig,
    NoiseConfig,
    TrainConfig,
)
from transformer.evaluation.report import table
from transformer.training.runtime import start_cpu_processes
from transformer.training.train import TrainRequest, train

ROOT = Path(__file__).resolve().parent.parent
OWN_CORPUS = {  # what a run without --train does: about three minutes on two CPU cores
    "preset": "tiny", "vocab_size": 2000, "batch_tokens": 4096, "warmup": 400, "lr_scale": 1.5,
    "optimizer": "adam", "schedule": "paper", "max_steps": 1250, "save_every": 250,
    "eval_every": 250, "eval_pairs": 200,
}  # fmt: skip
NOISE = tuple(field.name for field in dataclasses.fields(NoiseConfig))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--train", nargs="+", metavar="SOURCE[@WEIGHT]", help="training corpora")
    add("--dev", nargs="+", default=[], metavar="SOURCE", help="for choosing")
    add("--test", nargs="+", default=[], metavar="SOURCE", help="for the report")
    add("--from", dest="src_lang", default="es", help="source (default: es)")
    add("--to", dest="tgt_lang", default="en", help="target (default: en)")
    add("--both", action="store_true",
        help="one model for both directions, told by the first source piece")  # fmt: skip
    add("--output", type=Path, help="folder of the run (default: checkpoints/...)")
    add("--cache", type=Path, default=ROOT / "data" / "prepared",
        help="folder of tokenised corpora (default: data/prepared)")  # fmt: skip
    add("--tokenizer-model", type=Path, help="a vocabulary to use, not a new one")
    add("--init", type=Path, metavar="CHECKPOINT", help="model to begin with; its shape may grow")
    add("--resume-from", type=Path, metavar="CHECKPOINT",
        help="go on from this checkpoint of the run, where last/ is broken")  # fmt: skip
    add("--preset", choices=sorted(PRESETS), help="model size (default: small)")
    add_arguments(parser, ModelConfig, from_preset=True)
    add_arguments(parser, CorpusConfig)
    add_arguments(parser, TrainConfig, skip=NOISE)
    add("--noise", choices=sorted(NOISE_PRESETS), default="none",
        help="how often training alters its pairs (default: none)")  # fmt: skip
    add_arguments(parser, NoiseConfig, from_preset=True)
    return parser


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    """The flags; without --train those of the corpus that comes with the project."""
    parser = _parser()
    args = parser.parse_args(argv)
    if not args.train:
        parser.set_defaults(**OWN_CORPUS)
        args = parser.parse_args(argv)
        args.train, args.dev, args.test = (
            [str(ROOT / "data" / f"{part}.tsv")] for part in ("train", "dev", "test")
        )
    langs = f"{args.src_lang}-{args.tgt_lang}" + ("-both" if args.both else "")
    args.output = args.output or ROOT / "checkpoints" / f"run-{Path(args.train[0]).stem}-{langs}"
    return args


def _request(args: argparse.Namespace) -> TrainRequest:
    names = (field.name for field in dataclasses.fields(ModelConfig))
    return TrainRequest(
        train=tuple(args.train),
        dev=tuple(args.dev),
        test=tuple(args.test),
        langs=(args.src_lang, args.tgt_lang),
        both=args.both,
        output=args.output,
        cache=args.cache,
        tokenizer_model=args.tokenizer_model,
        init=args.init,
        resume_from=args.resume_from,
        preset=args.preset,
        shape={name: value for name in names if (value := getattr(args, name)) is not None},
        corpus=from_arguments(CorpusConfig, args),
        config=from_arguments(TrainConfig, args, base=TrainConfig(**NOISE_PRESETS[args.noise])),
    )


def run(args: argparse.Namespace) -> None:
    """Trains, and prints the scores of the test sets and where their report is."""
    result = train(_request(args))
    if result.report:
        print(f"{table(result.report)}\n\n{result.page}")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    if argv is None:
        start_cpu_processes()
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    return run_command(lambda: run(_arguments(argv)), "train")


if __name__ == "__main__":
    sys.exit(main())
