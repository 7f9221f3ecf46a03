"""Trains a translation model, from the corpus to its own evaluation report.

    python scripts/train.py                              the small corpus that comes with it
    python scripts/train.py --train my.tsv --dev dev.tsv --from es --to en --preset small
    accelerate launch --num_processes 2 scripts/train.py ...      the same, on several processes

The same command goes on where a stopped run left off.
"""

import argparse
import dataclasses
import hashlib
import logging
import sys
from pathlib import Path
from typing import Any

from transformer import plots
from transformer.checkpoint import initialize
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.initialize import weights_for
from transformer.checkpoint.locate import read_metrics
from transformer.command import add_arguments, from_arguments, run_command
from transformer.config import (
    NOISE_PRESETS,
    PRESETS,
    CorpusConfig,
    ModelConfig,
    NoiseConfig,
    SentencePair,
    TrainConfig,
    UserError,
    model_config,
)
from transformer.corpus.prepare import PreparedCorpus, Source, prepare
from transformer.corpus.readers import read_pairs
from transformer.evaluation import evaluate
from transformer.evaluation.report import table
from transformer.training.run import BEST, check_same_run
from transformer.training.runtime import make_accelerator, start_cpu_processes
from transformer.training.trainer import Trainer

ROOT = Path(__file__).resolve().parent.parent
OWN_CORPUS = {  # what a run without --train does: about three minutes on two CPU cores
    "preset": "tiny", "vocab_size": 2000, "batch_tokens": 4096, "warmup": 400, "lr_scale": 1.5,
    "max_steps": 1250, "save_every": 250, "eval_every": 250, "eval_pairs": 200,
}  # fmt: skip
NOISE = tuple(field.name for field in dataclasses.fields(NoiseConfig))
PAPERS = ("schedule", "paper")  # noted only where it is another
logger = logging.getLogger("train")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", nargs="+", metavar="SOURCE[@WEIGHT]", help="training corpora")
    parser.add_argument("--dev", nargs="+", default=[], metavar="SOURCE", help="for choosing")
    parser.add_argument("--test", nargs="+", default=[], metavar="SOURCE", help="for the report")
    parser.add_argument("--from", dest="src_lang", default="es", help="source (default: es)")
    parser.add_argument("--to", dest="tgt_lang", default="en", help="target (default: en)")
    parser.add_argument(
        "--both",
        action="store_true",
        help="one model for both directions, told by the first source piece",
    )
    parser.add_argument("--output", type=Path, help="folder of the run (default: checkpoints/...)")
    parser.add_argument("--cache", type=Path, default=ROOT / "data" / "prepared",
                        help="folder of tokenised corpora (default: data/prepared)")  # fmt: skip
    parser.add_argument("--tokenizer-model", type=Path, help="a vocabulary to use, not a new one")
    parser.add_argument("--init", type=Path, metavar="CHECKPOINT",
                        help="model to begin with; its shape may grow")  # fmt: skip
    parser.add_argument("--preset", choices=sorted(PRESETS), help="model size (default: small)")
    add_arguments(parser, ModelConfig, from_preset=True)
    add_arguments(parser, CorpusConfig)
    add_arguments(parser, TrainConfig, skip=NOISE)
    parser.add_argument("--noise", choices=sorted(NOISE_PRESETS), default="none",
                        help="how often training alters its pairs (default: none)")  # fmt: skip
    add_arguments(parser, NoiseConfig, from_preset=True)
    return parser


def _arguments(argv: list[str] | None) -> argparse.Namespace:
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
    limits = args.max_steps or args.max_epochs or args.max_minutes or args.patience
    if not limits:
        raise UserError(
            "expected a limit: --max-steps, --max-epochs, --max-minutes or --patience; got none"
        )
    return args


def _read_all(specs: list[str], langs: tuple[str, str]) -> list[SentencePair]:
    return [pair for spec in specs for pair in read_pairs(spec, *langs)]


def _tell_corpus(data: PreparedCorpus) -> None:
    for source in data.report["sources"]:
        counts = ", ".join(f"{n:,} {reason}" for reason, n in source["counts"].items())
        logger.info("corpus %s: %s", source["spec"], counts)


def _draw(folder: Path) -> None:
    records = read_metrics(folder)
    if not records:
        return
    try:
        curves = plots.curves(records)
    except UserError as error:  # the plots are an extra
        logger.info("no curves drawn: %s", error)
        return
    checkpoint.write_text(folder / "curves.svg", curves)


def _shape(args: argparse.Namespace, before: checkpoint.Checkpoint | None) -> ModelConfig:
    """The model that is asked for; one that begins with a checkpoint has its shape, or grows."""
    if before is None:
        return from_arguments(ModelConfig, args, base=model_config(args.preset or "small"))
    if args.preset:
        raise UserError("expected --init without --preset: it brings the shape; leave one out")
    model = from_arguments(ModelConfig, args, base=before.model.config)
    initialize.check(before.model.config, model)
    return model


def _settings(args: argparse.Namespace, data: PreparedCorpus, *configs: Any) -> dict[str, Any]:
    named = ("train", "dev", "src_lang", "tgt_lang")
    settings = {name: getattr(args, name) for name in named}
    # Changed files or test sets show here.
    if args.init:
        settings["init"] = str(args.init)
    if args.both:
        settings["both"] = True
    settings["pairs kept"] = [pairs for pairs, _ in data.sizes]
    settings["vocabulary"] = hashlib.sha256(data.tokenizer.model).hexdigest()[:16]
    for config in configs:
        settings |= dataclasses.asdict(config)
    # What is off is left out, so that a run from before there was any noise can go on.
    later = (*NOISE, "learning_rate")
    settings = {name: value for name, value in settings.items() if value or name not in later}
    return {name: value for name, value in settings.items() if (name, value) != PAPERS}


def run(args: argparse.Namespace) -> str:
    """Prepares, trains or goes on, and writes the report of the test sets."""
    langs = (args.src_lang, args.tgt_lang)
    directions = (langs, langs[::-1]) if args.both else (langs,)
    before = checkpoint.load(args.init) if args.init else None
    model = _shape(args, before)
    corpus = from_arguments(CorpusConfig, args)
    config = from_arguments(TrainConfig, args, base=TrainConfig(**NOISE_PRESETS[args.noise]))
    accelerator = make_accelerator(config, args.output)
    main = accelerator.is_main_process
    logging.getLogger().setLevel(logging.INFO if main else logging.ERROR)
    dev = _read_all(args.dev, langs)
    named = args.tokenizer_model
    vocabulary = checkpoint.read_vocabulary(named) if named else None
    vocabulary = before.tokenizer if before and not named else vocabulary
    with accelerator.local_main_process_first():
        data = prepare(
            [Source.parse(text) for text in args.train],
            dev + _read_all(args.test, langs),
            directions,
            corpus,
            model,
            args.cache,
            vocabulary,
        )
    _tell_corpus(data)
    model = dataclasses.replace(model, vocab_size=data.tokenizer.vocab_size)
    if main:
        check_same_run(args.output, _settings(args, data, model, corpus, config))
    trainer = Trainer(args.output, model, config, data, dev, directions, accelerator)
    if before:
        weights = weights_for(before, data.tokenizer, model)
        for one in (trainer.model, trainer.averaged):
            one.load_state_dict(weights)
    if trainer.resume():
        logger.info("going on from step %d of %s", trainer.place.step, args.output)
    n_weights = sum(p.numel() for p in trainer.model.parameters())
    logger.info("vocabulary of %d pieces, %s parameters", model.vocab_size, f"{n_weights:,}")
    logger.info("%d x %s, run folder %s", trainer.world_size, trainer.device, args.output)
    ended = trainer.run()
    if main:
        _draw(args.output)
    if main and args.test and not ended.startswith("stopped"):
        best = str(args.output / BEST)
        report, folder = evaluate.run(evaluate.Request(model=best, tests=tuple(args.test)))
        print(f"{table(report)}\n\n{folder / evaluate.PAGE_NAME}")
    accelerator.end_training()
    return ended


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    if argv is None:
        start_cpu_processes()
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    return run_command(lambda: run(_arguments(argv)), "train")


if __name__ == "__main__":
    sys.exit(main())
