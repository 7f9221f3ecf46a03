"""Makes the attention tour: one page, in Spanish and in English, that loads nothing.

    python -m scripts.tour                  checkpoints/attention-tour/index.html

Twelve stops from hard attention to the trained model, each with its formula, the lines of the
source that compute it, and numbers that this run computed. What has to be trained
(stops 8 and 12, some nine minutes of one core; --epochs 2 for a first look) is kept in results.json
beside the page and used again as long as the settings are the same.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from scripts.tour import comparison, digits, exhibits, page
from scripts.tour.comparison import Settings
from transformer.command import run_command
from transformer.files import write_text
from transformer.translation.translator import Translator

ROOT = Path(__file__).resolve().parents[2]
FORMAT = 1  # of results.json: raise it when a model, a loop or a record changes
LENGTHS = (8, 16, 32, 64, 128, 256)  # pieces of the sentences that are only read
PAGE, RESULTS = "index.html", "results.json"


def kept(folder: Path, name: str, settings: Any, work: Callable[[], Any]) -> Any:
    """The result of some work as JSON: from the folder, if made there with the same settings."""
    path = folder / RESULTS
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    settings = json.loads(json.dumps([FORMAT, torch.__version__, settings]))
    if known.get(name, {}).get("settings") != settings:
        known[name] = {"settings": settings, "result": work()}
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(known, indent=1) + "\n")
    return known[name]["result"]


def trained(folder: Path, settings: Settings, tell: Callable[[str], None]) -> exhibits.Trained:
    """What stops 8 and 12 need, trained now or taken from the folder."""
    tell("stop 8: digits")
    classified = kept(folder, "digits", [digits.STEPS, digits.RATE, digits.SEEDS],
                      lambda: dataclasses.asdict(digits.classify()))  # fmt: skip
    tell("stop 12: a recurrent translator against the Transformer")
    files = map(Path, (settings.train, settings.dev, settings.test))
    sizes = [path.stat().st_size for path in files if path.is_file()]
    cache = ROOT / "data" / "prepared"
    conditions = [dataclasses.asdict(settings), sizes]
    race = kept(folder, "race", conditions,
                lambda: [*map(dataclasses.asdict, comparison.run(settings, cache, tell))]
                )  # fmt: skip
    reading = kept(folder, "reading", LENGTHS, lambda: comparison.reading_time(LENGTHS))
    return exhibits.Trained(classified, race, reading, LENGTHS, settings)


def make(model: str, folder: Path, settings: Settings, tell: Callable[[str], None]) -> Path:
    """Computes everything, writes the page and returns its path."""
    results = trained(folder, settings, tell)
    tell("stops 1 to 11: the worked examples and the trained model")
    translator = Translator.load(model, "cpu", "float32")
    findings = exhibits.Findings.collect(translator, results)
    parts = {language: exhibits.exhibits(findings, language) for language in page.LANGUAGES}
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / PAGE, page.page(parts))
    return folder / PAGE


def main(argv: list[str] | None = None) -> int:
    """Makes the page and says where it is; 2 where a person has to mend."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", default=str(ROOT / "checkpoints" / "es-en"), help="a model from es to en")
    add("--output", type=Path, default=ROOT / "checkpoints" / "attention-tour", help="a folder")
    for name in ("train", "dev", "test"):
        add(f"--{name}", default=getattr(Settings(), name), help="corpus of stop 12, es and en")
    add("--epochs", type=int, default=Settings().epochs, help="passes of each model of stop 12")
    args = parser.parse_args(argv)
    settings = Settings(train=args.train, dev=args.dev, test=args.test, epochs=args.epochs)
    tell = lambda message: print(message, file=sys.stderr, flush=True)  # noqa: E731
    return run_command(lambda: print(make(args.model, args.output, settings, tell)), "tour")


if __name__ == "__main__":
    sys.exit(main())
