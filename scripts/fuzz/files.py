"""Documents that bite: each is read within the limits, or refused in a line."""

import asyncio
import random
import resource
from collections.abc import Iterator

import psutil

from scripts.fuzz.attacks import BUILT, UNITS, document
from scripts.fuzz.checks import Check, Options
from transformer.config import UserError
from transformer.documents.passages import Options as Asked
from transformer.documents.worker import MEMORY, SECONDS, Workers
from transformer.text.markup import split_at_marks

N_FILES = 600
LATE = 2.5 * SECONDS  # a file is read twice: for its passages, and to be written
SIZES = (300, 3000, 30_000, 300_000, 3_000_000)


def run(options: Options) -> Iterator[Check]:
    """Every kind of document once at its largest, then any of them, damaged or not."""
    chance = random.Random(options.seed)
    sized = [(suffix, (unit * (SIZES[-1] // len(unit))).encode())
             for suffix, units in UNITS.items() for unit in units]  # fmt: skip
    built = [(suffix, make(SIZES[-1])) for suffix, make in BUILT]
    n = options.count(N_FILES)
    every = chance.sample([*sized, *built], min(n, len(sized) + len(built)))
    every += [document(chance, chance.choice(SIZES)) for _ in range(n - len(every))]
    workers = Workers()
    try:
        results = [asyncio.run(_read(workers, suffix, content)) for suffix, content in every]
    finally:
        workers.close()
    bad = [why for why, _, _ in results if "\n" in why or why.startswith("defect")]
    told = bad[0] if bad else f"{sum(not why for why, _, _ in results)} read"
    yield Check("files: read, or refused in one line", len(every), len(bad), told)
    seconds, place = max((seconds, i) for i, (_, seconds, _) in enumerate(results))
    n_late = sum(seconds > LATE for _, seconds, _ in results)
    told = f"{seconds:.1f} s: {every[place][0]}, {len(every[place][1]):,} bytes"
    yield Check(f"files: within {LATE:g} s of computing", len(every), n_late, told)
    held, most = max(held for _, _, held in results), MEMORY >> 20
    yield Check(f"files: within {most} MiB", len(every), int(held > most), f"{held:.0f} MiB")


async def _read(workers: Workers, suffix: str, content: bytes) -> tuple[str, float, float]:
    """Why a file is refused or nothing; seconds of computing; MiB that the processes held."""
    asked, held = Asked("es", "en"), 0.0
    before = _computed()
    try:
        passages = await workers.read(content, suffix, asked)
        filled = [split_at_marks(f"{p.text} x", p.marks) for p in passages]
        await workers.write(content, suffix, asked, filled)
        why = ""
    except UserError as error:
        why = str(error)
    except Exception as error:  # whatever it is, it is what the campaign looks for
        why = f"defect: {type(error).__name__}"
    for child in psutil.Process().children():
        held = max(held, child.memory_info().rss / 2**20)
    return why, _computed() - before, held


def _computed() -> float:
    """Seconds of processor time of all processes that read files, those that ended too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = (child.cpu_times() for child in psutil.Process().children())
    return ended.ru_utime + ended.ru_stime + sum(times.user + times.system for times in alive)
