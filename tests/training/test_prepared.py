"""A corpus prepared on one machine trains on another, which has no text; batches made ahead."""

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from scripts import train
from tests.training.runs import LANGS, N_STEPS, Pairs, Start, command, state, trained_tensors
from transformer.checkpoint.locate import read_metrics
from transformer.corpus.batching import Batch
from transformer.corpus.readers import write_tsv

pytestmark = pytest.mark.usefixtures("one_cpu_thread")


@pytest.fixture
def main(tmp_path: Path, corpus: Path) -> Callable[..., int]:
    """Runs train.py on the small corpus, or without --train; flags are added or replaced."""

    def run(output: str, *more: str, **changes: object) -> int:
        return train.main([*command(corpus, tmp_path / output, max_steps=3, **changes), *more])

    return run


@pytest.fixture
def dev(tmp_path: Path, phrases: Pairs) -> Path:
    """Ten other pairs."""
    path = tmp_path / "dev.tsv"
    write_tsv(path, LANGS, phrases[-10:])
    return path


@pytest.fixture
def folder(tmp_path: Path, dev: Path, main: Callable[..., int]) -> Path:
    """The small corpus prepared and carried away from its text."""
    assert main("none", "--prepare-only", "--prepared", str(tmp_path / "made"), dev=dev) == 0
    return Path(shutil.move(tmp_path / "made", tmp_path / "carried"))


def losses(folder: Path) -> list[float]:
    return [record["loss"] for record in read_metrics(folder) if record["event"] == "train"]


def test_it_trains_as_the_text_does_without_text_and_network(
    tmp_path: Path, dev: Path, folder: Path, main: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert main("text", dev=dev) == 0

    def fail(*_: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", fail)
    prepared = ["--prepared", str(folder)]
    assert main("carried-run", *prepared, train=None, cache=tmp_path / "none") == 0
    assert losses(tmp_path / "carried-run") == losses(tmp_path / "text") != []
    assert not (tmp_path / "none").exists()


def error_line(capsys: pytest.CaptureFixture[str], code: int) -> str:
    assert code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()[-1:]
    return line


@pytest.mark.parametrize(
    ("changes", "more", "message"),
    [
        ({"train": "other.tsv"}, (), "expected sources that"),
        ({"train": None, "max_len": 8}, (), "expected --max-len of at least 64"),
        ({"train": None, "vocab_size": 300}, (), "expected --vocab-size 350"),
        ({}, ("--both",), "expected --from es --to en, as"),
    ],
)
def test_what_does_not_fit_the_folder_is_one_line(
    folder: Path, main: Callable[..., int], capsys: pytest.CaptureFixture[str],
    changes: dict[str, object], more: tuple[str, ...], message: str,
) -> None:  # fmt: skip
    assert message in error_line(capsys, main("run", "--prepared", str(folder), *more, **changes))


def test_a_damaged_or_strange_folder_is_one_line(
    tmp_path: Path, folder: Path, main: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    (tokens,) = (folder / "tokens").glob("*.arrow")
    content = bytearray(tokens.read_bytes())
    content[len(content) // 2] ^= 1
    tokens.write_bytes(content)
    message = error_line(capsys, main("run", "--prepared", str(folder), train=None))
    assert "damaged or cut short" in message
    message = error_line(capsys, main("run", "--prepared", str(tmp_path), train=None))
    assert "made by train.py --prepare-only" in message
    assert "name it with --prepared" in error_line(capsys, main("run", "--prepare-only"))


def test_weights_may_be_others_than_at_the_preparation(
    tmp_path: Path, corpus: Path, folder: Path, main: Callable[..., int]
) -> None:
    source = f"{corpus / 'phrases.tsv'}@2"
    assert main("twice", "--prepared", str(folder), train=source) == 0
    assert json.loads((tmp_path / "twice" / "run.json").read_text())["train"] == [source]
    assert losses(tmp_path / "twice")


def test_worker_processes_change_nothing(start: Start, tmp_path: Path) -> None:
    start(tmp_path / "none", max_steps=N_STEPS).run()
    for steps in (N_STEPS // 2, N_STEPS):
        start(tmp_path / "two", max_steps=steps, loader_workers=2).run()
    expected, found = trained_tensors(tmp_path / "none"), trained_tensors(tmp_path / "two")
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert state(tmp_path / "two")["step"] == N_STEPS


def test_a_batch_knows_its_tokens() -> None:
    src, tgt = torch.tensor([[5, 6, 3], [7, 3, 0]]), torch.tensor([[8, 9], [8, 0]])
    batch = Batch(src, tgt, tgt, real=torch.tensor([0, 1, 2]), n_source=5)
    assert (batch.n_source, batch.n_target) == (5, 3)
    assert torch.equal(batch.to(torch.device("cpu")).real, batch.real)
