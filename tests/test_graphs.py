"""The engine for a GPU: its oracle is the plain model; on a CPU the same steps run uncaptured."""

import contextlib
import itertools
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from transformer import graphs
from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig, UserError
from transformer.decoding import beam_search, greedy_search, search
from transformer.graphs import GraphEngine, pick_dtype
from transformer.model import Transformer
from transformer.slots import FEWEST_TARGET, Shape, Slot

CPU = torch.device("cpu")
Make = Callable[..., Transformer]
VARIANTS = [
    {"norm": norm, "positions": positions, "activation": activation}
    for norm, positions, activation in itertools.product(
        ("pre", "post"), ("sinusoidal", "learned"), ("relu", "gelu")
    )
]


def sources(n_rows: int, longest: int = 11, seed: int = 3) -> Tensor:
    """Rows of many lengths, padded; the first is the longest."""
    generator = torch.Generator().manual_seed(seed)
    src = torch.randint(4, 13, (n_rows, longest), generator=generator)
    for row in range(1, n_rows):
        end = int(torch.randint(1, longest, (1,), generator=generator))
        src[row, end], src[row, end + 1 :] = EOS_ID, PAD_ID
    src[0, -1] = EOS_ID
    return src


def greedy(model: Transformer | GraphEngine, src: Tensor, **options: object) -> list[object]:
    """The ids that greedy search finds without a score."""
    found = greedy_search(model, src, scored=False, **options)  # type: ignore[arg-type]
    return [hypothesis.ids for hypothesis in found]


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_those_of_the_model_however_the_target_is_cut(
    make_model: Make, variant: dict[str, str]
) -> None:
    model, src = make_model(**variant), sources(5)
    tgt = torch.randint(4, 13, (5, 7))
    with torch.inference_mode():
        wanted = model(src, tgt)  # (B, T, V)
    engine = GraphEngine(model)
    for cuts in ([7], [1] * 7, [3, 1, 3]):
        state, end = engine.encode(src), 0
        for part in tgt.split(cuts, dim=1):
            logits, state = engine.decode(part, state)
            end += part.size(1)
            torch.testing.assert_close(logits[:, 0], wanted[:, end - 1], rtol=1e-4, atol=1e-4)
    assert state.length == 7


@pytest.mark.parametrize("n_rows", [1, 2, 5, 9, 23, 70])
def test_greedy_search_finds_what_it_finds_with_the_model(make_wanderer: Make, n_rows: int) -> None:
    model, src = make_wanderer(max_len=200), sources(n_rows, 33)
    engine = GraphEngine(model)
    wanted = greedy(model, src, max_ratio=3.0)
    assert n_rows < 9 or len({len(str(ids)) for ids in wanted}) > 2  # rows end at other times
    for _ in range(2):  # the second time in used buffers
        assert greedy(engine, src, max_ratio=3.0) == wanted


def test_greedy_search_drops_to_fewer_rows_and_grows_its_buffer(
    make_wanderer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[Shape] = []
    step = GraphEngine._step

    def watched(self: GraphEngine, slot: Slot) -> None:
        shapes.append(slot.shape)
        step(self, slot)

    monkeypatch.setattr(GraphEngine, "_step", watched)
    model, src = make_wanderer(max_len=200), sources(70, 33)
    assert greedy(GraphEngine(model), src, max_ratio=3.0) == greedy(model, src, max_ratio=3.0)
    assert shapes[0] == Shape(96, 1, 48, 64)
    assert shapes[-1].n_sentences < 48
    assert shapes[-1].target > 64
    assert len(set(shapes)) <= 8


@pytest.mark.parametrize("variant", VARIANTS[::3])
def test_greedy_search_agrees_for_each_kind_of_model(
    make_model: Make, variant: dict[str, str]
) -> None:
    model, src = make_model(max_len=64, **variant), sources(7)
    engine = GraphEngine(model)
    assert greedy(engine, src) == greedy(model, src)
    for ours, wanted in zip(greedy_search(engine, src), greedy_search(model, src), strict=True):
        assert ours.ids == wanted.ids
        assert ours.score == pytest.approx(wanted.score, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("prefix", [(), (7,), (5, 6, 7, 8)])
def test_a_forced_prefix_leads_to_the_same(make_wanderer: Make, prefix: tuple[int, ...]) -> None:
    model, src = make_wanderer(), sources(6)
    assert greedy(GraphEngine(model), src, prefix=prefix) == greedy(model, src, prefix=prefix)


def test_the_longest_prefix_leaves_room_for_one_token(make_wanderer: Make) -> None:
    for max_len in (23, FEWEST_TARGET + 2):  # at the end of the positions, and of the buffer
        model, prefix = make_wanderer(max_len=max_len), [6] * (max_len - 2)
        src = sources(3)
        assert greedy(GraphEngine(model), src, prefix=prefix) == greedy(model, src, prefix=prefix)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_beam_search_finds_what_it_finds_with_the_model(make_wanderer: Make, size: int) -> None:
    model, src = make_wanderer(max_len=90), sources(9, 20)
    engine = GraphEngine(model)
    config = DecodeConfig(beam_size=size, n_best=size, max_ratio=3.0)
    for prefix in ((), (5, 6)):
        found, wanted = (beam_search(one, src, config, prefix=prefix) for one in (engine, model))
        for ours, theirs in zip(found, wanted, strict=True):
            assert [one.ids for one in ours] == [one.ids for one in theirs]
            scores = [one.score for one in theirs]
            assert [one.score for one in ours] == pytest.approx(scores, rel=1e-4)


def test_a_step_looks_at_no_value_and_so_can_be_captured(make_model: Make) -> None:
    """Tensors on `meta` have no values: what asks for one fails."""
    engine = GraphEngine(make_model().to("meta"))
    state = engine.encode(torch.empty(5, 7, dtype=torch.long, device="meta"))
    logits, state = engine.decode(torch.empty(5, 3, dtype=torch.long, device="meta"), state)
    assert logits.shape == (5, 1, 13)
    with pytest.raises(RuntimeError, match="meta"):
        logits.sum().item()


def test_a_step_changes_no_address(make_model: Make) -> None:
    engine = GraphEngine(make_model())
    state = engine.encode(sources(5))
    before = {
        name: one.data_ptr() for name, one in vars(state.slot).items() if torch.is_tensor(one)
    }
    for _ in range(3):
        _, state = engine.best(torch.full((5,), BOS_ID), state)
    assert before == {name: getattr(state.slot, name).data_ptr() for name in before}


def test_padding_and_start_never_follow(make_model: Make) -> None:
    model, src, start = make_model(norm="pre"), sources(9), torch.full((9, 1), BOS_ID)
    with torch.no_grad():  # the model would choose padding
        bias = model.get_parameter("decoder_norm.bias")
        bias.copy_(99 * model.embedding.weight[PAD_ID])
        wanted = model(src, start)[:, 0]
    engine = GraphEngine(model)
    best, _ = engine.best(start[:, 0], engine.encode(src))
    assert (wanted.argmax(1) == PAD_ID).all()
    assert torch.equal(best, wanted[:, BOS_ID + 1 :].argmax(1) + BOS_ID + 1)


def test_later_changes_of_the_model_do_not_reach_the_engine(make_wanderer: Make) -> None:
    model, src = make_wanderer(), sources(4)
    engine = GraphEngine(model)
    wanted = greedy(engine, src)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert greedy(engine, src) == wanted


def test_in_bfloat16_the_logits_are_near(make_model: Make) -> None:
    model, src, tgt = make_model(norm="pre"), sources(5), torch.randint(4, 13, (5, 6))
    engine = GraphEngine(model, "bfloat16")
    logits, _ = engine.decode(tgt, engine.encode(src))
    with torch.inference_mode():
        wanted = model(src, tgt)[:, -1:]
    assert engine.dtype == torch.bfloat16
    assert logits.dtype == torch.float32
    assert (logits - wanted).norm() < 0.05 * wanted.norm()


def test_what_is_too_long_is_refused(make_model: Make) -> None:
    engine = GraphEngine(make_model())
    with pytest.raises(ValueError, match="at most max_len = 23 tokens, got 24"):
        engine.encode(sources(2, 24))
    state = engine.encode(sources(2, 23))
    _, state = engine.decode(torch.full((2, 23), 5), state)
    with pytest.raises(ValueError, match="at most max_len = 23 target tokens"):
        engine.decode(torch.full((2, 1), 5), state)


def test_types_are_those_that_the_device_has(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = torch.device("cuda")
    assert pick_dtype("auto", CPU) == torch.float32
    for able, wanted in ((True, torch.bfloat16), (False, torch.float16)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda able=able, **_: able)
        assert pick_dtype("auto", gpu) == pick_dtype("bfloat16", gpu) == wanted
        assert pick_dtype("float32", gpu) == torch.float32
    with pytest.raises(UserError, match="float32 or bfloat16 on cuda, got int8"):
        pick_dtype("int8", gpu)


class Recorder:
    """Stands in for a CUDA graph, and for all else of `torch.cuda` that a capture names."""

    open: "Recorder | None" = None

    def __init__(self, *_: object, **__: object) -> None:
        self.slots: list[Slot] = []

    def replay(self) -> None:
        """Launches the recorded step."""

    def wait_stream(self, other: object) -> None:
        """Nothing runs at the same time here."""


def test_a_step_runs_as_it_is_at_first_and_then_as_a_graph(
    make_wanderer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, src = make_wanderer(max_len=200), sources(20, 33)
    engine = GraphEngine(model)
    counts = {"plain": 0, "captured": 0, "replayed": 0}

    class Graph(Recorder):
        def replay(self) -> None:
            counts["replayed"] += 1
            engine._step(self.slots[0])

    @contextlib.contextmanager
    def capture(graph: Recorder, **_: object) -> Iterator[None]:
        Recorder.open = graph
        yield
        Recorder.open = None
        counts["captured"] += 1

    def step(slot: Slot) -> None:
        if Recorder.open is not None:  # a capture runs nothing
            Recorder.open.slots.append(slot)
            return
        counts["plain"] += 1
        engine._step(slot)

    for name, stand_in in {
        "Stream": Recorder, "current_stream": Recorder, "CUDAGraph": Graph, "graph": capture,
        "stream": contextlib.nullcontext, "device": contextlib.nullcontext,
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, stand_in)
    engine._run = graphs._Capture(step, CPU)
    wanted = greedy(model, src, max_ratio=3.0)
    assert greedy(engine, src, max_ratio=3.0) == wanted
    assert counts["replayed"] > counts["plain"] == graphs.WARM_UPS * counts["captured"]
    before = {**counts}
    assert greedy(engine, src, max_ratio=3.0) == wanted
    gained = {name: counts[name] - before[name] for name in counts}
    assert gained == {"plain": 0, "captured": 0, "replayed": before["plain"] + before["replayed"]}


@pytest.fixture
def gpu() -> torch.device:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return torch.device("cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("beam_size", [1, 4])
def test_on_a_gpu_the_tokens_are_those_of_the_model(
    make_wanderer: Make, gpu: torch.device, beam_size: int
) -> None:
    model, src = make_wanderer(max_len=200).to(gpu), sources(70, 33).to(gpu)
    engine = GraphEngine(model, "float32")
    for scores in (False, True):
        config = DecodeConfig(beam_size=beam_size, max_ratio=3.0, scores=scores)
        wanted = search(model, src, config)
        for _ in range(3):  # warm, captured, replayed
            found = search(engine, src, config)
            assert [row[0].ids for row in found] == [row[0].ids for row in wanted]


@pytest.mark.gpu
def test_on_a_gpu_a_graph_gives_what_its_steps_give(
    make_model: Make, gpu: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, src = make_model(d_model=48, max_len=64).to(gpu), sources(9).to(gpu)
    tgt = torch.randint(4, 13, (9, 20), device=gpu)
    for kind in ("auto", "float32"):
        replayed = GraphEngine(model, kind)
        logits, state = replayed.decode(tgt, replayed.encode(src))
        assert state.slot.launch is not None
        monkeypatch.setattr(graphs, "WARM_UPS", 10**9)
        stepped = GraphEngine(model, kind)
        wanted, state = stepped.decode(tgt, stepped.encode(src))
        assert state.slot.launch is None
        monkeypatch.undo()
        torch.testing.assert_close(logits, wanted)
