"""Files and folders as they lie on the disk: which are translated, to where, and how one is."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transformer.config import DecodeConfig, UserError
from transformer.documents import formats, guess
from transformer.documents.fill import Part, inspect_text, translate_file
from transformer.documents.office import OFFICE
from transformer.documents.passages import Options, declared_encoding
from transformer.text.language import language_code
from transformer.translation.directions import Directions

LARGEST = 2**30  # bytes of a file: it is held in memory, and more than once
SAMPLE = 1000  # passages by which the language of a file is told


@dataclass(frozen=True, slots=True)
class Job:
    """A file to translate, and the one to write; None: standard output; its known ending."""

    source: Path
    target: Path | None
    ending: str

    @property
    def is_text(self) -> bool:
        """Whether it is lines."""
        return formats.FORMATS[self.ending] is formats.FORMATS[formats.TEXT]

    @property
    def is_document(self) -> bool:
        """Whether it is more than lines of UTF-8, by its ending; by its mark, too."""
        return not self.is_text or declared_encoding(_head(self.source, 3)) is not None


def _head(path: Path, size: int = guess.HEAD) -> bytes:
    """The first bytes of a file; of a pipe, which can be read only once, none."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(size)


def jobs(
    sources: Sequence[Path], output: Path | None, asked: str = ""
) -> tuple[list[Job], list[Path]]:
    """What is to be done, and the files of a folder that are of no known format.

    `asked` is the format of the files, whatever their names; in a folder, of those of no known one.

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
            ending = formats.resolve_suffix(source.suffix, _head(source), asked)
            planned.append(_job(source, place, ending, is_named=not is_into))
            continue
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            inside = path.relative_to(source)
            is_output = output is not None and output.resolve() in path.resolve().parents
            if is_output or any(part.startswith(".") for part in inside.parts):
                continue
            ending = path.suffix.lower()
            is_known = ending in formats.FORMATS or not (ending or guess.guess_kind(_head(path)))
            if not (is_known or asked):
                passed.append(path)
            elif output is not None:
                ending = formats.resolve_suffix(ending, b"", "" if is_known else asked)
                planned.append(_job(path, output / inside, ending, is_named=False))
    targets = Counter(job.target for job in planned if job.target)
    twice = [target for target, n in targets.items() if n > 1]
    if twice:
        raise UserError(f"two files would be written to {twice[0]}: rename one, or take them apart")
    return planned, passed


def _job(source: Path, target: Path | None, ending: str, *, is_named: bool) -> Job:
    """The output of a file, with the ending that it must have."""
    job = Job(source, target, ending)
    if not job.is_document:
        return job
    kind = formats.get_format(ending)
    if target is None and ending in OFFICE:
        raise UserError(f"expected --output for {kind.name}, which is no text: {source}")
    wanted = kind.written or source.suffix
    if target is None or (target.exists() and not target.is_file()):  # a pipe
        return job
    if is_named and target.suffix.lower() != wanted.lower():
        raise UserError(f"expected --output NAME{wanted} for {kind.name}, got {target}")
    return Job(source, target.with_suffix(wanted) if kind.written else target, ending)


def translate_document(
    job: Job,
    opened: Directions,
    decode: DecodeConfig,
    options: Options,
    started: Callable[[int], None] = lambda n_passages: None,
    advance: Callable[[int], None] = lambda n_passages: None,
) -> tuple[bytes, list[str]]:
    """A file in the other language and the warnings; its language is recognised, once for all.

    `started` is told how many passages there are, `advance` how many more are done.
    """
    if job.source.stat().st_size > LARGEST:
        raise UserError(f"expected a file of at most {LARGEST >> 20} MiB")
    content = job.source.read_bytes()
    document = formats.read(content, job.ending, options)
    passages, named = document.passages, document.metadata
    started(len(passages))
    source, target = opened.most_common_direction([passage.text for passage in passages[:SAMPLE]])
    for direction in opened.available:  # what a file names is surer than what it looks like
        if (direction[0] if named.source else direction[1]) == language_code(
            named.source or named.target
        ):
            source, target = direction
    translator, plain = opened.translator((source, target)), opened.unguarded((source, target))
    warnings = dict.fromkeys((*named.notes, *formats.notes(content, job.ending, options)))

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
    return translate_file(content, job.ending, translate, inspect, asked), list(warnings)
