"""The whole story through the commands that a person types: train, translate, evaluate."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import sacrebleu

from tests.processes import ROOT, python, tsv

SETTINGS = {
    "preset": "tiny", "d-model": 64, "n-heads": 2, "n-encoder-layers": 1, "n-decoder-layers": 1,
    "d-ff": 64, "max-len": 64, "vocab-size": 350, "max-steps": 60, "batch-tokens": 2000,
    "warmup": 30, "lr-scale": 2, "log-every": 20, "eval-every": 30, "eval-pairs": 8,
    "save-every": 30, "average": 2, "ema": 0.9,
}  # fmt: skip
Pairs = Sequence[tuple[str, str]]


def run(*command: object, text: str = "") -> "subprocess.CompletedProcess[str]":
    """A Python command in a process of its own, which must end well."""
    done = python(*command, text=text, ACCELERATE_USE_CPU="true")
    assert done.returncode == 0, done.stderr
    return done


def test_from_a_corpus_to_the_report_of_a_model(phrases: Pairs, tmp_path: Path) -> None:
    train = tsv(tmp_path / "train.tsv", phrases[:400])
    dev = tsv(tmp_path / "dev.tsv", phrases[400:420])
    test = tsv(tmp_path / "test.tsv", phrases[420:440])
    model = tmp_path / "run"
    files = ["--train", train, "--dev", dev, "--cache", tmp_path / "cache", "--output", model]

    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    trained = run(ROOT / "scripts" / "train.py", *files, *settings)
    assert trained.stdout == ""
    assert "reached 60 steps, at step 60" in trained.stderr
    found = {path.name for path in model.iterdir()}
    assert found == {"run.json", "metrics.jsonl", "curves.svg", "best", "last", "steps"}
    metrics = (model / "metrics.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in metrics.splitlines()]
    losses = [record["loss"] for record in records if record["event"] == "train"]
    assert losses[-1] < losses[0] - 1, "nothing was learnt"

    source = "".join(f"{src}\n" for src, _ in phrases[420:440])
    plain = ("--device", "cpu", "--no-guard")
    translated = run("-m", "transformer", "--model", model, *plain, text=source)
    assert translated.stderr == ""
    hypotheses = translated.stdout.split("\n")[:-1]
    assert len(hypotheses) == 20

    script, output = ROOT / "scripts" / "evaluate.py", tmp_path / "report"
    evaluated = run(script, "--model", model, "--test", test, "--output", output, "--device", "cpu")
    assert str(output / "report.html") in evaluated.stdout
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    (scored,) = report["sets"]
    values = {score["metric"]: score["value"] for score in scored["scores"]}
    lines = {end: (output / f"test.{end}").read_text(encoding="utf-8").split("\n")[:-1]
             for end in ("src", "ref", "hyp")}  # fmt: skip
    assert lines == {
        "src": [src for src, _ in phrases[420:440]],
        "ref": [tgt for _, tgt in phrases[420:440]],
        "hyp": hypotheses,
    }
    references = [lines["ref"]]
    assert values == {
        "BLEU": pytest.approx(sacrebleu.corpus_bleu(hypotheses, references).score),
        "chrF2": pytest.approx(sacrebleu.corpus_chrf(hypotheses, references).score),
        "TER": pytest.approx(sacrebleu.corpus_ter(hypotheses, references).score),
    }


COUNT = """
files = {m.__file__ for n, m in sys.modules.items() if n.startswith("transformer.")}
assert len([f for f in files if not f.endswith("__init__.py")]) <= 31, sorted(files)
"""


def test_a_translation_touches_few_files() -> None:
    said = python("-c", f"import sys\nfrom transformer.cli import main\nmain(['x'])\n{COUNT}")
    assert said.returncode == 0, said.stderr


def test_two_steps_of_training_touch_few_files(phrases: Pairs, tmp_path: Path) -> None:
    train, settings = tsv(tmp_path / "train.tsv", phrases[:200]), {**SETTINGS, "max-steps": 2}
    files = {"train": train, "cache": tmp_path / "cache", "output": tmp_path / "run"}
    flags = [f"--{name}={value}" for name, value in {**files, **settings}.items()]
    code = f"import sys\nfrom scripts.train import main\nassert main({flags!r}) == 0\n{COUNT}"
    said = python("-c", code, ACCELERATE_USE_CPU="true")
    assert said.returncode == 0, said.stderr
