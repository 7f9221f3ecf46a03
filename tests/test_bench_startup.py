"""Start-up measured: turns are taken, a failure is told, and no second is tested."""

import importlib
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from transformer.config import UserError

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module scripts/bench_startup.py."""
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("bench_startup")


def test_a_process_is_timed_from_its_start_to_its_end(bench: Any) -> None:
    code = "import time; time.sleep(0.2); sum(range(10**6)); print('done')"
    took = bench.timed([sys.executable, "-c", code])
    assert took.wall > 0.2
    assert 0 < took.processor < took.wall
    assert took.said == "done\n"


def test_a_process_that_fails_is_an_error(bench: Any) -> None:
    with pytest.raises(UserError, match=r"expected .* to end well, got exit code 3: a reason"):
        bench.timed(
            [sys.executable, "-c", "import sys; print('a reason', file=sys.stderr); exit(3)"]
        )


def test_commands_take_turns_after_one_of_each_that_does_not_count(bench: Any) -> None:
    ran: list[str] = []

    def run(command: Sequence[str]) -> int:
        ran.append(command[0])
        return len(ran)

    assert bench.by_turns([["a"], ["b"]], 3, run) == [[3, 5, 7], [4, 6, 8]]
    assert ran == ["a", "b"] * 4


def test_a_turn_that_is_slow_for_both_leaves_the_ratio_alone(bench: Any) -> None:
    assert bench.ratio([3.0, 30.0, 3.0], [2.0, 20.0, 2.0]) == 1.5


def test_the_table_holds_both_processes_and_their_ratio(
    bench: Any, monkeypatch: pytest.MonkeyPatch, random_checkpoint: Path
) -> None:
    def took(command: Sequence[str]) -> Any:
        if bench.LOAD in command:
            return bench.Took(9.0, 9.0, "0.025\n")
        return bench.Took(*((2.0, 4.0) if "import torch" in command else (3.0, 5.0)), "")

    monkeypatch.setattr(bench.by_turns, "__defaults__", (took,))
    table, values = bench.run(Namespace(runs=2, model=str(random_checkpoint)), lambda line: None)
    lines = [line.replace(" ", "") for line in table.splitlines()]
    assert '|python-c"importtorch"|2.00|2.00-2.00|4.00|1.00|1.00|' in lines
    assert '|translate"hola"|3.00|3.00-3.00|5.00|1.50|1.25|' in lines
    assert "checkpoint.load takes 25 ms of it" in table
    assert values["ratio"] == 1.5
    assert values["translate"] == [[3.0, 5.0], [3.0, 5.0]]


def test_the_commands_that_are_measured_work(bench: Any, random_checkpoint: Path) -> None:
    assert bench.timed(bench.translate_command(random_checkpoint)).said.endswith("\n")
    load = bench.timed([sys.executable, "-c", bench.LOAD, str(random_checkpoint)])
    assert float(load.said) > 0


def test_no_run_is_an_error(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--runs", "0"]) == 2
    assert "expected --runs of at least 1, got 0" in capsys.readouterr().err
