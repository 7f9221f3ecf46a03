"""Trains a translation model, from the corpus to its own evaluation report.

    python scripts/train.py                              the small corpus that comes with it
    python scripts/train.py --train my.tsv --dev dev.tsv --from es --to en --preset small
    python scripts/train.py --fine-tune checkpoints/es-en --train mine.tmx
    accelerate launch --num_processes 2 scripts/train.py ...      the same, on several processes

The same command goes on where a stopped run left off.
"""

import argparse
import dataclasses
import logging
import sys
from pathlib import Path

from transformer.checkpoint.locate import find, read_config
from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import (
    FINE_TUNE,
    FINE_TUNE_LIMITS,
    NOISE_PRESETS,
    NOISES,
    PRESETS,
    CorpusConfig,
    Direction,
    ModelConfig,
    NoiseConfig,
    TrainConfig,
    UserError,
)
from transformer.training.run import BEST, Ending
from transformer.training.runtime import start_cpu_processes
from transformer.training.train import TrainRequest, prepare_only, train

ROOT = Path(__file__).resolve().parent.parent
OWN_CORPUS = {  # what a run without --train does: about three minutes on two CPU cores
    "preset": "tiny", "vocab_size": 2000, "batch_tokens": 4096, "warmup": 400, "lr_scale": 1.5,
    "optimizer": "adam", "schedule": "paper", "max_steps": 1250, "save_every": 250,
    "eval_every": 250, "eval_pairs": 200,
}  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--train", nargs="+", metavar="SOURCE[@WEIGHT]", help="training corpora")
    add("--dev", nargs="+", default=[], metavar="SOURCE", help="for choosing")
    add("--test", nargs="+", default=[], metavar="SOURCE", help="for the report")
    add("--from", dest="src_lang", help="source (default: es, or what --fine-tune names has)")
    add("--to", dest="tgt_lang", help="target (default: en, or what --fine-tune names has)")
    add("--both", action="store_true",
        help="one model for both directions, told by the first source piece")  # fmt: skip
    add("--output", type=Path, help="folder of the run (default: checkpoints/...)")
    add("--cache", type=Path, default=ROOT / "data" / "prepared",
        help="folder of tokenised corpora (default: data/prepared)")  # fmt: skip
    add("--prepared", type=Path, metavar="FOLDER",
        help="a tokenised corpus in the place of text, made by --prepare-only")  # fmt: skip
    add("--prepare-only", action="store_true",
        help="clean and tokenise into --prepared, to train from it elsewhere")  # fmt: skip
    add("--tokenizer-model", type=Path, help="a vocabulary to use, not a new one")
    add("--init", type=Path, metavar="CHECKPOINT", help="model to begin with; its shape may grow")
    add("--fine-tune", type=Path, metavar="CHECKPOINT",
        help="go on with a finished model; tells BLEU before and after")  # fmt: skip
    add("--mix", nargs="*", metavar="SOURCE[@WEIGHT]",
        help="general text to fine-tune with, too (default: data/train.tsv)")  # fmt: skip
    add("--general-dev", nargs="*", metavar="SOURCE",
        help="measures what that forgets (default: data/dev.tsv)")  # fmt: skip
    add("--resume-from", type=Path, metavar="CHECKPOINT",
        help="go on from this checkpoint of the run, where last/ is broken")  # fmt: skip
    add("--preset", choices=sorted(PRESETS), help="model size (default: small)")
    add_arguments(parser, ModelConfig, from_preset=True)
    add_arguments(parser, CorpusConfig)
    add_arguments(parser, TrainConfig, skip=NOISES)
    add("--noise", choices=sorted(NOISE_PRESETS), default="none",
        help="how often training alters its pairs (default: none)")  # fmt: skip
    add_arguments(parser, NoiseConfig, from_preset=True)
    return parser


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    """The flags; without --train those of the corpus that comes with the project."""
    parser = _parser()
    own = {part: str(ROOT / "data" / f"{part}.tsv") for part in ("train", "dev", "test")}
    args = parser.parse_args(argv)
    if args.fine_tune:
        _check_fine_tune(args)
        limited = any(getattr(args, name) for name in ("max_steps", *FINE_TUNE_LIMITS))
        parser.set_defaults(**FINE_TUNE, **({} if limited else FINE_TUNE_LIMITS))
        args = parser.parse_args(argv)
        args.init, (args.src_lang, args.tgt_lang) = args.fine_tune, _direction(args)
        args.mix, args.general_dev = (
            [own[part]] if given is None else given
            for part, given in (("train", args.mix), ("dev", args.general_dev))
        )
    elif args.mix is not None or args.general_dev is not None:
        raise UserError("expected --fine-tune with --mix and --general-dev, which are for it")
    elif not args.train and (args.prepare_only or not args.prepared):
        parser.set_defaults(**OWN_CORPUS)
        args = parser.parse_args(argv)
        for part, source in own.items():
            setattr(args, part, getattr(args, part) or [source])
    args.src_lang, args.tgt_lang = args.src_lang or "es", args.tgt_lang or "en"
    langs = f"{args.src_lang}-{args.tgt_lang}" + ("-both" if args.both else "")
    kind = "tuned" if args.fine_tune else "run"
    named = Path(args.train[0] if args.train else args.prepared).stem
    args.output = args.output or ROOT / "checkpoints" / f"{kind}-{named}-{langs}"
    return args


def _check_fine_tune(args: argparse.Namespace) -> None:
    for name in ("init", "both", "preset"):
        if getattr(args, name):
            raise UserError(f"expected --fine-tune without --{name}: the checkpoint brings it")
    if not args.train:
        raise UserError("expected own text for --fine-tune, got none: name it with --train")


def _direction(args: argparse.Namespace) -> Direction:
    """That of the model to fine-tune, which --from and --to may repeat."""
    langs = read_config(find(args.fine_tune))[1][0]
    asked = args.src_lang or langs[0], args.tgt_lang or langs[1]
    if asked != langs:
        raise UserError(f"expected --from {langs[0]} --to {langs[1]}, as the model; got {asked}")
    return langs


def _request(args: argparse.Namespace) -> TrainRequest:
    names = (field.name for field in dataclasses.fields(ModelConfig))
    args.langs = args.src_lang, args.tgt_lang
    args.shape = {name: value for name in names if (value := getattr(args, name)) is not None}
    args.corpus = from_arguments(CorpusConfig, args)
    args.config = from_arguments(TrainConfig, args, base=TrainConfig(**NOISE_PRESETS[args.noise]))
    return from_arguments(TrainRequest, args)


def run(args: argparse.Namespace) -> None:
    """Trains, and prints the scores of the test sets and where their report is."""
    request = _request(args)
    if args.prepare_only:
        return prepare_only(request)
    if args.fine_tune:
        from transformer.training.fine_tune import FineTuneRequest, fine_tune

        more = {"mix": tuple(args.mix), "general": tuple(args.general_dev)}
        result = fine_tune(FineTuneRequest(run=request, **more))
    else:
        result = train(request)
    if result.ending is Ending.STOPPED:
        logging.info("the same command goes on with it")
    elif not args.fine_tune:
        logging.info("the model: %s", request.output / BEST)
    if result.report:
        from transformer.evaluation.report import table

        print(f"{table(result.report)}\n\n{result.page}")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    if argv is None:
        start_cpu_processes()
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    return run_command(lambda: run(_arguments(argv)), "train")


if __name__ == "__main__":
    sys.exit(main())
