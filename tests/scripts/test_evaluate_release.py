"""The report of a release: its slices change what they say, its tables are complete."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "scripts"))),
    "OMP_NUM_THREADS": "1",
}


def python(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, args)],
        env=ENVIRONMENT,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_slice_is_the_same_pairs_written_in_another_way() -> None:
    done = python(
        "-c",
        "import json\n"
        "from evaluate_release import rewritten\n"
        "pairs = [('¿Qué día es hoy?', 'What day is it today?'), ('Hola.', 'Hi.')] * 4\n"
        "print(json.dumps(dict(rewritten(pairs))))",
    )
    slices = json.loads(done.stdout)
    assert slices["capitals"][0] == ["¿QUÉ DÍA ES HOY?", "What day is it today?"]
    assert slices["title case"][0][0] == "¿Qué Día Es Hoy?"
    assert slices["no accents, no ¿¡"][0][0] == "Que dia es hoy?"
    assert slices["no final mark"][1] == ["Hola", "Hi"]
    assert slices["one word"] == [["Hola.", "Hi."]] * 4
    assert len(slices["8 joined"]) == 1
    assert slices["8 joined"][0][0].count("Hola.") == 4


def test_the_report_has_its_tables(random_checkpoint: Path, tmp_path: Path) -> None:
    name = tmp_path / "newstest2013.tsv"
    rows = (ROOT / "data" / "test.tsv").read_text(encoding="utf-8").splitlines()[:4]
    name.write_text("\n".join(rows) + "\n", encoding="utf-8")
    flags = ["--test", name, "--model", random_checkpoint, "--n-bootstrap", 10, "--device", "cpu"]
    done = python("scripts/evaluate_release.py", *flags, "--compute-type", "float32")
    assert done.returncode == 0, done.stderr
    for row in ("this model, beam 4", "Firefox tiny", "opus-mt", "capitals", "placeholders"):
        assert row in done.stdout


def test_a_set_that_is_not_there_is_one_line(random_checkpoint: Path) -> None:
    done = python("scripts/evaluate_release.py", "--test", "no.tsv", "--model", random_checkpoint)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
