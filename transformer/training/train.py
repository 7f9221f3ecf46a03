"""Train a model from its corpus to the report of its test sets, as a new or resumed run."""

import contextlib
import dataclasses
import hashlib
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.checkpoint import weights
from transformer.checkpoint.locate import read_json, read_metrics
from transformer.checkpoint.tensors import read_vocabulary
from transformer.checkpoint.weights import Checkpoint
from transformer.config import (
    NOISE_FIELDS,
    ColumnConfig,
    CorpusConfig,
    Direction,
    ModelConfig,
    SentencePair,
    TrainConfig,
    UserError,
    model_config,
)
from transformer.corpus.cleaning import DropReason, format_counts
from transformer.corpus.columns import SAMPLE_SIZE, swapped_languages
from transformer.corpus.prepared import PreparedCorpus, PreparedFolder, Source, export, open_corpus
from transformer.corpus.readers import HUB, format_tsv, read_pairs
from transformer.files import lock_folder, write_text
from transformer.training.run import BEST, RUN, StopReason, TrainingState, check_same_run
from transformer.training.runtime import Accelerator, make_accelerator, sum_over_processes
from transformer.training.schedule import resolve_settings, tokens_per_epoch
from transformer.training.trainer import Trainer

if TYPE_CHECKING:
    from transformer.evaluation.report import Report

# Settings that are saved only where they are on, so that older runs without them can resume.
LATER_SETTINGS = (
    *NOISE_FIELDS, "init", "both", "learning_rate", "skip_bad", "columns", "swap", "warmup_ratio",
    "cooldown_ratio", "pad_multiple",
)  # fmt: skip
PAPER_SCHEDULE = ("schedule", "paper")  # for the same reason not saved; other schedules are
MIN_TRAINING = 1 / 4  # of the time limit, however long preparing and measuring take
logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainRequest:
    """A training run: its corpora, folders, model and settings; the same request resumes it.

    `train` are sources as `Source.parse` reads them, `dev` and `test` as `read_pairs` does, as
    `held_out`, further pairs to keep out of training; validations score the first `max_dev_pairs`
    of `dev`. `output` is the run's folder, `cache` that of tokenised corpora, `prepared` one of
    them to export or to train on. The model starts from the checkpoint `init`, or untrained in the
    shape of a preset (None: small); `shape` holds the fields of ModelConfig that differ from it.
    `both` trains one model for both directions, `tokenizer_model` is an existing vocabulary, and
    `resume_from` a checkpoint of the run, if `last` is broken. UserError for equal languages, and
    for `init` with `preset`.
    """

    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    max_dev_pairs: int | None = None
    langs: Direction = ("es", "en")
    both: bool = False
    output: Path
    cache: Path
    prepared: Path | None = None
    tokenizer_model: Path | None = None
    init: Path | None = None
    resume_from: Path | None = None
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
        """Return the direction, or the direction and its reverse."""
        return (self.langs, self.langs[::-1]) if self.both else (self.langs,)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainResult:
    """The outcome of training: why it stopped, its last state, the test scores.

    `stop_signal` names the signal that stopped this process, if any; `reports` are those of the
    test sets with the paths of their pages, one for each direction.
    """

    stop_reason: StopReason
    state: TrainingState
    stop_signal: str = ""
    reports: tuple[tuple["Report", Path], ...] = ()


def train(request: TrainRequest, reserve: Callable[[], float] | None = None) -> TrainResult:
    """Prepare the corpus, train or resume, draw the curves, and evaluate on the test sets.

    `reserve` is called on the main process once the corpus is prepared; it returns the seconds of
    `max_minutes` that are needed outside of training. If there are several processes, only the
    first one writes and logs. A UserError says what the user can fix.
    """
    config = request.config
    if not (config.max_steps or config.max_epochs or config.max_minutes or config.patience):
        raise UserError(
            "expected a limit: --max-steps, --max-epochs, --max-minutes or --patience; got none"
        )
    folder = PreparedFolder.read(request.prepared) if request.prepared else None
    if folder:
        request = _fill_from_folder(request, folder)
    initial, model = _load_model(request)
    accelerator = make_accelerator(config, request.output)
    is_main = accelerator.is_main_process
    with lock_folder(request.output) if is_main else contextlib.nullcontext():
        if not is_main:
            logging.getLogger().setLevel(logging.ERROR)
        dev = _read_all(request.dev, request)
        if folder:
            data = _open_folder(folder, request, model, initial)
        else:
            with accelerator.local_main_process_first():
                data = _prepare_text(request, dev, model, initial)
        scored = dev[: request.max_dev_pairs]
        return _train(request, model, initial, data, scored, accelerator, reserve)


def prepare_only(request: TrainRequest) -> None:
    """Write the tokenised corpus with its development and test sets to `request.prepared`.

    `train` needs no other text than this folder; see `transformer.corpus.prepared`. UserError if
    the request names no folder, and for what the user can fix in the text.
    """
    if request.prepared is None:
        raise UserError("expected a folder for --prepare-only: name it with --prepared")
    initial, model = _load_model(request)
    dev = _read_all(request.dev, request)
    data = _prepare_text(request, dev, model, initial)
    values = {"langs": request.langs, "both": request.both, "max_len": model.max_len,
              "sources": request.train}  # fmt: skip
    sets = {
        kind: [format_tsv(request.langs, _read_all((spec,), request)) for spec in specs]
        for kind, specs in (("dev", request.dev), ("test", request.test))
    }
    export(data, request.prepared, values, sets)
    logger.info("%d pairs and %d pieces of vocabulary: %s",
                len(data.pairs), data.tokenizer.vocab_size, request.prepared)  # fmt: skip


def _prepare_text(
    request: TrainRequest, dev: Sequence[SentencePair], model: ModelConfig,
    initial: Checkpoint | None,
) -> PreparedCorpus:  # fmt: skip
    """Prepare a request's text in its cache, less pairs of `dev`, `test` and `held_out`.

    The vocabulary is `tokenizer_model`, else that of `initial`, else new and as large as `model`'s.
    """
    from transformer.corpus.prepare import prepare  # imports `datasets`

    held_out = [*dev, *_read_all((*request.test, *request.held_out), request)]
    sources = [Source.parse(text) for text in request.train]
    for spec in (*(source.spec for source in sources), *request.dev, *request.test):
        _check_columns(spec, request)
    tokenizer = initial.tokenizer if initial else None
    if request.tokenizer_model:
        tokenizer = read_vocabulary(request.tokenizer_model)
    data = prepare(
        sources, held_out, request.directions, request.corpus, model, request.cache, tokenizer
    )
    for source in data.report["sources"]:
        logger.info("corpus %s: %s", source["spec"], format_counts(source["counts"]))
    for message, _ in data.report["dropped_examples"].get(DropReason.MALFORMED.label, ()):
        logger.warning("skipped: %s", message)
    return data


def _fill_from_folder(request: TrainRequest, folder: PreparedFolder) -> TrainRequest:
    """Return the request with the languages of a prepared folder.

    Its sources, development and test sets are the folder's, too, each that the request lacks.
    Raises UserError if the request names sources and other languages.
    """
    requested = request.langs, request.both
    if request.train and requested != (folder.langs, folder.both):
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
    folder: PreparedFolder, request: TrainRequest, model: ModelConfig, initial: Checkpoint | None
) -> PreparedCorpus:
    """Open a prepared corpus; UserError if its pairs exceed `model` or its vocabulary differs."""
    sources = [Source.parse(text) for text in request.train]
    data = open_corpus(folder.path, sources, folder.langs, folder.both)
    if folder.max_len > model.max_len:
        raise UserError(
            f"expected --max-len of at least {folder.max_len}, as {folder.path} was prepared; "
            f"got {model.max_len}"
        )
    vocab_size = request.shape.get("vocab_size")
    if vocab_size and vocab_size != data.tokenizer.vocab_size:
        raise UserError(
            f"expected --vocab-size {data.tokenizer.vocab_size}, as {folder.path} was prepared; "
            f"got {vocab_size}"
        )
    if initial and initial.tokenizer.model != data.tokenizer.model:
        raise UserError(
            f"expected {request.init} with the vocabulary of {folder.path}: prepare with --init"
        )
    return data


def _train(
    request: TrainRequest, model: ModelConfig, initial: Checkpoint | None, data: PreparedCorpus,
    dev: Sequence[SentencePair], accelerator: Accelerator, reserve: Callable[[], float] | None,
) -> TrainResult:  # fmt: skip
    """Train on prepared data in a locked folder, from `initial` if given; evaluate, draw curves."""
    is_main = accelerator.is_main_process
    model = dataclasses.replace(model, vocab_size=data.tokenizer.vocab_size)
    saved = read_json(request.output / RUN) if (request.output / RUN).exists() else None
    n_processes, is_pretrained = accelerator.num_processes, initial is not None
    config = resolve_settings(request.config, model, data, n_processes, saved, is_pretrained)
    if is_main:
        check_same_run(request.output, _run_settings(request, config, data, model))
    if reserve:
        (seconds,) = sum_over_processes(accelerator, reserve() if is_main else 0.0)
        config = training_limit(config, seconds)
    trainer = Trainer(request.output, model, config, data, dev, request.directions, accelerator)
    if initial:
        from transformer.checkpoint import initialize

        start = initialize.initial_weights(initial, data.tokenizer, model)
        for module in (trainer.model, trainer.averaged):
            module.load_state_dict(start)
    if trainer.resume(request.resume_from):
        logger.info("resuming at step %d of %s", trainer.state.step, request.output)
    n_weights = sum(p.numel() for p in trainer.model.parameters())
    logger.info("vocabulary of %d pieces, %s parameters", model.vocab_size, f"{n_weights:,}")
    logger.info("%d x %s, run folder %s", trainer.world_size, trainer.device, request.output)
    _log_settings(config, data)
    reason = trainer.run()
    result = TrainResult(stop_reason=reason, state=trainer.state, stop_signal=trainer.stop_signal)
    if is_main:
        _draw_curves(request.output)
    if is_main and request.test and result.stop_reason is not StopReason.SIGNAL:
        result = evaluate_best(request, result)
    accelerator.end_training()
    return result


def training_limit(config: TrainConfig, reserved: float) -> TrainConfig:
    """Return the settings, any `max_minutes` less `reserved` seconds, at least a quarter of it."""
    if not config.max_minutes:
        return config
    minutes = max(config.max_minutes - reserved / 60, MIN_TRAINING * config.max_minutes)
    return dataclasses.replace(config, max_minutes=max(0.01, round(minutes, 2)))


def evaluate_best(
    request: TrainRequest, result: TrainResult, compare: str | None = None
) -> TrainResult:
    """Evaluate BEST in each direction on the request's test sets, of which there must be one.

    Returns `result` with the reports that were written. `compare`, the baseline, is a name for
    `open_system`, such as a checkpoint's folder; UserError if there is none, and as of `evaluate`.
    """
    from transformer.evaluation.evaluate import PAGE_NAME, EvaluationRequest, evaluate

    best = request.output / BEST
    reports = []
    for langs in request.directions:
        report, folder = evaluate(EvaluationRequest(
            model=str(best), tests=request.test, compare=compare, columns=request.corpus,
            src_lang=langs[0], tgt_lang=langs[1], reversed_tests=langs != request.langs,
            output=str(best / "evaluation" / "-".join(langs)) if request.both else None,
        ))  # fmt: skip
        reports.append((report, folder / PAGE_NAME))
    return dataclasses.replace(result, reports=tuple(reports))


def _load_model(request: TrainRequest) -> tuple[Checkpoint | None, ModelConfig]:
    """Load the initial checkpoint, if any; return it and the shape to train, its own or larger.

    Raises UserError for an invalid shape, or one that the checkpoint cannot grow to.
    """
    initial = weights.load(request.init) if request.init else None
    try:
        if initial is None:
            return None, model_config(request.preset or "small", **request.shape)
        model = dataclasses.replace(initial.model.config, **request.shape)
    except ValueError as error:
        raise UserError(str(error)) from error
    from transformer.checkpoint import initialize

    initialize.check_growth(initial.model.config, model)
    return initial, model


def _read_all(specs: Sequence[str], request: TrainRequest) -> list[SentencePair]:
    """Read the pairs of development or test sets; an empty set is a UserError."""
    langs, columns = request.langs, request.corpus
    read = {spec: [*read_pairs(spec, *langs, config=columns)] for spec in specs}
    if empty := [spec for spec, pairs in read.items() if not pairs]:
        raise UserError(f"expected sentence pairs in {', '.join(empty)}, got none")
    return [pair for spec in specs for pair in read[spec]]


def _check_columns(spec: str, request: TrainRequest) -> None:
    """Raise UserError if the columns of a source read as swapped; with --swap, log it instead.

    A data set of the hub is not checked.
    """
    langs, columns = request.langs, request.corpus
    if spec.startswith(HUB):
        return
    as_named = ColumnConfig(columns=columns.columns)
    first = [*itertools.islice(read_pairs(spec, *langs, [], as_named), SAMPLE_SIZE)]
    found = swapped_languages(first, langs)
    if found and columns.swap:
        logger.warning("%s: its columns read like %s and are exchanged", spec, found)
    elif found:
        raise UserError(
            f"expected {langs[0]!r} and {langs[1]!r} in {spec}, got columns that read like "
            f"{found}: correct their names, or go on with --swap, which exchanges them"
        )


def _log_settings(config: TrainConfig, data: PreparedCorpus) -> None:
    rate = f"highest rate {config.learning_rate:g}" if config.learning_rate else "the paper's rate"
    logger.info(
        "%s, %s, schedule %s; batches of %s tokens, %s tokens an epoch",
        config.optimizer, rate, config.schedule, f"{config.batch_tokens:,}",
        f"{tokens_per_epoch(data):,}",
    )  # fmt: skip


def _run_settings(
    request: TrainRequest, chosen: TrainConfig, data: PreparedCorpus, model: ModelConfig
) -> dict[str, Any]:
    """Return a run's settings by name; but for MUTABLE_SETTINGS they must be the same to resume it.

    `chosen` are the resolved settings. The pairs kept from each source are among them, to notice
    that a file has changed.
    """
    settings: dict[str, Any] = {
        "train": [*request.train], "dev": [*request.dev],
        "src_lang": request.langs[0], "tgt_lang": request.langs[1],
        "init": str(request.init or ""), "both": request.both,
        "pairs kept": [pairs for pairs, _ in data.sizes],
        "vocabulary": hashlib.sha256(data.tokenizer.model).hexdigest()[:16],
    }  # fmt: skip
    for config in (model, request.corpus, chosen):
        settings |= dataclasses.asdict(config)
    settings["columns"] = [*request.corpus.columns]  # as JSON gives them back
    if chosen.warmup:
        del settings["warmup_ratio"]
    if chosen.schedule != "wsd":
        del settings["cooldown_ratio"]
    return {
        name: value for name, value in settings.items()
        if (value or name not in LATER_SETTINGS) and (name, value) != PAPER_SCHEDULE
    }  # fmt: skip


def _draw_curves(folder: Path) -> None:
    """Draw the curves of the run's records; without the extra `plots`, log why they are missing."""
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
