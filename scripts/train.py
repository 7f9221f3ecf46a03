"""Train a translation model, from the corpus to an evaluation report.

    python scripts/train.py                              a first run of four minutes
    python scripts/train.py --train data/train.tsv       the whole corpus that comes with it
    python scripts/train.py --train my.tsv --dev dev.tsv --from es --to en --preset small
    python scripts/train.py --fine-tune checkpoints/es-en --train mine.tmx
    accelerate launch --num_processes 2 scripts/train.py ...      the same, on several processes

To resume a stopped run, give the same command again. The first run, fine-tuning and the supplied
corpus have other defaults than those below; run.json in the folder of a run has its settings.
"""

import argparse
import dataclasses
import logging
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.checkpoint.locate import find_checkpoint, read_config
from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import (
    FINE_TUNE,
    FINE_TUNE_LIMITS,
    NOISE_FIELDS,
    NOISE_PRESETS,
    PRESETS,
    CorpusConfig,
    ModelConfig,
    NoiseConfig,
    TrainConfig,
    UserError,
)
from transformer.text.language import language_code
from transformer.training.run import StopReason
from transformer.training.runtime import start_cpu_processes
from transformer.training.train import TrainRequest, prepare_only, train

if TYPE_CHECKING:
    from transformer.evaluation.report import Report

ROOT = Path(__file__).resolve().parent.parent
WHOLE, BEGINNER = (
    {part: str(ROOT / "data" / f"{start}{part}.tsv") for part in ("train", "dev", "test")}
    for start in ("", "beginner-")
)
FIRST_RUN = {  # without --train: within four minutes on two CPU cores, preparing and scoring too
    "preset": "tiny", "d_model": 192, "vocab_size": 6000, "batch_tokens": 3072, "dropout": 0.05,
    "learning_rate": 0.008, "warmup": 40, "cooldown_ratio": 0.7, "threads": 1, "ema": 0.99,
    "average": 0, "max_minutes": 3.75, "save_every": 200, "eval_every": 200, "eval_pairs": 250,
}  # fmt: skip
WHOLE_LIMITS = {"max_minutes": 30.0}  # of --train data/train.tsv, unless another limit is given
EXAMPLES = {"es": "¿Dónde está la estación?", "en": "Where is the station?"}


def _parser() -> argparse.ArgumentParser:
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--train", nargs="+", metavar="SOURCE[@WEIGHT]",
        help="corpora to train on: files (.tsv, .csv, .jsonl, .tmx, .parquet), Moses pairs "
        "(a.es,a.en), each also .gz, or hub:NAME[:CONFIG[:SPLIT]]; WEIGHT is how often an epoch "
        "takes each pair (default: 1), 0.5: a new half of them in each epoch")  # fmt: skip
    add("--dev", nargs="+", default=[], metavar="SOURCE",
        help="development sets, to choose the best checkpoint")  # fmt: skip
    add("--test", nargs="+", default=[], metavar="SOURCE", help="test sets, for the report")
    add("--from", dest="src_lang", type=language_code,
        help="source language (default: es, or that of --fine-tune)")  # fmt: skip
    add("--to", dest="tgt_lang", type=language_code,
        help="target language (default: en, or that of --fine-tune)")  # fmt: skip
    add("--both", action="store_true",
        help="one model for both directions; a first token of the source names the target "
        "language")  # fmt: skip
    add("--output", type=Path, help="folder of the run (default: in checkpoints/, named by the "
        "first corpus and the languages: run-mine-es-en, with --fine-tune tuned-mine-es-en; "
        "without --train first-es-en)")  # fmt: skip
    add("--cache", type=Path, default=ROOT / "data" / "prepared",
        help="folder of tokenised corpora (default: data/prepared)")  # fmt: skip
    add("--prepared", type=Path, metavar="FOLDER",
        help="a tokenised corpus to train on, made by --prepare-only")  # fmt: skip
    add("--prepare-only", action="store_true",
        help="only clean and tokenise the text and write it to the folder --prepared, to train "
        "elsewhere; do not train")  # fmt: skip
    add("--tokenizer-model", type=Path, help="use this vocabulary instead of a new one")
    add("--init", type=Path, metavar="CHECKPOINT",
        help="start from the weights of this model; if its norm is pre, the new one may be larger: "
        "more layers, a larger --d-ff, or --d-model and --n-heads times the same whole number"
        )  # fmt: skip
    add("--fine-tune", type=Path, metavar="CHECKPOINT",
        help="continue to train a finished model; prints BLEU before and after")  # fmt: skip
    add("--mix", nargs="*", metavar="SOURCE[@WEIGHT]",
        help="general text to mix in when fine-tuning, so that the model forgets less; without "
        "WEIGHT, about as many pairs as --train has (default: data/train.tsv)")  # fmt: skip
    add("--general-dev", nargs="*", metavar="SOURCE",
        help="measure what fine-tuning forgets on these sets (default: data/dev.tsv)")  # fmt: skip
    add("--resume-from", type=Path, metavar="CHECKPOINT",
        help="resume from this checkpoint of the run, if its latest one, last/, is damaged"
        )  # fmt: skip
    add("--preset", choices=sorted(PRESETS), help="model size (default: small)")
    add_arguments(parser, ModelConfig, from_preset=True)
    add_arguments(parser, CorpusConfig)
    add_arguments(parser, TrainConfig, skip=NOISE_FIELDS)
    add("--noise", choices=sorted(NOISE_PRESETS), default="none",
        help="preset of the --noise-... options; robust: all but --noise-names, slots in 30 %% of "
        "the pairs, anything else in 1 to 6 %% (default: none)")  # fmt: skip
    add_arguments(parser, NoiseConfig, from_preset=True)
    return parser


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    """Parse the flags; without --train those of the first run, on a part of the corpus."""
    parser = _parser()
    args = parser.parse_args(argv)
    own = [Path(source) for source in args.train or ()]
    has_limit = args.max_steps or args.max_epochs or args.max_minutes
    name, defaults, sets = f"run-{own[0].stem}" if own else "first", dict[str, Any](), {}
    if args.fine_tune:
        _check_fine_tune(args)
        name = f"tuned-{own[0].stem}"
        defaults = {**FINE_TUNE, **({} if has_limit else FINE_TUNE_LIMITS)}
    elif args.mix is not None or args.general_dev is not None:
        raise UserError("expected --fine-tune with --mix and --general-dev, which are for it")
    elif not own and args.prepared and not args.prepare_only:
        name = f"run-{args.prepared.name}"  # on all that the folder has
    elif not own:
        defaults, sets = FIRST_RUN, BEGINNER
    elif [source.resolve() for source in own] == [Path(WHOLE["train"])]:
        defaults, sets = {} if has_limit else WHOLE_LIMITS, WHOLE
    parser.set_defaults(**defaults)
    args = parser.parse_args(argv)
    for part in ("train", "dev", "test"):
        setattr(args, part, getattr(args, part) or ([sets[part]] if sets else []))
    langs = "es", "en"
    if args.fine_tune:
        args.init, langs = args.fine_tune, read_config(find_checkpoint(args.fine_tune))[1][0]
        args.mix = [WHOLE["train"]] if args.mix is None else args.mix
        args.general_dev = [WHOLE["dev"]] if args.general_dev is None else args.general_dev
    args.src_lang, args.tgt_lang = args.langs = args.src_lang or langs[0], args.tgt_lang or langs[1]
    if args.fine_tune and args.langs != langs:
        expected = f"--from {langs[0]} --to {langs[1]}, as the model"
        raise UserError(f"expected {expected}; got {args.langs}")
    name = "-".join((name, *args.langs)) + ("-both" if args.both else "")
    args.output = args.output or ROOT / "checkpoints" / name
    return args


def _check_fine_tune(args: argparse.Namespace) -> None:
    for name in ("init", "both", "preset"):
        if getattr(args, name):
            raise UserError(f"expected --fine-tune without --{name}: the checkpoint brings it")
    if not args.train:
        raise UserError("expected own text for --fine-tune, got none: name it with --train")


def _request(args: argparse.Namespace) -> TrainRequest:
    names = (field.name for field in dataclasses.fields(ModelConfig))
    args.shape = {name: value for name in names if (value := getattr(args, name)) is not None}
    args.corpus = from_arguments(CorpusConfig, args)
    args.config = from_arguments(TrainConfig, args, base=TrainConfig(**NOISE_PRESETS[args.noise]))
    return from_arguments(TrainRequest, args)


def run(args: argparse.Namespace) -> None:
    """Train, and print the scores of the test sets and where their report is."""
    request = _request(args)
    if args.prepare_only:
        return prepare_only(request)
    if args.fine_tune:
        from transformer.training.fine_tune import fine_tune

        result = fine_tune(request, args.mix, args.general_dev)
    else:
        result = train(request)
    if result.stop_reason is StopReason.SIGNAL:
        logging.info("the same command goes on from there")
        raise KeyboardInterrupt(signal.Signals[result.stop_signal or "SIGTERM"])
    for report, page in result.reports:
        _print_report(report, page, len(result.reports) > 1)
    model = shlex.quote(str(_relative(request.output)))
    example = EXAMPLES.get(request.langs[0], "...")
    logging.info('translate with it: translate --model %s "%s"', model, example)


def _print_report(report: "Report", page: Path, both: bool) -> None:
    """Print the scores of the test sets, BLEU of each in a line, and the path of their page."""
    from transformer.evaluation.report import summary_table

    print(f"{summary_table(report)}\n")
    direction = f", {report.src_lang}-{report.tgt_lang}" if both else ""
    for test_set in report.sets:
        bleu = next(score for score in test_set.scores if score.metric == "BLEU")
        interval = f" [{bleu.low:.1f}, {bleu.high:.1f}]" if bleu.low is not None else ""
        lines = f"{test_set.sentences} lines of {test_set.name}{direction}"
        print(f"BLEU {bleu.value:.1f}{interval} on {lines}")
    print(f"report: {_relative(page)}", flush=True)


def _relative(path: Path) -> Path:
    """Return a path relative to the working directory, where it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if argv is None:
        start_cpu_processes()
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    return run_command(lambda: run(_arguments(argv)), "train")


if __name__ == "__main__":
    raise SystemExit(main())
