"""The report of a release: its slices change what they say, its tables are complete."""

from pathlib import Path

import pytest

from scripts.evaluate_release import main, rewritten

ROOT = Path(__file__).resolve().parents[2]


def test_a_slice_is_the_same_pairs_written_in_another_way() -> None:
    pairs = [("¿Qué día es hoy?", "What day is it today?"), ("Hola.", "Hi.")] * 4
    slices = dict(rewritten(pairs))
    assert slices["capitals"][0] == ("¿QUÉ DÍA ES HOY?", "What day is it today?")
    assert slices["title case"][0][0] == "¿Qué Día Es Hoy?"
    assert slices["no accents, no ¿¡"][0][0] == "Que dia es hoy?"
    assert slices["no final mark"][1] == ("Hola", "Hi")
    assert slices["one word"] == [("Hola.", "Hi.")] * 4
    assert len(slices["8 joined"]) == 1
    assert slices["8 joined"][0][0].count("Hola.") == 4


def test_the_report_has_its_tables(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = tmp_path / "newstest2013.tsv"
    rows = (ROOT / "data" / "test.tsv").read_text(encoding="utf-8").splitlines()[:4]
    name.write_text("\n".join(rows) + "\n", encoding="utf-8")
    flags = ["--test", name, "--model", random_checkpoint, "--n-bootstrap", 10, "--device", "cpu"]
    assert main([*map(str, flags), "--compute-type", "float32"]) == 0
    said = capsys.readouterr().out
    for row in ("this model, beam 4", "Firefox tiny", "opus-mt", "capitals", "placeholders"):
        assert row in said
