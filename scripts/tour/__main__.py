"""Makes the attention tour, the lesson that the server shows at /tour, in Spanish and in English.

    python -m scripts.tour                  transformer/serving/tour/es.html and en.html

Sixteen stops and a walk of one sentence through the released model, with the lines of the source
that compute it and numbers that this run computed. What has to be trained or timed (stops 8, 13
and 14, some fifteen minutes of one core) is cached in results.json and used again as long as its
settings are the same; a new model or a changed text takes seconds.
"""

import dataclasses
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.benchmark.tables import log
from scripts.tour import comparison, cost, digits, facts, page, recall
from scripts.tour.comparison import Settings
from transformer.command import Parser, run_command
from transformer.evaluation.report import machine
from transformer.files import write_text

ROOT = Path(__file__).resolve().parents[2]
FORMAT = 2  # of results.json: raise it when a model, a loop or a record changes
LENGTHS = (8, 16, 32, 64, 128, 256)  # pieces of the sentences that are only encoded
SHIPPED = ROOT / "transformer" / "serving" / "tour"
ASSETS = ("icon.svg", "tour.css", "tour.js")  # what the pages load, written by hand
RESULTS = Path(__file__).resolve().parent / "results.json"


def cached(path: Path, name: str, settings: Any, compute: Callable[[], Any]) -> dict[str, Any]:
    """Return a result as JSON, with the machine: from the file, if made with the same settings."""
    records = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    settings = json.loads(json.dumps([FORMAT, settings]))
    if records.get(name, {}).get("settings") != settings:
        record = {"settings": settings, "machine": machine("cpu")}
        records[name] = json.loads(json.dumps({**record, "result": compute()}))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(records, indent=1) + "\n")
    return dict(records[name])


def file_size(corpus: Path, max_pairs: int) -> int:
    """Return the bytes of the header and of the pairs that are read."""
    with corpus.open("rb") as lines:
        return sum(map(len, itertools.islice(lines, 1 + max_pairs)))


def trained_facts(path: Path, settings: Settings) -> dict[str, Any]:
    """Return what stops 8, 13 and 14 show, computed now or taken from the file."""
    log("stop 8: digits")
    steps = [digits.STEPS, digits.RATE, digits.SEEDS]
    records = {"digits": cached(path, "digits", steps, digits.classify)}
    log("stop 13: the cost of a layer")
    records["cost"] = cached(path, "cost", cost.LENGTHS, lambda: cost.measure(cost.LENGTHS))
    log("stop 14: what is far away, and a recurrent translator against the Transformer")
    limits = [recall.STEPS, recall.KINDS, recall.LONGEST, recall.WIDTH]
    records["recall"] = cached(path, "recall", limits, recall.recall)
    files = {name: Path(getattr(settings, name)) for name in ("train", "dev", "test")}
    sizes = {name: [f.name, file_size(f, settings.max_pairs)] for name, f in files.items()}
    conditions = {**dataclasses.asdict(settings), **sizes}
    records["race"] = cached(path, "race", conditions, lambda: comparison.run(settings))
    records["reading"] = cached(path, "reading", LENGTHS, lambda: comparison.reading_time(LENGTHS))
    return {
        **{name: record["result"] for name, record in records.items()},
        "cost_machine": records["cost"]["machine"],
        "race_machine": records["race"]["machine"],
        "recall_steps": recall.STEPS,
        "recall_kinds": recall.KINDS,
        "recall_width": recall.WIDTH,
        "lengths": LENGTHS,
        "corpus": files["train"].name,
    }


def make(
    model: str | None, folder: Path, results: Path = RESULTS, settings: Settings | None = None
) -> list[Path]:
    """Compute everything, write the pages and return their paths."""
    trained = trained_facts(results, settings or Settings())
    log("the worked examples and the released model")
    folder.mkdir(parents=True, exist_ok=True)
    if folder.resolve() != SHIPPED:
        for name in ASSETS:
            shutil.copyfile(SHIPPED / name, folder / name)
    pages = page.pages(facts.collect(model, trained))
    for lang, text in pages.items():
        write_text(folder / f"{lang}.html", text)
    return [folder / f"{lang}.html" for lang in pages]


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--model", help="a model from es to en; otherwise the released one")
    add("--output", type=Path, default=SHIPPED, help="a folder")
    args = parser.parse_args(argv)
    return run_command(lambda: print(*make(args.model, args.output), sep="\n"), "tour")


if __name__ == "__main__":
    raise SystemExit(main())
