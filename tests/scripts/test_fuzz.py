"""The campaign: what it sends is what it says, and what does not hold shows."""

from pathlib import Path

import pytest

from scripts.fuzz import files, requests
from scripts.fuzz.attacks import draw_bodies, draw_texts
from scripts.fuzz.checks import Check, Options, message_fault


@pytest.mark.parametrize(
    ("n", "n_bad", "verdict"), [(9, 0, "holds"), (9, 2, "2 bad"), (0, 0, "0 bad")]
)
def test_a_row_says_whether_it_holds(n: int, n_bad: int, verdict: str) -> None:
    assert Check("a", n, n_bad, "x|y").with_title("b").row() == ["b: a", str(n), verdict, "x/y"]


def test_one_line_is_one_line() -> None:
    assert message_fault("translate: expected a file\n") == ""
    assert message_fault("a\nb\n") == "2 lines"
    assert message_fault("defect: x").startswith("traceback or defect")


def test_what_is_sent_is_the_same_for_the_same_seed_and_of_every_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "SIZES", (500,))
    monkeypatch.setattr(requests, "N_PREPARED", 50)
    lines = draw_texts(50, 3)
    assert lines == draw_texts(50, 3)
    assert len(lines) == 50
    assert not any("\n" in line for line in lines)
    assert draw_bodies(20, 3) == draw_bodies(20, 3)
    drawn = requests.Requests(3, "key")
    sent = [drawn.draw() for _ in range(200)]
    assert len({name for name, _ in sent}) == 9
    assert any(b'"api_key": "key"' in content for _, content in sent)


def test_hostile_documents_are_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SIZES", (300, 20_000))
    checks = [*files.run(Options(0, 0.01, tmp_path, 0, 2))]
    assert [check.n_bad for check in checks] == [0, 0, 0]
    assert checks[0].n == 6
