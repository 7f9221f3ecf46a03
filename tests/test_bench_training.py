"""Training measured: all loops learn the same, turns are fair, and kinds of operations are told."""

import importlib.util
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from accelerate.state import AcceleratorState, GradientState
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import bench_profile
import bench_training
import benchmark
import rivals
import trainers
import training_rivals
import training_tables
import training_teams
from training_tables import Result
from training_teams import Block, Taken

from transformer.batching import Batch, collate
from transformer.config import ModelConfig, TrainConfig, UserError
from transformer.model import Transformer
from transformer.objective import LossModel
from transformer.tokenizer import Tokenizer

LIBRARIES = {"Hugging Face": "transformers", "JoeyNMT": "joeynmt"}
BATCHES = [
    collate([([5, 6, 7, 8], [9, 10]), ([11], [12, 13, 14, 15, 16])]),
    collate([([21, 22, 23], [29, 30, 31]), ([24, 25], [6])]),
]


def quiet(line: str) -> None:
    """Takes a line of progress."""


def small(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": 350, "d_model": 16, "n_heads": 2, "d_ff": 40, "max_len": 64}
    layers = {"n_encoder_layers": 2, "n_decoder_layers": 3, "dropout": 0.0}
    return ModelConfig(**{**sizes, **layers, **changes})


@pytest.fixture(autouse=True)
def _own_accelerator(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets each loop choose its precision anew, on a CPU."""

    def forget() -> None:
        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()

    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    forget()
    yield
    forget()


def need(name: str) -> None:
    """Skips a test of a loop whose library is not installed."""
    library = LIBRARIES.get(name)
    if library and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")


def our_loss(model: Transformer, batch: Batch, smoothing: float) -> torch.Tensor:
    loss_model = LossModel(model, TrainConfig(label_smoothing=smoothing))
    total: torch.Tensor = loss_model(batch.src, batch.tgt_in, batch.tgt_out)
    return total / trainers.n_targets(batch)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("name", trainers.RIVALS)
def test_a_rival_computes_the_same_loss_and_gradient_from_the_same_weights(
    name: str, norm: str
) -> None:
    need(name)
    torch.manual_seed(3)
    model = Transformer(small(norm=norm))
    with torch.no_grad():  # no bias is 0 and no gain is 1: a forgotten one shows
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    rival = trainers.RIVALS[name](model, 0.0)
    if name == "Hugging Face":
        model = training_rivals.as_post_norm(model)
    ours = our_loss(model, BATCHES[0], 0.0)
    ours.backward()
    norm_of_gradient = torch.nn.utils.get_total_norm(p.grad for p in model.parameters())  # type: ignore[misc]
    trained = [p for p in rival.model.parameters() if p.requires_grad]
    assert sum(p.numel() for p in trained) == sum(p.numel() for p in model.parameters())
    for way in rival.ways.values():
        rival.model.train().zero_grad()
        with way():
            loss = rival.loss(BATCHES[0])
        assert loss.item() == pytest.approx(ours.item(), rel=1e-4)
        loss.backward()
        found = torch.nn.utils.get_total_norm([p.grad for p in trained if p.grad is not None])
        assert float(found) == pytest.approx(float(norm_of_gradient), rel=2e-3)


@pytest.mark.parametrize("name", trainers.RIVALS)
def test_smoothing_costs_a_rival_the_same(name: str) -> None:
    need(name)
    model = Transformer(small(norm="post"))
    loss = trainers.RIVALS[name](model, 0.1).loss(BATCHES[0])
    assert loss.item() == pytest.approx(our_loss(model, BATCHES[0], 0.1).item(), rel=1e-3)


@pytest.mark.parametrize("name", trainers.RIVALS)
def test_a_rival_drops_out_in_as_many_places_as_we_do(name: str) -> None:
    need(name)
    model = Transformer(small(norm="post", dropout=0.5))
    rival = trainers.RIVALS[name](model, 0.0)
    rates = [
        getattr(part, "p", getattr(part, "dropout", 0.0))
        for part in rival.model.modules()
        if isinstance(part, torch.nn.Dropout) or isinstance(getattr(part, "dropout", None), float)
    ]
    assert set(rates) == {0.0, 0.5}


def opened(name: str, folder: Path, tokenizer: Tokenizer) -> trainers.TrainsSteps:
    torch.manual_seed(1)
    config = TrainConfig(warmup=4, label_smoothing=0.1)
    shape = small(norm="post", vocab_size=tokenizer.vocab_size)
    trainers.write_task(folder, Transformer(shape), config, tokenizer, BATCHES)
    return trainers.open_trainer(name, folder)


@pytest.mark.parametrize("name", [name for name in trainers.NAMES if name.endswith("float32")])
def test_every_loop_learns_the_same_batches_alike(
    name: str, tmp_path: Path, phrase_tokenizer: Tokenizer
) -> None:
    need(rivals.family(name))
    taken = training_teams.perform(opened(name, tmp_path, phrase_tokenizer), Block(0, 8))
    assert taken.n_tokens == (9, 6) * 4
    assert taken.losses[0] == pytest.approx(7.0, abs=1.5)
    assert taken.losses[-1] < 0.8 * taken.losses[1]
    if name != trainers.NAMES[0]:
        AcceleratorState._reset_state(reset_partial_state=True)
        ours = training_teams.perform(
            opened(trainers.NAMES[0], tmp_path, phrase_tokenizer), Block(0, 8)
        )
        assert taken.losses == pytest.approx(ours.losses, rel=2e-2)


def test_bfloat16_is_what_a_loop_is_told_to_use(
    tmp_path: Path, phrase_tokenizer: Tokenizer
) -> None:
    loop = opened("torch.nn.Transformer bfloat16", tmp_path, phrase_tokenizer)
    loss = loop.step(0).item()
    AcceleratorState._reset_state(reset_partial_state=True)
    ours = opened("this project bfloat16", tmp_path, phrase_tokenizer)
    assert isinstance(ours, trainers.Ours)
    assert ours.trainer.accelerator.mixed_precision == "bf16"
    assert ours.step(0).item() == pytest.approx(loss, rel=0.02)


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joeynmt", None)
    with pytest.raises(UserError, match="JoeyNMT is not installed"):
        training_rivals.joey(Transformer(small()), 0.1)


def test_steps_that_are_not_measured_are_taken_before_the_others() -> None:
    numbers: list[int] = []

    class Loop:
        task = trainers.Task(TrainConfig(), BATCHES)
        ways: tuple[str, ...] = ("one", "other")
        device = torch.device("cpu")
        way = ""

        def choose(self, way: str) -> None:
            self.way = way

        def step(self, number: int) -> torch.Tensor:
            numbers.append(number)
            return torch.tensor(float(len(numbers)))

    loop = Loop()
    taken = training_teams.perform(loop, Block(3, 2, 1, "other"))
    assert (numbers, loop.way) == ([2, 3, 4], "other")
    assert taken.n_tokens == (6, 9)
    assert taken.losses == (2 / 6, 3 / 9)


def taken(*seconds: float) -> Taken:
    n = len(seconds)
    return Taken(seconds, tuple(2 * s for s in seconds), (10,) * n, (1.5,) * n, 64.0)


def test_tables_tell_medians_of_the_rounds_and_ratios_within_them() -> None:
    ours = Result("this project float32", "as in training", (taken(1), taken(1), taken(2)))
    rival = Result("JoeyNMT float32", "its own attention", (taken(3), taken(1), taken(10)))
    table, ratios, by_processor = training_tables.tables([ours, rival])
    cells = [cell.strip() for cell in table.splitlines()[2].split("|")[1:-1]]
    assert cells[:5] == ["this project float32", "as in training", "10", "5-10", "5"]
    assert cells[5:] == ["1,000", "64", "1.500"]
    assert "3.00" in ratios
    assert "3.00" in by_processor
    assert training_tables.values(rival)["tokens_per_second"] == [10 / 3, 10, 1]
    assert training_tables.tables([]) == ["Nothing could be measured."]


def test_curves_are_means_of_25_steps_side_by_side() -> None:
    losses = tuple(float(i) for i in range(60))
    one = Taken((1.0,) * 60, (1.0,) * 60, (1,) * 60, losses, 0.0)
    _, table = training_tables.curves([Result("a", "", (one,)), Result("b", "", (one,))])
    assert [line.split("|")[1:4] for line in table.splitlines()[2:]] == [
        [" 1-25  ", " 12.000 ", " 12.000 "],
        [" 26-50 ", " 37.000 ", " 37.000 "],
        [" 51-60 ", " 54.500 ", " 54.500 "],
    ]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("batch", BATCHES)
def test_operations_are_counted_as_torch_counts_them(norm: str, batch: Batch) -> None:
    config = small(norm=norm)
    loss_model = LossModel(Transformer(config), TrainConfig())
    with FlopCounterMode(display=False) as counted, sdpa_kernel(SDPBackend.MATH):
        loss_model(batch.src, batch.tgt_in, batch.tgt_out).backward()
    assert bench_profile.step_flops(config, batch) == counted.get_total_flops()


def test_each_kind_of_operation_has_its_share(
    tmp_path: Path, phrase_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_profile, "LARGE", [64, 64])
    ours = opened("this project float32", tmp_path, phrase_tokenizer)
    assert isinstance(ours, trainers.Ours)
    found = bench_profile.profile(ours, 0, 2)
    assert sum(found.kinds.values()) == pytest.approx(1)
    assert {*found.kinds} >= {
        bench_profile.LINEAR, bench_profile.PROJECTION, bench_profile.ATTENTION,
        bench_profile.LOSS, bench_profile.UPDATE, "layer norm", "embedding",
    }  # fmt: skip
    assert "of a large matrix product in float32" in bench_profile.told(found)
    assert not ours.trainer.loss_model._forward_hooks


def test_the_largest_products_are_the_share_that_they_should_be() -> None:
    wide = small(d_model=128, d_ff=2048, n_heads=2, n_decoder_layers=1)
    narrow = LossModel(Transformer(wide), TrainConfig())
    batch = collate([([5] * 20, [6] * 20)] * 20)
    with (
        bench_profile.marked(narrow),
        torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True
        ) as watched,
    ):
        narrow(batch.src, batch.tgt_in, batch.tgt_out).backward()
    kinds = bench_profile.kinds_of(watched.events(), on_gpu=False)
    assert max(kinds, key=lambda kind: kinds[kind]) == bench_profile.LINEAR


def write_corpus(folder: Path, phrases: list[tuple[str, str]]) -> Path:
    file = folder / "train.tsv"
    lines = "".join(f"{src}\t{tgt}\n" for src, tgt in phrases[:200])
    file.write_text(f"es\ten\n{lines}", encoding="utf-8")
    return file


SIZES = (
    "--what training --preset tiny --d-model 16 --n-heads 2 --n-encoder-layers 1 "
    "--n-decoder-layers 1 --d-ff 32 --vocab-size 350 --batch-tokens 400 --threads 1 --seed 2"
)


def test_one_command_measures_and_prints(
    tmp_path: Path, phrases: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "measured.json"
    some = ["--train", str(write_corpus(tmp_path, phrases)), "--cache", str(tmp_path / "cache")]
    engines = ["--engines", "this project float32", "torch.nn.Transformer float32"]
    shape = [*SIZES.split(), *some, *engines, "--rounds", "2", "--steps", "2"]
    code = benchmark.main([*shape, "--profile", "--json", str(file)])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "## Training" in said.out
    assert "Marian can only normalise after each sublayer" in said.out
    assert "### this project float32" in said.out
    found = json.loads(file.read_text(encoding="utf-8"))["training"]
    ours, rival = found["loops"]
    assert len(ours["losses"]) == 4
    assert ours["losses"][0] == pytest.approx(rival["losses"][0], rel=0.1)  # dropout differs
    assert set(found["ratios"]) == {"times as fast as", "by processor time"}
    assert sum(found["profiles"]["this project float32"]["kinds"].values()) == pytest.approx(1)


@pytest.mark.parametrize("given", [(), ("--default-attention",)])
def test_the_others_attend_in_their_fastest_way_or_in_their_own(given: tuple[str, ...]) -> None:
    class Loop:
        name = "Hugging Face float32"
        ways = ("sdpa", "eager")

        def run(self, block: Block) -> Taken:
            return taken(2) if block.way == "sdpa" else taken(1)

    flags = benchmark.parser("training").parse_args(["--what", "training", *given])
    (result,) = bench_training.measure([cast(Any, Loop())], flags, quiet)
    assert result.way == ("sdpa" if given else "eager")


def test_batches_are_those_of_training_epoch_after_epoch(
    tmp_path: Path, phrases: list[tuple[str, str]]
) -> None:
    logging.getLogger("datasets").setLevel(logging.ERROR)
    some = ["--train", str(write_corpus(tmp_path, phrases)), "--cache", str(tmp_path / "cache")]
    given = benchmark.parser("training").parse_args([*SIZES.split(), *some])
    data, shape, config = bench_training._prepared(given)
    first = bench_training.plan(data, shape, config, 1)
    many = bench_training.plan(data, shape, config, 40)
    assert torch.equal(first[0].src, many[0].src)
    assert len(many) == 40
    assert all(batch.src.numel() + batch.tgt_in.numel() <= 400 for batch in many)
    with pytest.raises(UserError, match="Raise --batch-tokens"):
        bench_training.plan(data, shape, TrainConfig(batch_tokens=8), 1)


def test_numbers_that_leave_nothing_to_measure_are_refused() -> None:
    for given in (("--rounds", "0"), ("--steps", "0"), ("--threads", "0"), ("--curves", "-1")):
        flags = benchmark.parser("training").parse_args(["--what", "training", *given])
        with pytest.raises(UserError, match="at least 1"):
            bench_training.run(flags, quiet)
