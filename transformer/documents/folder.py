"""Plan which files of folders are translated and where to, and translate one of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transformer.config import DecodeConfig, UserError
from transformer.documents import formats, guess
from transformer.documents.passages import Options, declared_encoding
from transformer.documents.translate import TranslatedSegment, inspect_text, translate_file
from transformer.text.language import language_code
from transformer.translation.directions import Directions

MAX_BYTES = 2**30  # of a file, which is held in memory more than once
SAMPLE = 1000  # passages by which the language of a file is recognised


@dataclass(frozen=True, slots=True)
class Job:
    """A file to translate, the one to write (None: standard output), and its format's suffix."""

    source: Path
    target: Path | None
    suffix: str

    @property
    def is_text(self) -> bool:
        """Whether the file is lines of text."""
        return formats.FORMATS[self.suffix] is formats.FORMATS[formats.TEXT]

    @property
    def is_document(self) -> bool:
        """Whether the file is more than lines of UTF-8, by its suffix or its byte order mark."""
        return not self.is_text or declared_encoding(_head(self.source, 3)) is not None


def _head(path: Path, size: int = guess.HEAD) -> bytes:
    """Return the first bytes of a file; none of a pipe, which can be read only once."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(size)


def plan_jobs(
    sources: Sequence[Path], output: Path | None, requested: str = ""
) -> tuple[list[Job], list[Path]]:
    """Return the jobs for files and folders, and the files of folders with no known format.

    A folder becomes a folder with files of the same names, but hidden ones; one file may go to
    standard output (None). `requested`, a suffix with or without its dot, is the format of the
    files, whatever their names, and in a folder that of files with no known format. UserError for
    a file of no known format, for several files without an output folder, and for an output that
    has another suffix, has two sources or is its own source.
    """
    is_many = len(sources) > 1 or any(source.is_dir() for source in sources)
    if is_many and (output is None or (output.exists() and not output.is_dir())):
        raise UserError(f"expected --output FOLDER for several files, got {output or 'none'}")
    jobs: list[Job] = []
    skipped: list[Path] = []
    for source in sources:
        if not source.is_dir():
            is_into = output is not None and (is_many or output.is_dir())
            target = output / source.name if output and is_into else output
            suffix = formats.resolve_suffix(source.suffix, _head(source), requested)
            jobs.append(_job(source, target, suffix, is_named=not is_into))
            continue
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            inside = path.relative_to(source)
            is_output = output is not None and output.resolve() in path.resolve().parents
            if is_output or any(part.startswith(".") for part in inside.parts):
                continue
            suffix = path.suffix.lower()
            is_known = suffix in formats.FORMATS or not (suffix or guess.guess_kind(_head(path)))
            if not (is_known or requested):
                skipped.append(path)
            elif output is not None:
                suffix = formats.resolve_suffix(suffix, b"", "" if is_known else requested)
                jobs.append(_job(path, output / inside, suffix, is_named=False))
    for target, n in Counter(job.target for job in jobs if job.target).items():
        if n > 1:
            raise UserError(
                f"two files would be written to {target}: rename one, or take them apart"
            )
    places = [*((path, output) for path in sources), *((job.source, job.target) for job in jobs)]
    for source, target in places:
        if target and (target.is_file() or target.is_dir()) and source.samefile(target):
            raise UserError(f"expected --output elsewhere: {source} would be overwritten")
    return jobs, skipped


def _job(source: Path, target: Path | None, suffix: str, *, is_named: bool) -> Job:
    """Return a job for a file of the format `suffix` and its target, None for standard output.

    A format that is written as another gives the target its suffix. With `is_named` the user named
    the target: UserError for another suffix. UserError, too, for an archive without a target.
    """
    job = Job(source, target, suffix)
    if not job.is_document:
        return job
    kind = formats.get_format(suffix)
    if target is None and kind.is_archive:
        raise UserError(f"expected --output for {kind.name}, which is no text: {source}")
    output_suffix = kind.output_suffix or source.suffix
    if target is None or (target.exists() and not target.is_file()):  # a pipe
        return job
    if is_named and target.suffix.lower() != output_suffix.lower():
        raise UserError(f"expected --output NAME{output_suffix} for {kind.name}, got {target}")
    return replace(job, target=target.with_suffix(output_suffix)) if kind.output_suffix else job


def translate_document(
    job: Job,
    directions: Directions,
    decode: DecodeConfig,
    options: Options,
    started: Callable[[int], None] = lambda n_passages: None,
    advance: Callable[[int], None] = lambda n_passages: None,
) -> tuple[bytes, list[str]]:
    """Translate a file into the other language; return it with the warnings.

    The language of a file that names none is recognised by its first passages. `started` is called
    with the number of passages, `advance` with how many more are done. UserError for a file that
    is too large or cannot be parsed.
    """
    if job.source.stat().st_size > MAX_BYTES:
        raise UserError(f"expected a file of at most {MAX_BYTES >> 20} MiB")
    content = job.source.read_bytes()
    document = formats.read(content, job.suffix, options)
    passages, metadata = document.passages, document.metadata
    started(len(passages))
    source, target = directions.most_common_direction(
        [passage.text for passage in passages[:SAMPLE]]
    )
    named = language_code(metadata.source or metadata.target)
    for direction in directions.available:  # what a file names is surer than what it looks like
        if direction[0 if metadata.source else 1] == named:
            source, target = direction
    translator = directions.translator((source, target))
    plain = directions.unguarded((source, target))
    notes = formats.encoding_notes(content, job.suffix, options)
    warnings = dict.fromkeys([*metadata.notes, *notes])

    def translate(texts: Sequence[str]) -> list[str]:
        results = translator.translate(texts, decode)
        warnings.update(dict.fromkeys(line for result in results for line in result.warnings))
        advance(len(texts))
        return [result.text for result in results]

    def inspect(text: str) -> Sequence[TranslatedSegment]:
        segments = inspect_text(translator, plain, text, decode)
        warnings.update(dict.fromkeys(line for segment in segments for line in segment.warnings))
        advance(1)
        return segments

    options = replace(options, source=source, target=target)
    return translate_file(content, job.suffix, translate, inspect, options), list(warnings)
