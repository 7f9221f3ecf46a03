"""Run an evaluation: load systems and test sets, translate, analyse, write the report.

A system is a checkpoint, or translations that exist already.
"""

import contextlib
import itertools
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from transformer.checkpoint.locate import SELFTEST, find_checkpoint, read_metrics
from transformer.command import os_errors_as_user_errors
from transformer.config import ColumnConfig, ComputeType, DecodeConfig, Direction, UserError
from transformer.corpus.readers import DEFAULT_COLUMNS, read_pairs
from transformer.evaluation.analysis import Speed, TestSet, analyse, n_words, one_line, vocabulary
from transformer.evaluation.metrics import N_BOOTSTRAP
from transformer.evaluation.report import Report, machine, to_html, to_json
from transformer.files import write_text
from transformer.translation.directions import load
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import Translator

JSON_NAME, PAGE_NAME = "report.json", "report.html"
SUFFIXES = r"(\.(parquet|jsonl?|tsv|tmx|txt|gz))+$"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """A loaded checkpoint, or without a translator a file of translations or a report's folder."""

    name: str
    path: Path
    translator: Translator | GuardedTranslator | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRequest:
    """What to evaluate: `model` and `compare` for `open_system`, `tests` for `read_pairs`.

    `names` are those of the sets in the report, `output` is its folder (None: `_output_folder`);
    `limit` pairs of each are read. Output words that are in no text of the corpora `known`, also
    for `read_pairs`, are counted. `reversed_tests`: the columns of the test sets are named for the
    other direction.
    """

    model: str
    tests: tuple[str, ...]
    names: tuple[str, ...] = ()
    output: str | None = None
    compare: str | None = None
    src_lang: str | None = None
    tgt_lang: str | None = None
    device: str = "auto"
    compute_type: ComputeType = "auto"
    limit: int | None = None
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    n_bootstrap: int = N_BOOTSTRAP
    guard: bool = False
    known: tuple[str, ...] = ()
    columns: ColumnConfig = field(default_factory=ColumnConfig)
    reversed_tests: bool = False


def evaluate(request: EvaluationRequest) -> tuple[Report, Path]:
    """Evaluate a system; return the report and the folder that was written.

    The folder gets report.json, report.html and of each set NAME.src, NAME.ref, NAME.hyp and,
    in a comparison, NAME.baseline. The lines are written before anything is scored. UserError for
    what cannot be read, opened or written.
    """
    names = set_names(request.tests, request.names)
    system = open_system(request.model, request)
    baseline = open_system(request.compare, request) if request.compare else None
    systems = [system, baseline] if baseline else [system]
    langs = resolve_direction(systems, request.src_lang, request.tgt_lang)
    sets = [
        read_set(spec, name, langs, request.limit, request.columns, request.reversed_tests)
        for spec, name in zip(request.tests, names, strict=True)
    ]
    folder = _output_folder(request, system, names)
    corpora = (read_pairs(spec, *langs, config=request.columns) for spec in request.known)
    known = vocabulary(text for pairs in corpora for pair in pairs for text in pair)
    reports = []
    for test_set in sets:
        outputs = translations(baseline, test_set, request)[0] if baseline else None
        hypotheses, speed = translations(system, test_set, request)
        translated = replace(test_set, hypotheses=hypotheses, baseline=outputs)
        for name, lines in translated.files().items():
            write_text(folder / name, "".join(f"{line}\n" for line in lines))
        baseline_name = baseline.name if baseline else ""
        reports.append(analyse(translated, speed, baseline_name, request.n_bootstrap, known))
    report = Report(
        model=system.name,
        path=str(system.path),
        src_lang=langs[0],
        tgt_lang=langs[1],
        decode=request.decode if any(s.translator for s in systems) else None,
        guard=request.guard,
        machine=machine(system.translator.device if system.translator else "none"),
        sets=tuple(reports),
    )
    write_text(folder / JSON_NAME, to_json(report))
    # The metrics of the run whose folder holds the checkpoint, if any, become curves.
    records = read_metrics(system.path.parent) if system.path.is_dir() else []
    write_text(folder / PAGE_NAME, to_html(report, records))
    return report, folder


def set_names(specs: Sequence[str], names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a unique file name for each test set: its name in `names`, or else that of its path.

    If two paths have the same name, the second one becomes `name-2`. UserError for equal or empty
    `names`, and for another number of names than of sets.
    """
    if names and len(names) != len(specs):
        raise UserError(f"expected a --name for each of {len(specs)} test sets; got {len(names)}")
    unsafe = names or [_default_name(spec) for spec in specs]
    file_names = tuple(re.sub(r"[^\w.]+", "-", name).strip("-.") for name in unsafe)
    if not names:
        n_before = [file_names[:i].count(name) for i, name in enumerate(file_names)]
        file_names = tuple(
            f"{name}-{n + 1}" if n else name for name, n in zip(file_names, n_before, strict=True)
        )
    if len(set(file_names)) < len(file_names) or not all(file_names):
        raise UserError(
            f"expected different names for the test sets; got {', '.join(file_names)}: give --name"
        )
    return file_names


def _default_name(spec: str) -> str:
    if spec.startswith("hub:"):
        return spec.removeprefix("hub:")
    first, pair, _ = spec.partition(",")
    name = re.sub(SUFFIXES, "", Path(first).name)
    return name.rpartition(".")[0] if pair else name  # of a Moses pair, without the language


def open_system(spec: str, request: EvaluationRequest) -> System:
    """Load a checkpoint, for the requested direction if it serves several.

    A file of translations or the folder of an earlier report is read later, by `translations`.
    UserError if there is no such file, folder or released model.
    """
    path = Path(spec)
    if not path.exists():
        with contextlib.suppress(UserError):
            path = find_checkpoint(spec)  # the name of a released model
    if not path.exists():
        raise UserError(
            f"expected a checkpoint folder or a text file of translations; {spec} does not exist"
        )
    if path.is_file() or (path / JSON_NAME).is_file():
        return System(name=path.name, path=path)
    opened = load(
        spec, device=request.device, compute_type=request.compute_type, guard=request.guard
    )
    langs = request.src_lang, request.tgt_lang
    translator = opened.translator(langs if langs in opened.available else opened.available[0])
    return System(name=translator.name, path=path, translator=translator)


def resolve_direction(
    systems: Sequence[System], src_lang: str | None, tgt_lang: str | None
) -> Direction:
    """Return the direction on which checkpoints and options agree; else UserError."""
    if bool(src_lang) != bool(tgt_lang):
        raise UserError(f"expected both --from and --to, or neither; got {src_lang or tgt_lang}")
    directions = {(s.translator.src_lang, s.translator.tgt_lang) for s in systems if s.translator}
    if src_lang and tgt_lang:
        directions.add((src_lang, tgt_lang))
    if not directions:
        raise UserError("translations do not say their languages: give both --from and --to")
    if len(directions) > 1:
        pairs = " and ".join(sorted(f"{src} to {tgt}" for src, tgt in directions))
        raise UserError(f"expected one direction of translation; got {pairs}")
    return directions.pop()


def read_set(
    spec: str,
    name: str,
    langs: Direction,
    limit: int | None = None,
    columns: ColumnConfig = DEFAULT_COLUMNS,
    is_reversed: bool = False,
) -> TestSet:
    """Return a test set, or its first `limit` pairs, each side made one line.

    One that is reversed is read as pairs of the other direction, whose sides are exchanged. Raises
    UserError for an empty set or a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"expected a --limit of at least 1; got {limit}")
    src_lang, tgt_lang = reversed(langs) if is_reversed else langs
    pairs = list(itertools.islice(read_pairs(spec, src_lang, tgt_lang, config=columns), limit))
    if is_reversed:
        pairs = [(tgt, src) for src, tgt in pairs]
    if not pairs:
        raise UserError(f"expected at least one pair of sentences; the test set {spec} is empty")
    return TestSet(
        name=name,
        spec=spec,
        sources=tuple(one_line(src) for src, _ in pairs),
        references=tuple(one_line(tgt) for _, tgt in pairs),
    )


def translations(
    system: System, test_set: TestSet, request: EvaluationRequest
) -> tuple[tuple[str, ...], Speed | None]:
    """Return a line for each source and the speed, None for a file; UserError for a bad file."""
    if system.translator is None:
        path = system.path if system.path.is_file() else system.path / f"{test_set.name}.hyp"
        return _read_lines(path, len(test_set.sources), request.limit), None
    logger.info("%s translates %d lines of %s", system.name, len(test_set.sources), test_set.name)
    system.translator.translate(test_set.sources[:1], request.decode)  # the first call is slower
    start = time.perf_counter()
    results = system.translator.translate(test_set.sources, request.decode)
    seconds = max(time.perf_counter() - start, 1e-9)
    speed = Speed(
        seconds=seconds,
        sentences_per_second=len(test_set.sources) / seconds,
        source_words_per_second=sum(map(n_words, test_set.sources)) / seconds,
    )
    return tuple(one_line(result.text) for result in results), speed


def _read_lines(path: Path, n: int, limit: int | None) -> tuple[str, ...]:
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise UserError(f"expected a file of translations; {path} does not exist") from None
    except UnicodeDecodeError:
        raise UserError(
            f"expected translations in UTF-8, one a line; {path} is something else "
            "(of a checkpoint, give the folder)"
        ) from None
    lines = text.removesuffix("\n").split("\n")[:limit] if text else []
    if len(lines) != n:
        raise UserError(
            f"expected a translation for each of {n} lines of the test set; "
            f"{path} has {len(lines)} lines"
        )
    return tuple(map(one_line, lines))


def _output_folder(request: EvaluationRequest, system: System, names: Sequence[str]) -> Path:
    """Make and return the folder of the report, before translating: a UserError then shows early.

    By default it is evaluation/NAMES in a checkpoint, beside a file of translations, or for a
    released model, which stays as it was released, in the working folder.
    """
    is_own = system.path.is_dir() and not (system.path / SELFTEST).exists()
    home = system.path if is_own else Path() if system.path.is_dir() else system.path.parent
    folder = Path(request.output) if request.output else home / "evaluation" / "+".join(names)
    with os_errors_as_user_errors(f"make the folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
