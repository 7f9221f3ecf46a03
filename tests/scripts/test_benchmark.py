"""The measurements: what is measured is right, turns are fair, and tables say what was found."""

import argparse
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from scripts.benchmark import copy_model
from scripts.benchmark import decoding as bench_decoding
from scripts.benchmark import engines as rivals
from scripts.benchmark import rounds as alternation
from scripts.benchmark import tables as bench_tables
from scripts.benchmark import workers as teams
from scripts.benchmark.engines import Setting
from scripts.benchmark.rounds import Result, Scenario, Workload
from scripts.benchmark.workers import Job, Part, Run
from tests.processes import tsv
from transformer.config import DecodeConfig, ModelConfig, UserError
from transformer.decoding import native
from transformer.decoding.search import search
from transformer.model import Transformer, source_batch

ALONE = Setting(1, 1, 1, "sentences")
GREEDY = DecodeConfig()
BEAMS = DecodeConfig(beam_size=3)


def quiet(line: str) -> None:
    """Takes a line of progress."""


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
    sources = copy_model.sentences(50, 500, seed=3)
    found = search(model, source_batch(sources), GREEDY)
    assert [list(best.ids) for best, *_ in found] == sources


def test_the_copying_model_copies_in_bfloat16_and_with_beams() -> None:
    model = copy_model.copy_model(small_config()).bfloat16()
    sources = copy_model.sentences(12, 500, seed=4)
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
    sources = copy_model.sentences(3000, 100)
    lengths = [len(ids) for ids in sources]
    assert 5 <= min(lengths) < 8
    assert 50 < max(lengths) <= 60
    assert abs(sum(lengths) / 3000 - 24) < 1
    assert {i for ids in sources for i in ids} == set(range(copy_model.N_SPECIAL, 100))
    assert sources == copy_model.sentences(3000, 100)
    assert {len(ids) for ids in copy_model.sentences(9, 100, length=25)} == {25}


def test_batches_hold_each_sentence_once_the_longest_first() -> None:
    sources = copy_model.sentences(31, 50, seed=2)
    found = list(rivals.batches(sources, 4))
    assert [len(batch) for batch in found] == [4] * 7 + [3]
    places = [i for batch in found for i in batch]
    assert sorted(places) == list(range(31))
    lengths = [len(sources[i]) for i in places]
    assert lengths == sorted(lengths, reverse=True)


def decoder_of(name: str, folder: Path) -> rivals.Decoder:
    rivals.write_weights(copy_model.copy_model(small_config()), folder, [name])
    return rivals.open_decoder(name, folder)


@pytest.mark.parametrize("name", rivals.NAMES)
def test_every_engine_copies(name: str, tmp_path: Path) -> None:
    family = rivals.family(name)
    needs = {"Hugging Face": "transformers", "CTranslate2": "ctranslate2"}
    if family in needs:
        pytest.importorskip(needs[family])
    if family == "native" and native.library() is None:
        pytest.skip("it was not built")
    decoder = decoder_of(name, tmp_path)
    sources = copy_model.sentences(20, 500, seed=5)
    threads = torch.get_num_threads()
    for batch, unit in rivals.BATCHES[family][:1]:
        setting = Setting(1, threads, batch, unit)
        decoder.configure(setting)
        for config in (GREEDY, BEAMS):
            assert decoder.translate(sources, config, setting) == sources


def test_what_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="CTranslate2 is not installed"):
        decoder_of("CTranslate2 int8", tmp_path)


def test_processes_share_out_a_job_and_are_timed_together() -> None:
    one = Part([[1], [3]], (10.0, 12.0), 5.0)
    two = Part([[2]], (10.5, 14.0), 6.0)
    assert teams.join([[0, 2], [1]], [one, two]) == Run([[1], [2], [3]], (4.0,), 11.0)


def test_sentences_that_come_alone_are_timed_alone() -> None:
    part = Part([[1, 1], [2, 2], [3, 3]], (0.0, 1.0, 2.0, 9.0), 0.0)
    run = teams.join([[0, 1, 2]], [part])
    assert run.seconds == (1.0, 1.0, 7.0)
    assert (run.ms, run.speed) == (1000, 2)


def fakes(log: list[tuple[str, Job]]) -> dict[str, Callable[[Job], Run]]:
    """Each takes its seconds for a token, less with its favourite batch, and notes its jobs."""

    def run(name: str, pace: float, best: int, job: Job) -> Run:
        log.append((name, job))
        n_tokens = sum(map(len, job.sources))
        slower = 1 if job.setting.batch == best else 2
        cores = job.setting.workers + 0.5 * job.setting.threads
        return Run(job.sources, (n_tokens * pace * slower / cores,))

    paces = {"plain float32": (0.2, 2048), "native int8": (0.1, 4096),
             "Hugging Face float32": (0.5, 128), "CTranslate2 int8": (0.3, 64)}  # fmt: skip
    return {name: partial(run, name, *values) for name, values in paces.items()}


def fake_results(log: list[tuple[str, Job]], n_rival: int | None = None) -> list[Result]:
    shares = alternation.deal(copy_model.sentences(30, 50), 3)
    work = Workload(shares, shares[0], n_rival)
    return alternation.measure(fakes(log), Scenario(True, 1, 2), work, quiet)


def test_each_engine_keeps_its_fastest_setting() -> None:
    found = {result.name: result.setting for result in fake_results([])}
    assert [setting.batch for setting in found.values()] == [2048, 4096, 128, 64]
    assert {(setting.workers, setting.threads) for setting in found.values()} == {(2, 1)}


def test_engines_take_turns_on_the_same_sentences() -> None:
    log: list[tuple[str, Job]] = []
    results = fake_results(log)
    turns = log[-12:]
    names = [name for name, _ in turns]
    assert names[:4] == [result.name for result in results]
    assert names[4:8] == [*names[1:4], names[0]]
    assert names[8:] == [*names[2:4], *names[:2]]
    for start in (0, 4, 8):
        first, *others = (job.sources for _, job in turns[start : start + 4])
        assert all(sources == first for sources in others)
    whole = [ids for _, job in (turns[0], turns[4], turns[8]) for ids in job.sources]
    assert sorted(whole) == sorted(copy_model.sentences(30, 50))


def test_slow_rivals_may_get_fewer_sentences_and_the_table_says_so() -> None:
    results = fake_results([], n_rival=4)
    assert [result.n_sentences for result in results] == [30, 30, 12, 30]
    assert [result.agree for result in results] == [1, 1, 1, 1]
    for found, is_equal in ((results, False), (fake_results([]), True)):
        *_, last = bench_decoding.tables(Scenario(True, 1, 2), found)
        assert ("unequal numbers" not in last) == is_equal


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    assert alternation.ratio([3, 1, 5], [1, 1, 1]) == pytest.approx(3)


def test_agreement_counts_equal_sentences() -> None:
    runs = [Run([[1], [2]], (1.0,)), Run([[3]], (1.0,))]
    assert alternation.agreement(runs, [[[1], [9]], [[3], [4]]]) == pytest.approx(2 / 3)
    assert alternation.agreement(runs, []) is None


def test_a_trained_model_is_compared_with_the_plain_one() -> None:
    work = Workload([[[1, 2]], [[3]]], [[1]], copies=False)
    found = alternation.measure(fakes([]), Scenario(False, 4, 1), work, quiet)
    assert {one.agree for one in found} == {1}
    without = {name: run for name, run in fakes([]).items() if name != "plain float32"}
    found = alternation.measure(without, Scenario(False, 4, 1), work, quiet)
    assert {one.agree for one in found} == {None}


def test_a_table_is_markdown_with_columns_of_equal_width() -> None:
    table = bench_tables.markdown(["engine", "ms"], [["a", "1"], ["longer name", "23.5"]])
    assert table.splitlines() == [
        "| engine      |   ms |",
        "| ----------- | ---: |",
        "| a           |    1 |",
        "| longer name | 23.5 |",
    ]


def test_scenarios_read_as_sentences() -> None:
    assert str(Scenario(True, 1, 2)) == "In bulk, greedy, 2 cores"
    assert str(Scenario(False, 4, 1)) == "One sentence at a time, beam 4, 1 core"


def test_the_machine_is_described() -> None:
    assert bench_tables.extensions("flags\t: fpu avx2 amx_int8 avx512f\n") == [
        "avx2", "avx512f", "amx_int8",
    ]  # fmt: skip
    assert bench_tables.extensions("no such line") == []
    text = bench_tables.environment()
    assert f"torch {torch.__version__}" in text
    assert f"{os.cpu_count()} cores" in text


def flags(*given: str) -> argparse.Namespace:
    return bench_decoding.parser().parse_args(given)


def test_a_checkpoint_is_measured_on_a_test_set(
    random_checkpoint: Path, phrases: Sequence[tuple[str, str]], tmp_path: Path
) -> None:
    test, named = tsv(tmp_path / "test.tsv", phrases[:9]), ("--model", str(random_checkpoint))
    given = flags(*named, "--test", str(test), "--sentences", "7")
    model, sources = bench_decoding.read_model(given)
    assert isinstance(model, Transformer)
    assert len(sources) == 7
    with pytest.raises(UserError, match="--test"):
        bench_decoding.read_model(flags(*named))


def test_numbers_that_leave_nothing_to_measure_are_refused() -> None:
    for given in (("--rounds", "0"), ("--beams", "0"), ("--sentences", "3")):
        with pytest.raises(UserError, match="at least 1"):
            bench_decoding.run(flags(*given), quiet)


def test_one_command_measures_and_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teams, "ProcessPoolExecutor", lambda n, _: ThreadPoolExecutor(n))

    def team(name: str, folder: Path) -> teams.Team:
        if "native" not in name:
            raise UserError("it is not installed")
        return teams.Team(name, folder)

    monkeypatch.setattr(bench_decoding, "Team", team)
    sizes = "--preset tiny --vocab-size 300 --n-encoder-layers 1 --sentences 8 --rounds 2 --beams 1"
    some = ["--single-sentences", "2", "--trial-sentences", "4", "--cores", "2"]
    engines = ["--engines", "native float32", "Hugging Face float32"]
    code = bench_decoding.main([*sizes.split(), *some, *engines])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "### In bulk, greedy, 2 cores" in said.out
    assert "Skipped Hugging Face float32: it is not installed." in said.out
    assert "Too few sentences to choose settings by" in said.out
    rows = [line.split("|")[1:-1] for line in said.out.splitlines() if line.startswith("| native")]
    assert [row[0].strip() for row in rows] == ["native float32"] * 2
    assert [row[-1].strip() for row in rows] == ["100.0 %"] * 2
    assert all(float(row[3].replace(",", "")) > 0 for row in rows)


def test_what_breaks_in_a_process_breaks_here() -> None:
    member = teams.Member("root", math.isqrt, 9)
    with pytest.raises(ValueError, match="nonnegative"):
        member.tell(math.isqrt, -1).result()
    assert member.tell(math.isqrt, 16).result() == 4
    member.close()
    with pytest.raises(TypeError):
        teams.Member("root", math.isqrt, "nine")
