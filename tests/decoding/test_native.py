"""The engine's own kernels: against integer arithmetic in PyTorch; how they are compiled."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.config import BOS_ID
from transformer.decoding import native
from transformer.decoding.cpu_engine import Engine
from transformer.decoding.native import PANEL, NativeLinear
from transformer.model import Transformer, source_batch

Make = Callable[..., Transformer]
HERE = native.library() is not None  # as on any processor with AVX2 and a C++ compiler
# What the kernels are compiled for, and whether this processor can run that.
ARCHITECTURES = {
    "native": HERE,
    "skylake-avx512": HERE and torch.cpu._is_avx512_supported(),
    "haswell": HERE,
}
every_kernel = pytest.mark.usefixtures("kernels")
FUNCTIONS = {"none": lambda x: x, "relu": F.relu, "gelu": F.gelu}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def kernels(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[None]:
    """The kernels as other processors compile them."""
    if not ARCHITECTURES[request.param]:
        pytest.skip(f"no compiler here, or this processor is no {request.param}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "ARCHITECTURE", request.param)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("kernels")))
        native.library.cache_clear()
        try:
            assert native.library() is not None, f"the kernels do not compile for {request.param}"
            yield
        finally:
            native.library.cache_clear()


def largest() -> int:
    """The largest number that an input is quantised to."""
    opened = native.library()
    assert opened is not None
    return ctypes.c_int32.in_dll(opened, "LARGEST").value


def random_map(n_in: int, n_out: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(n_in + n_out)
    return torch.randn(n_out, n_in, generator=random), torch.randn(n_out, generator=random)


def rounded_map(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What the kernel should give: both sides rounded to integers, their product exact."""
    scale = weight.abs().amax(1).clamp(min=1e-12).double() / 127
    step = x.abs().amax(1, keepdim=True).clamp(min=1e-20).double() / largest()
    product = (x / step).round() @ (weight / scale[:, None]).round().T
    return (product * step * scale + bias).float()


def on_a_grid(n_rows: int, n_in: int) -> Tensor:
    """Rows that lose nothing when they are rounded: whole numbers times a power of two."""
    random = torch.Generator().manual_seed(n_rows)
    limit = largest()
    whole = torch.randint(-limit, limit + 1, (n_rows, n_in), generator=random)
    whole[:, 3] = limit
    return whole * 2.0 ** torch.randint(-8, 9, (n_rows, 1), generator=random)


@every_kernel
@pytest.mark.parametrize("n_rows", [*range(1, 18), 31, 32, 33, 49, 247])  # tiles of 6, 16 and 32
@pytest.mark.parametrize("n_out", [1, 63, 64, 65, 200])
def test_the_product_is_that_of_the_integers(n_rows: int, n_out: int) -> None:
    weight, bias = random_map(128, n_out)
    x = on_a_grid(n_rows, 128)
    found = NativeLinear(weight, bias)(x)
    assert found.shape == (n_rows, n_out)
    torch.testing.assert_close(found, rounded_map(x, weight, bias), rtol=1e-5, atol=1e-4)


@every_kernel
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_the_activation_follows_the_product(activation: str) -> None:
    weight, bias = random_map(64, 70)
    x = on_a_grid(9, 64) / 2**10
    right = FUNCTIONS[activation](rounded_map(x, weight, bias))
    found = NativeLinear(weight, bias, activation)(x)
    torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-4)


@every_kernel
@pytest.mark.parametrize("size", [1e-30, 1e-15, 1.0, 1e15, 1e30])
def test_rows_of_any_size_keep_their_precision(size: float) -> None:
    """Below 1e-20 a row counts as zeros; a step of rounding may differ in a few places."""
    weight, bias = random_map(256, 100)
    x = torch.randn(7, 256, generator=torch.Generator().manual_seed(4)) * size
    found, right = NativeLinear(weight, 0 * bias)(x).double(), F.linear(x, weight).double()
    assert found.isfinite().all()
    if size >= 1e-15:
        assert (found - right).norm() < 0.02 * right.norm()
        step = rounded_map(x, weight, 0 * bias)
        assert (found - step).norm() < 0.002 * right.norm()
    else:
        assert not found.any()


@every_kernel
def test_the_largest_numbers_do_not_overflow() -> None:
    """All inputs and weights at their extremes: sums of pairs come near to 16 bits."""
    for sign in (1.0, -1.0):
        x, weight = torch.full((7, 2048), sign), torch.ones(64, 2048)
        found = NativeLinear(weight, torch.zeros(64))(x)
        torch.testing.assert_close(found, torch.full((7, 64), sign * 2048), rtol=1e-5, atol=0)


@every_kernel
def test_rows_of_zeros_give_the_bias_and_disturb_no_other() -> None:
    weight, bias = random_map(64, 50)
    x = on_a_grid(8, 64)
    run = NativeLinear(weight, bias)
    mixed = x.clone()
    mixed[[0, 5]] = 0.0
    found = run(mixed)
    assert torch.equal(found[[0, 5]], bias.expand(2, -1))
    others = [1, 2, 3, 4, 6, 7]
    assert torch.equal(found[others], run(x)[others])


@every_kernel
def test_channels_without_weights_give_their_bias() -> None:
    weight, bias = random_map(64, 50)
    weight[7] = 0.0
    assert torch.equal(NativeLinear(weight, bias)(on_a_grid(3, 64))[:, 7], bias[7].expand(3))


@every_kernel
@pytest.mark.parametrize("place", range(13))
def test_a_row_has_the_result_that_it_has_alone(place: int) -> None:
    weight, bias = random_map(192, 130)
    x = torch.randn(13, 192, generator=torch.Generator().manual_seed(1))
    run = NativeLinear(weight, bias)
    assert torch.equal(run(x)[place], run(x[place : place + 1])[0])


@every_kernel
def test_rows_that_do_not_lie_side_by_side_are_read_right() -> None:
    run = NativeLinear(*random_map(64, 50))
    x = on_a_grid(7, 64).T.contiguous().T
    assert not x.is_contiguous()
    assert torch.equal(run(x), run(x.contiguous()))


def wide_model(make_model: Make, **changes: Any) -> Transformer:
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "vocab_size": 3 * PANEL + 5, "max_len": 40}
    model = make_model(**{**sizes, **changes})
    with torch.no_grad():  # signals of the usual size
        for layer in [*model.encoder, *model.decoder]:
            for parameter in layer.parameters():
                parameter.mul_(0.3 if parameter.dim() > 1 else 1.0)
    return model


@every_kernel
@pytest.mark.parametrize("norm", ["post", "pre"])
@torch.inference_mode()
def test_a_row_of_the_decoder_has_the_result_that_it_has_alone(make_model: Make, norm: str) -> None:
    """Exactly: over 20 steps, of sentences of several lengths, in a batch and one by one."""
    engine = Engine(wide_model(make_model, norm=norm), "int8")
    sources = [[4, 5, 6], list(range(4, 24)), [9], [11, 4, 12, 12]]
    tgt = torch.randint(4, 190, (4, 20), generator=torch.Generator().manual_seed(2))
    tgt[:, 0] = BOS_ID
    start = engine.encode(source_batch(sources))
    alone = [engine.encode(source_batch(sources)).select(torch.tensor([i])) for i in range(4)]
    together = start
    for ids in tgt.split(1, dim=1):
        logits, together = engine.decode(ids, together)
        for i, state in enumerate(alone):
            own, alone[i] = engine.decode(ids[i : i + 1], state)
            assert torch.equal(own[0], logits[i])


@every_kernel
@pytest.mark.parametrize("n_heads", [1, 4])  # heads of 64 channels and of 16
@pytest.mark.parametrize("norm", ["post", "pre"])
@torch.inference_mode()
def test_the_engine_gives_nearly_the_logits_of_the_model(
    make_model: Make, norm: str, n_heads: int
) -> None:
    model = wide_model(make_model, norm=norm, n_heads=n_heads)
    engine = Engine(model, "int8")
    assert engine.is_native
    src = source_batch([[4, 5, 6], list(range(4, 39))])
    tgt = torch.randint(4, 190, (2, 35), generator=torch.Generator().manual_seed(2))
    right, _ = model.decode(tgt, model.encode(src))
    found, state = [], engine.encode(src)
    for ids in tgt.split(1, dim=1):
        logits, state = engine.decode(ids, state)
        found.append(logits)
    assert (torch.cat(found, dim=1) - right).norm() < 0.04 * right.norm()


@every_kernel
@torch.inference_mode()
def test_beams_of_a_sentence_read_the_source_of_their_own_sentence(make_model: Make) -> None:
    engine = Engine(wide_model(make_model), "int8")
    src = source_batch([[4, 5, 6], list(range(4, 24))])
    ids = torch.tensor([[7], [8], [9], [9], [8], [7]])
    found, _ = engine.decode(ids, engine.encode(src).repeat(3))
    rows = torch.tensor([0, 0, 0, 1, 1, 1])
    right, _ = engine.decode(ids, engine.encode(src).select(rows))
    assert torch.equal(found, right)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of the test's own, and `library` as at the start of a process."""
    if not torch.cpu._is_avx2_supported():
        pytest.skip("needs AVX2")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    native.library.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    native.library.cache_clear()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def script(folder: Path, text: str) -> str:
    """A program that stands for a compiler."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler_there_are_no_kernels(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert native.library() is None
    assert not files(empty_cache)


def test_without_avx2_there_are_no_kernels(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: False)
    assert native.library() is None
    assert not files(empty_cache)


HALF = 'while [ "$1" != -o ]; do shift; done; echo half > "$2"; exit 1'


@pytest.mark.parametrize("text", ["exit 1", HALF, "exit 0"])
def test_where_the_compiler_fails_there_are_no_kernels_and_nothing_is_left(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    compiler = script(tmp_path, text)
    monkeypatch.setattr(shutil, "which", lambda name: compiler)
    assert native.library() is None
    assert files(empty_cache) == [Path(compiler)]


def test_a_cache_that_cannot_be_written_means_no_kernels(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = empty_cache / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert native.library() is None


def test_without_a_home_there_are_no_kernels(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert native.library() is None


def test_a_broken_file_in_the_cache_means_no_kernels(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_nonsense(compiler: str, target: Path) -> None:
        target.parent.mkdir(parents=True)
        target.write_text("no library", encoding="utf-8")

    monkeypatch.setattr(native, "_compile", write_nonsense)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    assert native.library() is None


def test_the_kernels_are_compiled_once_and_found_again(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("needs a C++ compiler")
    first = native.library()
    assert first is not None
    assert native.library() is first
    (kept,) = files(empty_cache)
    assert kept.parent == empty_cache / "transformer-translation"
    assert os.access(kept, os.R_OK)
    native.library.cache_clear()  # as in a later process, on a machine without a compiler

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert native.library() is not None
    assert files(empty_cache) == [kept]


@every_kernel
def test_an_id_that_is_no_token_is_an_error_not_a_crash(make_model: Make) -> None:
    engine = Engine(wide_model(make_model), "int8")
    with pytest.raises(IndexError, match="expected ids below"):
        engine.encode(torch.tensor([[4, 10**6, 2]]))
