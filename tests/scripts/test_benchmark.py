"""The measurements: what is measured is right, turns are fair, and tables say what was found."""

import argparse
import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from scripts.benchmark import copy_model, decoding, driver, engines, tables
from scripts.benchmark.decoding import Job
from scripts.benchmark.driver import Run
from tests.processes import tsv
from transformer.config import DecodeConfig, ModelConfig, UserError
from transformer.decoding import native
from transformer.decoding.search import search
from transformer.model import Transformer, source_batch

GREEDY = DecodeConfig()
BEAMS = DecodeConfig(beam_size=3)


def small_config(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": 500, "d_model": 64, "n_heads": 4, "d_ff": 128, "max_len": 130}
    layers = {"n_encoder_layers": 2, "n_decoder_layers": 2}
    return ModelConfig(**{**sizes, **layers, **changes})


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("shape", [{}, {"d_model": 128, "n_heads": 2}, {"n_decoder_layers": 1}])
def test_the_copying_model_copies_sentences_of_mixed_lengths(
    norm: str, shape: dict[str, int]
) -> None:
    model = copy_model.copy_model(small_config(norm=norm, **shape))
    sources = copy_model.random_sentences(50, 500, seed=3)
    found = search(model, source_batch(sources), GREEDY)
    assert [list(best.ids) for best, *_ in found] == sources


def test_the_copying_model_copies_in_bfloat16_and_with_beams() -> None:
    model = copy_model.copy_model(small_config()).bfloat16()
    sources = copy_model.random_sentences(12, 500, seed=4)
    for config in (GREEDY, BEAMS):
        found = search(model, source_batch(sources), config)
        assert [list(best.ids) for best, *_ in found] == sources


def test_the_copying_model_has_no_zeros_to_skip() -> None:
    model = copy_model.copy_model(small_config())
    assert all(bool((parameter != 0).all()) for parameter in model.parameters())


def test_a_model_that_cannot_copy_is_refused() -> None:
    for shape in ({"positions": "learned"}, {"d_model": 32}, {"max_len": 40}):
        with pytest.raises(UserError, match="a model that copies"):
            copy_model.copy_model(small_config(**shape))


def test_random_sentences_are_5_to_60_tokens_and_24_on_average() -> None:
    sources = copy_model.random_sentences(3000, 100)
    lengths = [len(ids) for ids in sources]
    assert 5 <= min(lengths) < 8
    assert 50 < max(lengths) <= 60
    assert abs(sum(lengths) / 3000 - 24) < 1
    assert {i for ids in sources for i in ids} == set(range(copy_model.N_SPECIAL, 100))
    assert sources == copy_model.random_sentences(3000, 100)
    assert {len(ids) for ids in copy_model.random_sentences(9, 100, length=25)} == {25}


def decoder_of(name: str, folder: Path) -> engines.Decoder:
    engines.write_weights(copy_model.copy_model(small_config()), folder, [name])
    return engines.open_decoder(name, folder)


@pytest.mark.parametrize("name", engines.NAMES)
def test_every_engine_copies(name: str, tmp_path: Path) -> None:
    if name not in engines.OURS:
        pytest.importorskip("ctranslate2")
    if name.startswith("native") and native.load_library() is None:
        pytest.skip("it was not built")
    decoder = decoder_of(name, tmp_path)
    sources = copy_model.random_sentences(20, 500, seed=5)
    threads = torch.get_num_threads()
    setting = engines.settings(name, threads, True)[0]
    decoder.configure(setting)
    for config in (GREEDY, BEAMS):
        assert decoder.translate(sources, config, setting) == sources


def test_what_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="CTranslate2 is not installed"):
        decoder_of("CTranslate2 int8", tmp_path)


def test_sentences_that_come_alone_are_timed_alone() -> None:
    run = Run([[1, 1], [2, 2], [3, 3]], (1.0, 1.0, 7.0))
    assert (run.ms, run.tokens_per_second) == (1000, 2)
    in_bulk = Run(run.outputs, (12.0,))
    assert (in_bulk.ms, in_bulk.tokens_per_second) == (4000, 0.5)


def fakes(log: list[tuple[str, Job]]) -> dict[str, Callable[[Job], Run]]:
    """Each takes its seconds for a token, less with its favourite batch, and notes its jobs."""

    def run(name: str, pace: float, best: int, job: Job) -> Run:
        log.append((name, job))
        n_tokens = sum(map(len, job.sources))
        slower = 1 if job.setting.batch == best else 2
        cores = job.setting.workers + 0.5 * job.setting.threads
        return Run(job.sources, (n_tokens * pace * slower / cores,))

    paces = {"plain float32": (0.2, 2048), "native int8": (0.1, 4096),
             "CTranslate2 float32": (0.5, 1024), "CTranslate2 int8": (0.3, 64)}  # fmt: skip
    return {name: partial(run, name, *values) for name, values in paces.items()}


def measured(log: list[tuple[str, Job]], *given: str, without: str = "") -> str:
    """What is printed of fakes that translate 30 sentences in three rounds on two cores."""
    args = flags("--rounds", "3", *given)
    by_name = {name: run for name, run in fakes(log).items() if name != without}
    job = Job(copy_model.random_sentences(30, 50), GREEDY, True)
    return "\n".join(decoding.measure(by_name, job, 2, args))


def test_each_engine_keeps_its_fastest_setting() -> None:
    log: list[tuple[str, Job]] = []
    printed = measured(log)
    settings = [job.setting for _, job in log[-12:-8]]
    assert [setting.batch for setting in settings] == [2048, 4096, 1024, 64]
    assert {(setting.workers, setting.threads) for setting in settings} == {(2, 1)}
    assert all(f"{setting}" in printed for setting in settings)
    assert printed.startswith("### In bulk, greedy, 2 cores (load")


def test_engines_take_turns_on_the_same_sentences() -> None:
    log: list[tuple[str, Job]] = []
    measured(log)
    turns = log[-12:]
    names = [name for name, _ in turns]
    assert names[:4] == [*fakes([])]
    assert names[4:8] == [*names[1:4], names[0]]
    assert names[8:] == [*names[2:4], *names[:2]]
    for start in (0, 4, 8):
        first, *others = (job.sources for _, job in turns[start : start + 4])
        assert all(sources == first for sources in others)
    whole = [ids for _, job in (turns[0], turns[4], turns[8]) for ids in job.sources]
    assert sorted(whole) == sorted(copy_model.random_sentences(30, 50))


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    ours, theirs = (
        [Run([[1]], (1 / speed,)) for speed in speeds] for speeds in ((3, 1, 5), [1] * 3)
    )
    assert driver.ratio(ours, theirs) == pytest.approx(3)
    _, last = driver.speed_tables({"a": ours, "b": theirs}, ["a"], {})
    assert last.splitlines()[-1].split() == ["|", "a", "|", "3.00", "|"]


def test_agreement_counts_equal_sentences() -> None:
    runs = [Run([[1], [2]], (1.0,)), Run([[3]], (1.0,))]
    assert decoding.agreement(runs, [[[1], [9]], [[3]]]) == "66.7 %"
    assert decoding.agreement(runs, []) == "-"


def test_a_trained_model_is_compared_with_the_plain_one() -> None:
    assert measured([], "--model", "any").count("100.0 % |") == 4
    without = measured([], "--model", "any", without="plain float32")
    assert without.count(" - |") == 3


def test_a_table_is_markdown_with_columns_of_equal_width() -> None:
    table = tables.markdown(["engine", "ms"], [["a", "1"], ["longer name", "23.5"]])
    assert table.splitlines() == [
        "| engine      |   ms |",
        "| ----------- | ---: |",
        "| a           |    1 |",
        "| longer name | 23.5 |",
    ]


def test_the_machine_is_described() -> None:
    assert tables.cpu_extensions("flags\t: fpu avx2 amx_int8 avx512f\n") == [
        "avx2", "avx512f", "amx_int8",
    ]  # fmt: skip
    assert tables.cpu_extensions("no such line") == []
    text = tables.environment()
    assert f"torch {torch.__version__}" in text
    assert f"{os.cpu_count()} cores" in text


def flags(*given: str) -> argparse.Namespace:
    return decoding.parser().parse_args(given)


def test_a_checkpoint_is_measured_on_a_test_set(
    random_checkpoint: Path, phrases: Sequence[tuple[str, str]], tmp_path: Path
) -> None:
    test, named = tsv(tmp_path / "test.tsv", phrases[:9]), ("--model", str(random_checkpoint))
    given = flags(*named, "--test", str(test), "--sentences", "7")
    model, sources = decoding.read_model(given)
    assert isinstance(model, Transformer)
    assert len(sources) == 7
    with pytest.raises(UserError, match="--test"):
        decoding.read_model(flags(*named))


def test_numbers_that_leave_nothing_to_measure_are_refused() -> None:
    for given in (("--rounds", "0"), ("--beams", "0"), ("--sentences", "3")):
        with pytest.raises(UserError, match="at least 1"):
            decoding.run(flags(*given))


def test_one_command_measures_and_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "ProcessPoolExecutor", lambda n, _: ThreadPoolExecutor(n))
    open_decoder = engines.open_decoder

    def open_native(name: str, folder: Path) -> engines.Decoder:
        if "native" not in name:
            raise UserError("it is not installed")
        return open_decoder(name, folder)

    monkeypatch.setattr(engines, "open_decoder", open_native)
    sizes = "--preset tiny --vocab-size 300 --n-encoder-layers 1 --sentences 8 --rounds 2 --beams 1"
    some = ["--single-sentences", "2", "--trial-sentences", "4", "--cores", "2"]
    names = ["--engines", "native float32", "CTranslate2 float32"]
    code = decoding.main([*sizes.split(), *some, *names])
    output = capsys.readouterr()
    assert code == 0, output.err
    assert "### In bulk, greedy, 2 cores" in output.out
    assert "Skipped CTranslate2 float32: it is not installed." in output.out
    assert "Too few sentences to choose settings by" in output.out
    rows = [
        line.split("|")[1:-1] for line in output.out.splitlines() if line.startswith("| native")
    ]
    assert [row[0].strip() for row in rows] == ["native float32"] * 2
    assert [row[-1].strip() for row in rows] == ["100.0 %"] * 2
    assert all(float(row[1].replace(",", "")) > 0 for row in rows)


def test_what_breaks_in_a_process_breaks_here() -> None:
    name = "bit_length"
    with driver.open_workers([name], operator.methodcaller) as (workers, skipped):
        assert workers[name](16) == 5  # type: ignore[comparison-overlap]
        assert not skipped
        with pytest.raises(AttributeError, match=name):
            workers[name]("16")
    with pytest.raises(ValueError, match="nine"), driver.open_workers(["nine"], int):  # type: ignore[arg-type]
        pass
