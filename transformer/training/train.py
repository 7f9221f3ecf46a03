"""A whole training: corpus, model, a run begun or gone on with, report of the test sets."""

import contextlib
import dataclasses
import hashlib
import itertools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.checkpoint import weights
from transformer.checkpoint.locate import read_json, read_metrics
from transformer.checkpoint.tensors import read_vocabulary
from transformer.checkpoint.weights import Checkpoint
from transformer.config import (
    NOISES,
    ColumnConfig,
    CorpusConfig,
    Direction,
    ModelConfig,
    SentencePair,
    TrainConfig,
    UserError,
    model_config,
)
from transformer.corpus.cleaning import DropReason, told
from transformer.corpus.columns import SAMPLE, swapped_languages
from transformer.corpus.prepared import (
    PreparedCorpus,
    PreparedFolder,
    Source,
    export,
    open_corpus,
)
from transformer.corpus.readers import HUB, as_tsv, read_pairs
from transformer.files import locked, write_text
from transformer.training.run import BEST, RUN, StopReason, TrainingState, check_same_run
from transformer.training.runtime import Accelerator, make_accelerator
from transformer.training.schedule import resolve_settings, tokens_per_epoch
from transformer.training.trainer import Trainer

if TYPE_CHECKING:
    from transformer.evaluation.report import Report

# Settings that are noted only where they are on, so that a run from before they came can go on.
LATER = (
    *NOISES, "learning_rate", "skip_bad", "columns", "swap", "warmup_ratio", "cooldown_ratio",
    "pad_multiple",
)  # fmt: skip
PAPERS = ("schedule", "paper")  # likewise noted only where it is another
logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainRequest:
    """What is trained, on what, and where the run lies; the same request goes on with it.

    `train` are sources as `Source.parse` reads them, `dev` and `test` as `read_pairs` does. The
    model begins with the checkpoint `init`, or anew in the shape of a preset; `shape` are the
    fields of ModelConfig that differ from it.
    """

    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()  # further sets that are not to be trained on
    langs: Direction = ("es", "en")
    both: bool = False  # one model for the direction and its reverse
    output: Path
    cache: Path  # folder of tokenised corpora
    prepared: Path | None = None  # a tokenised corpus to carry away, or one that was carried here
    tokenizer_model: Path | None = None  # a vocabulary to use, not a new one
    init: Path | None = None
    resume_from: Path | None = None  # a checkpoint of the run, where `last` is broken
    preset: str | None = None
    shape: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    corpus: CorpusConfig = dataclasses.field(default_factory=CorpusConfig)
    config: TrainConfig = dataclasses.field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        if self.langs[0] == self.langs[1]:
            raise UserError(f"expected two languages, got --from and --to {self.langs[0]}")
        if self.init and self.preset:
            raise UserError("expected --init without --preset: it brings the shape; leave one out")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction, or that and its reverse."""
        return (self.langs, self.langs[::-1]) if self.both else (self.langs,)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainResult:
    """Why training ended and where it stands; the report of the test sets and its page.

    `stop_signal` names the signal that this process was stopped by, if any.
    """

    stop_reason: StopReason
    state: TrainingState
    stop_signal: str = ""
    report: "Report | None" = None
    page: Path | None = None


def train(request: TrainRequest) -> TrainResult:
    """Prepares, trains or goes on, draws the curves, and evaluates on the test sets.

    Of several processes the first writes and reports. What a person can mend is a UserError.
    """
    limits = ("max_steps", "max_epochs", "max_minutes", "patience")
    if not any(getattr(request.config, name) for name in limits):
        raise UserError(
            "expected a limit: --max-steps, --max-epochs, --max-minutes or --patience; got none"
        )
    folder = PreparedFolder.read(request.prepared) if request.prepared else None
    if folder:
        request = _from_folder(request, folder)
    before = weights.load(request.init) if request.init else None
    model = _shape(request, before)
    accelerator = make_accelerator(request.config, request.output)
    alone = accelerator.is_main_process
    with locked(request.output) if alone else contextlib.nullcontext():
        if not alone:
            logging.getLogger().setLevel(logging.ERROR)
        dev = _read_all(request.dev, request)
        if folder:
            data = _open_folder(folder, request, model, before)
        else:
            with accelerator.local_main_process_first():
                data = _prepare_text(request, dev, model, before)
        return _train(request, model, before, data, dev, accelerator)


def prepare_only(request: TrainRequest) -> None:
    """Writes the tokenised corpus with its development and test sets to `request.prepared`.

    There `train` finds all of the text that it needs; see `transformer.corpus.prepared`.
    """
    if request.prepared is None:
        raise UserError("expected a folder for --prepare-only: name it with --prepared")
    before = weights.load(request.init) if request.init else None
    model = _shape(request, before)
    dev = _read_all(request.dev, request)
    data = _prepare_text(request, dev, model, before)
    values = {"langs": request.langs, "both": request.both, "max_len": model.max_len,
              "sources": request.train}  # fmt: skip
    sets = {
        kind: [as_tsv(request.langs, _read_all((spec,), request)) for spec in specs]
        for kind, specs in (("dev", request.dev), ("test", request.test))
    }
    export(data, request.prepared, values, sets)
    logger.info("%d pairs and %d pieces of vocabulary: %s",
                len(data.pairs), data.tokenizer.vocab_size, request.prepared)  # fmt: skip


def _prepare_text(
    request: TrainRequest, dev: Sequence[SentencePair], model: ModelConfig,
    before: Checkpoint | None,
) -> PreparedCorpus:  # fmt: skip
    """The corpus of the text that a request names, tokenised in its cache."""
    from transformer.corpus.prepare import prepare  # with `datasets`, which a carried one needs not

    held_out = [*dev, *_read_all((*request.test, *request.held_out), request)]
    sources = [Source.parse(text) for text in request.train]
    for spec in (*(source.spec for source in sources), *request.dev, *request.test):
        _check_columns(spec, request)
    tokenizer = before.tokenizer if before else None
    if request.tokenizer_model:
        tokenizer = read_vocabulary(request.tokenizer_model)
    data = prepare(
        sources, held_out, request.directions, request.corpus, model, request.cache, tokenizer
    )
    _tell_corpus(data)
    return data


def _from_folder(request: TrainRequest, folder: PreparedFolder) -> TrainRequest:
    """The request with what the folder brings: languages, sources, sets."""
    asked = request.langs, request.both
    if request.train and asked != (folder.langs, folder.both):
        raise UserError(
            f"expected --from {folder.langs[0]} --to {folder.langs[1]}"
            f"{' --both' if folder.both else ''}, as {folder.path} was prepared; got "
            f"--from {request.langs[0]} --to {request.langs[1]}{' --both' if request.both else ''}"
        )
    return dataclasses.replace(
        request, langs=folder.langs, both=folder.both, train=request.train or folder.sources,
        dev=request.dev or folder.dev, test=request.test or folder.test,
    )  # fmt: skip


def _open_folder(
    folder: PreparedFolder, request: TrainRequest, model: ModelConfig, before: Checkpoint | None
) -> PreparedCorpus:
    """The corpus of a prepared folder, if the model of the request reads it."""
    sources = [Source.parse(text) for text in request.train]
    data = open_corpus(folder.path, sources, folder.langs, folder.both)
    if folder.max_len > model.max_len:
        raise UserError(
            f"expected --max-len of at least {folder.max_len}, as {folder.path} was prepared; "
            f"got {model.max_len}"
        )
    asked = request.shape.get("vocab_size")
    if asked and asked != data.tokenizer.vocab_size:
        raise UserError(
            f"expected --vocab-size {data.tokenizer.vocab_size}, as {folder.path} was prepared; "
            f"got {asked}"
        )
    if before and before.tokenizer.model != data.tokenizer.model:
        raise UserError(
            f"expected {request.init} with the vocabulary of {folder.path}: prepare with --init"
        )
    return data


def _train(
    request: TrainRequest, model: ModelConfig, before: Checkpoint | None, data: PreparedCorpus,
    dev: Sequence[SentencePair], accelerator: Accelerator,
) -> TrainResult:  # fmt: skip
    """All of it from the prepared corpus on, in a folder that no other process trains in."""
    main = accelerator.is_main_process
    model = dataclasses.replace(model, vocab_size=data.tokenizer.vocab_size)
    saved = read_json(request.output / RUN) if (request.output / RUN).exists() else None
    n_processes, is_pretrained = accelerator.num_processes, before is not None
    config = resolve_settings(request.config, model, data, n_processes, saved, is_pretrained)
    if main:
        check_same_run(request.output, _settings(request, config, data, model))
    trainer = Trainer(request.output, model, config, data, dev, request.directions, accelerator)
    if before:
        from transformer.checkpoint import initialize

        start = initialize.weights_for(before, data.tokenizer, model)
        for module in (trainer.model, trainer.averaged):
            module.load_state_dict(start)
    if trainer.resume(request.resume_from):
        logger.info("going on from step %d of %s", trainer.state.step, request.output)
    n_weights = sum(p.numel() for p in trainer.model.parameters())
    logger.info("vocabulary of %d pieces, %s parameters", model.vocab_size, f"{n_weights:,}")
    logger.info("%d x %s, run folder %s", trainer.world_size, trainer.device, request.output)
    _tell_settings(config, data)
    reason = trainer.run()
    result = TrainResult(stop_reason=reason, state=trainer.state, stop_signal=trainer.stop_signal)
    if main:
        _draw(request.output)
    if main and request.test and result.stop_reason is not StopReason.SIGNAL:
        from transformer.evaluation.evaluate import PAGE_NAME, EvaluationRequest, evaluate

        best = str(request.output / BEST)
        report, folder = evaluate(
            EvaluationRequest(model=best, tests=request.test, columns=request.corpus)
        )
        result = dataclasses.replace(result, report=report, page=folder / PAGE_NAME)
    accelerator.end_training()
    return result


def _shape(request: TrainRequest, before: Checkpoint | None) -> ModelConfig:
    """The model that is asked for; one that begins with a checkpoint has its shape, or grows."""
    try:
        if before is None:
            return model_config(request.preset or "small", **request.shape)
        model = dataclasses.replace(before.model.config, **request.shape)
    except ValueError as error:
        raise UserError(str(error)) from error
    from transformer.checkpoint import initialize

    initialize.check_growth(before.model.config, model)
    return model


def _read_all(specs: Sequence[str], request: TrainRequest) -> list[SentencePair]:
    """The pairs of development and test sets; one without any is a UserError."""
    langs, columns = request.langs, request.corpus
    read = {spec: [*read_pairs(spec, *langs, config=columns)] for spec in specs}
    if empty := [spec for spec, pairs in read.items() if not pairs]:
        raise UserError(f"expected sentence pairs in {', '.join(empty)}, got none")
    return [pair for spec in specs for pair in read[spec]]


def _tell_corpus(data: PreparedCorpus) -> None:
    for source in data.report["sources"]:
        logger.info("corpus %s: %s", source["spec"], told(source["counts"]))
    for said, _ in data.report["dropped_examples"].get(DropReason.MALFORMED.label, ()):
        logger.warning("passed over: %s", said)


def _check_columns(spec: str, request: TrainRequest) -> None:
    """Stops at a source whose columns hold each other's language; with --swap, says so."""
    langs, columns = request.langs, request.corpus
    if spec.startswith(HUB):
        return
    as_named = ColumnConfig(columns=columns.columns)
    first = [*itertools.islice(read_pairs(spec, *langs, [], as_named), SAMPLE)]
    found = swapped_languages(first, langs)
    if found and columns.swap:
        logger.warning("%s: its columns read like %s and are exchanged", spec, found)
    elif found:
        raise UserError(
            f"expected {langs[0]!r} and {langs[1]!r} in {spec}, got columns that read like "
            f"{found}: correct their names, or go on with --swap, which exchanges them"
        )


def _tell_settings(config: TrainConfig, data: PreparedCorpus) -> None:
    rate = f"highest rate {config.learning_rate:g}" if config.learning_rate else "the paper's rate"
    logger.info(
        "%s, %s, schedule %s; batches of %s tokens, %s tokens an epoch",
        config.optimizer, rate, config.schedule, f"{config.batch_tokens:,}",
        f"{tokens_per_epoch(data):,}",
    )  # fmt: skip


def _settings(
    request: TrainRequest, chosen: TrainConfig, data: PreparedCorpus, model: ModelConfig
) -> dict[str, Any]:
    """What must be the same for a run to go on; changed files or test sets show in the pairs."""
    settings: dict[str, Any] = {"train": [*request.train], "dev": [*request.dev]}
    settings["src_lang"], settings["tgt_lang"] = request.langs
    if request.init:
        settings["init"] = str(request.init)
    if request.both:
        settings["both"] = True
    settings["pairs kept"] = [pairs for pairs, _ in data.sizes]
    settings["vocabulary"] = hashlib.sha256(data.tokenizer.model).hexdigest()[:16]
    for config in (model, request.corpus, chosen):
        settings |= dataclasses.asdict(config)
    settings["columns"] = [*request.corpus.columns]  # as JSON gives them back
    if chosen.warmup:
        del settings["warmup_ratio"]
    if chosen.schedule != "wsd":
        del settings["cooldown_ratio"]
    settings = {name: value for name, value in settings.items() if value or name not in LATER}
    return {name: value for name, value in settings.items() if (name, value) != PAPERS}


def _draw(folder: Path) -> None:
    """Curves of the run's records; none without the extra `plots`."""
    records = read_metrics(folder)
    if not records:
        return
    from transformer import plots

    try:
        curves = plots.curves(records)
    except (UserError, ValueError) as error:
        logger.info("no curves drawn: %s", error)
        return
    write_text(folder / "curves.svg", curves)
