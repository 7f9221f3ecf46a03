"""Many sentences at once: in order, each as it is found alone, on as many cores as there are."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from transformer.config import ComputeType, DecodeConfig, UserError
from transformer.decoding import search as search_module
from transformer.decoding.hypothesis import Hypothesis
from transformer.decoding.search import BatchDecoder, search
from transformer.model import Transformer, source_batch

Make = Callable[..., Transformer]
SOURCES = [[4 + (7 * i + j) % 9 for j in range(1 + 5 * i % 11)] for i in range(23)]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def alone(
    model: Transformer, sources: Sequence[Sequence[int]], config: DecodeConfig
) -> list[list[Hypothesis]]:
    torch.set_num_threads(1)
    return [search(model, source_batch([ids]), config)[0] for ids in sources]


def assert_same(found: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> None:
    assert len(found) == len(right)
    for own, others in zip(found, right, strict=True):
        assert [h.ids for h in own] == [h.ids for h in others]
        assert [h.score for h in own] == pytest.approx([h.score for h in others], abs=1e-4)


@pytest.mark.parametrize(
    ("beam_size", "batch_tokens", "n_threads"),
    [(1, 1, 2), (1, 40, 3), (3, 60, 2), (3, 4096, 1)],  # the first: a batch for each source
)
def test_each_source_has_the_result_that_it_has_alone_in_its_place(
    make_wanderer: Make, beam_size: int, batch_tokens: int, n_threads: int
) -> None:
    torch.set_num_threads(n_threads)
    model = make_wanderer()
    config = DecodeConfig(beam_size=beam_size, n_best=beam_size, batch_tokens=batch_tokens)
    found = BatchDecoder(model).search(SOURCES, config)
    assert len({own[0].ids for own in found}) > 5
    assert_same(found, alone(model, SOURCES, config))


@pytest.mark.parametrize("source", [[7, 8, 9], []])
def test_one_source_gives_one_result(make_wanderer: Make, source: list[int]) -> None:
    model, config = make_wanderer(), DecodeConfig()
    assert_same(BatchDecoder(model).search([source], config), alone(model, [source], config))
    assert BatchDecoder(model).search([], config) == []


def watch(monkeypatch: pytest.MonkeyPatch, before: Callable[[Tensor], None]) -> None:
    """Runs a function with each batch, just before its search."""

    def watched(
        model: Transformer, src: Tensor, config: DecodeConfig, **options: Any
    ) -> list[list[Hypothesis]]:
        before(src)
        return search(model, src, config, **options)

    monkeypatch.setattr(search_module, "search", watched)


@pytest.mark.parametrize(("beam_size", "batch_tokens"), [(1, 60), (4, 240), (1, 30)])
def test_batches_hold_no_more_tokens_than_they_may(
    make_wanderer: Make, monkeypatch: pytest.MonkeyPatch, beam_size: int, batch_tokens: int
) -> None:
    sizes: list[tuple[int, int]] = []
    watch(monkeypatch, lambda src: sizes.append((src.size(0), src.size(1))))
    config = DecodeConfig(beam_size=beam_size, batch_tokens=batch_tokens)
    BatchDecoder(make_wanderer()).search(SOURCES, config)
    assert sum(n_rows for n_rows, _ in sizes) == len(SOURCES)
    assert len(sizes) > 2  # more than there are workers
    assert all(n_rows * length * beam_size <= batch_tokens for n_rows, length in sizes)


def test_two_batches_are_at_work_at_a_time_on_a_thread_each(
    make_wanderer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for another to be there too: with one worker only, the wait would fail."""
    meeting, threads = threading.Barrier(2, timeout=20), set[int]()

    def before(src: Tensor) -> None:
        meeting.wait()
        threads.add(threading.get_ident())
        assert torch.get_num_threads() == 1

    watch(monkeypatch, before)
    BatchDecoder(make_wanderer()).search(SOURCES[:8], DecodeConfig())
    assert len(threads) == 2


@pytest.mark.parametrize("n_sources", [1, 2, 8, 23])
def test_the_number_of_threads_is_as_before(make_wanderer: Make, n_sources: int) -> None:
    BatchDecoder(make_wanderer()).search(SOURCES[:n_sources], DecodeConfig(batch_tokens=40))
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [2]


def test_an_error_of_a_worker_comes_out_and_the_threads_are_as_before(
    make_wanderer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def before(src: Tensor) -> None:
        if src.size(1) < 9:
            raise RuntimeError("out of memory")

    watch(monkeypatch, before)
    with pytest.raises(RuntimeError, match="out of memory"):
        BatchDecoder(make_wanderer()).search(SOURCES, DecodeConfig(batch_tokens=40))
    assert torch.get_num_threads() == 2


def test_the_alignment_is_the_last_layers_attention_to_the_source(make_wanderer: Make) -> None:
    model = make_wanderer()
    decoder = BatchDecoder(model)
    for source, (best,) in zip(
        SOURCES, decoder.search(SOURCES, DecodeConfig(), aligned=True), strict=True
    ):
        assert best.alignment.shape == (len(best.ids) + 1, len(source) + 1)
        assert best.alignment.sum(1) == pytest.approx(1, abs=1e-5)
    assert decoder.search(SOURCES, DecodeConfig())[0][0].alignment is None


@pytest.mark.parametrize("name", ["float32", "bfloat16", "auto"])
def test_the_plain_model_runs_in_the_type_that_is_asked_for(
    make_wanderer: Make, name: ComputeType
) -> None:
    model = make_wanderer()
    decoder = BatchDecoder(model, name)
    assert decoder.compute_type == ("bfloat16" if name == "bfloat16" else "float32")
    assert all(own[0].ids for own in decoder.search(SOURCES, DecodeConfig()))
    assert model.embedding.weight.dtype == torch.float32


def test_the_plain_model_has_no_int8(make_wanderer: Make) -> None:
    with pytest.raises(UserError, match="expected float32 or bfloat16 for the plain model"):
        BatchDecoder(make_wanderer(), "int8")
