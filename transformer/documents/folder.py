"""Files and folders as they lie on the disk: which are translated, to where, and how one is."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transformer.config import DecodeConfig, UserError
from transformer.documents import formats
from transformer.documents.fill import Part, inspect_text, translate_file
from transformer.documents.office import OFFICE
from transformer.documents.passages import Options, named_encoding
from transformer.translation.directions import Directions

LARGEST = 2**30  # bytes of a file: it is held in memory, and more than once
SAMPLE = 1000  # passages by which the language of a file is told


@dataclass(frozen=True, slots=True)
class Job:
    """A file to translate, and the one to write; None: standard output."""

    source: Path
    target: Path | None


def is_document(path: Path) -> bool:
    """Whether a file is more than lines of UTF-8, by the ending of its name; by its mark, too."""
    suffix = path.suffix.lower()
    if suffix != ".txt" or not path.is_file():
        return suffix in formats.FORMATS and suffix != ".txt"
    with path.open("rb") as file:
        return named_encoding(file.read(3)) is not None


def jobs(sources: Sequence[Path], output: Path | None) -> tuple[list[Job], list[Path]]:
    """What is to be done, and the files of a folder that are of no known format.

    A folder becomes a folder with files of the same names. UserError where there is no place for
    them, or the names of two would be the same.
    """
    is_many = len(sources) > 1 or any(source.is_dir() for source in sources)
    if is_many and (output is None or (output.exists() and not output.is_dir())):
        raise UserError(f"expected --output FOLDER for several files, got {output or 'none'}")
    planned: list[Job] = []
    passed: list[Path] = []
    for source in sources:
        if not source.is_dir():
            is_into = output is not None and (is_many or output.is_dir())
            place = output / source.name if output and is_into else output
            planned.append(_job(source, place, is_named=not is_into))
            continue
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            inside = path.relative_to(source)
            is_output = output is not None and output.resolve() in path.resolve().parents
            if is_output or any(part.startswith(".") for part in inside.parts):
                continue
            if path.suffix.lower() not in formats.FORMATS:
                passed.append(path)
            elif output is not None:
                planned.append(_job(path, output / inside, is_named=False))
    targets = Counter(job.target for job in planned if job.target)
    twice = [target for target, n in targets.items() if n > 1]
    if twice:
        raise UserError(f"two files would be written to {twice[0]}: rename one, or take them apart")
    return planned, passed


def _job(source: Path, target: Path | None, *, is_named: bool) -> Job:
    """The output of a file, with the ending that it must have."""
    if not is_document(source):
        return Job(source, target)
    suffix = source.suffix.lower()
    kind = formats.format_of(suffix)
    if target is None and suffix in OFFICE:
        raise UserError(f"expected --output for {kind.name}, which is no text: {source}")
    wanted = kind.written or suffix
    if target is None or (target.exists() and not target.is_file()):  # a pipe
        return Job(source, target)
    if is_named and target.suffix.lower() != wanted:
        raise UserError(f"expected --output NAME{wanted} for {kind.name}, got {target}")
    return Job(source, target.with_suffix(wanted) if kind.written else target)


def translate_document(
    path: Path,
    opened: Directions,
    decode: DecodeConfig,
    options: Options,
    started: Callable[[int], None] = lambda n_passages: None,
    advance: Callable[[int], None] = lambda n_passages: None,
) -> tuple[bytes, list[str]]:
    """A file in the other language and the warnings; its language is recognised, once for all.

    `started` is told how many passages there are, `advance` how many more are done.
    """
    if path.stat().st_size > LARGEST:
        raise UserError(f"expected a file of at most {LARGEST >> 20} MiB")
    content, suffix = path.read_bytes(), path.suffix
    passages = formats.read(content, suffix, options).passages
    started(len(passages))
    source, target = opened.usual([passage.text for passage in passages[:SAMPLE]])
    translator, plain = opened.translator((source, target)), opened.plain((source, target))
    warnings = dict.fromkeys(formats.notes(content, suffix, options))

    def translate(texts: Sequence[str]) -> list[str]:
        results = translator.translate(texts, decode)
        warnings.update(dict.fromkeys(line for result in results for line in result.warnings))
        advance(len(texts))
        return [result.text for result in results]

    def inspect(text: str) -> Sequence[Part]:
        parts = inspect_text(translator, plain, text, decode)
        warnings.update(dict.fromkeys(line for part in parts for line in part.warnings))
        advance(1)
        return parts

    asked = replace(options, source=source, target=target)
    return translate_file(content, path.name, translate, inspect, asked), list(warnings)
