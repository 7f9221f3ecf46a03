"""The reader of safetensors: what the library writes is read, whatever is wrong is one line."""

import dataclasses
import functools
import json
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save_file

from transformer.checkpoint.tensors import (
    SCALE_SUFFIX,
    StoredTensor,
    quantize_rows,
    read_tensors,
    weight_shapes,
)
from transformer.config import ModelConfig, UserError
from transformer.model import Transformer

SMALL = ModelConfig(
    vocab_size=13, d_model=4, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=6, max_len=8
)


def weights_of(config: ModelConfig = SMALL) -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    return {name: torch.randn(shape) for name, shape in weight_shapes(config)}


def read_weights(path: Path, config: ModelConfig = SMALL) -> dict[str, StoredTensor]:
    return read_tensors(path, [*weight_shapes(config)])


def raw_file(path: Path, header: Any, body: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def refusal(work: Callable[[], object]) -> str:
    """The one line of the refusal, which takes no memory."""
    tracemalloc.start()
    with pytest.raises(UserError) as refused:
        work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20
    line = str(refused.value)
    assert "\n" not in line
    assert len(line) < 600
    return line


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_shapes_are_those_of_the_model(norm: Any, positions: Any) -> None:
    config = dataclasses.replace(SMALL, norm=norm, positions=positions, n_decoder_layers=3)
    state = Transformer(config).state_dict()
    assert dict(weight_shapes(config)) == {name: tuple(t.shape) for name, t in state.items()}


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
     torch.int16, torch.int8, torch.uint8, torch.bool],
)  # fmt: skip
def test_what_the_library_writes_is_read(dtype: torch.dtype, tmp_path: Path) -> None:
    shapes = ((3, 5), (), (7,), (0, 2), (2, 1, 3))
    tensors = {f"t{i}": (7 * torch.randn(shape)).to(dtype) for i, shape in enumerate(shapes)}
    save_file(tensors, tmp_path / "a", {"made": "here"})
    found = read_tensors(tmp_path / "a")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].values.shape == tensor.shape
        assert np.array_equal(found[name].float32(), tensor.float().numpy())


def test_numbers_that_lie_askew_are_read(tmp_path: Path) -> None:
    header = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    for blank in range(4):
        text = json.dumps(header).encode() + b" " * blank
        path = raw_file(tmp_path / "a", text, struct.pack("<2f", 1.5, -2))
        assert read_tensors(path)["a"].values.tolist() == [1.5, -2]
        assert read_tensors(path)["a"].values.flags.aligned


def tensor(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


@pytest.mark.parametrize(
    ("header", "size"),
    [
        *((text, 0) for text in (b"[1]", b"nonsense", b"{", b'{"a": 5}', b'{"a": []}', b"\xff{}",
                                 b"[" * 200_000, b'{"a": {"dtype": []}}')),
        *(({"a": tensor(**change)}, 8) for change in (
            {"dtype": "F8"}, {"dtype": ["F32"]}, {"shape": 2}, {"shape": [3]}, {"shape": [-2]},
            {"shape": [2.0]}, {"shape": [True, 2]}, {"shape": [10**9, 10**9]}, {"shape": None},
            {"data_offsets": [0]}, {"data_offsets": [8, 0]}, {"data_offsets": [0, 16]},
            {"data_offsets": [-8, 0]}, {"data_offsets": [10**30, 10**30 + 8]})),
        ({"a": tensor()}, 7),
        ({"a": tensor()}, 9),
        ({"a": tensor(), "b": tensor()}, 8),
        ({"a": tensor(), "b": tensor(data_offsets=[4, 12])}, 12),
        ({"a": tensor(), "b": tensor(data_offsets=[12, 20])}, 20),
    ],
)  # fmt: skip
def test_a_header_that_does_not_fit_its_file_is_one_line(
    header: Any, size: int, tmp_path: Path
) -> None:
    path = raw_file(tmp_path / "a", header, b"\0" * size)
    assert f"expected weights in {path}" in refusal(lambda: read_tensors(path))


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 8, b"\xff" * 100, struct.pack("<Q", 10**15), struct.pack("<Q", 5)]
)
def test_a_file_without_a_header_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    assert "Is the file complete?" in refusal(lambda: read_tensors(tmp_path / "a"))


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        line = refusal(functools.partial(read_tensors, path))
        assert "got a folder, a pipe or a device" in line
    assert "No such file" in refusal(lambda: read_tensors(tmp_path / "none"))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_byte_may_be_another(data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "a"
    save_file({"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)}, path)
    whole = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        whole[place] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    try:
        found = read_tensors(path)
    except UserError:
        return
    expected = load(bytes(whole))  # the library reads the same, or it is a type we do not know
    assert {n: s.values.tobytes() for n, s in found.items()} == {
        n: t.contiguous().view(torch.uint8).numpy().tobytes() for n, t in expected.items()
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_ff": 7}, r"feed_forward.expand.weight of the shape [7, 4], got [6, 4]"),
        ({"d_model": 6}, "embedding.weight of the shape [13, 6], got [13, 4]"),
        ({"n_decoder_layers": 2}, "decoder.1.self_attention.query.weight, which is not there"),
        ({"norm": "pre"}, "encoder_norm.weight, which is not there"),
        ({"d_model": 2**16}, "embedding.weight of the shape [13, 65536]"),
        ({"n_encoder_layers": 1000}, "encoder.1.self_attention.query.weight, which is not there"),
    ],
)
def test_weights_of_another_model_are_one_line(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    save_file(weights_of(), tmp_path / "a")
    other = dataclasses.replace(SMALL, **changes)
    assert message in refusal(lambda: read_weights(tmp_path / "a", other))


def test_a_tensor_too_many_or_of_another_name_or_type_is_one_line(tmp_path: Path) -> None:
    weights, name = weights_of(), "encoder.0.self_attention.out.bias"
    more = {"zebra": torch.ones(1), "yak": torch.ones(1)}
    renamed = {("renamed" if n == name else n): t for n, t in weights.items()}
    scaled = {"embedding.weight": torch.ones(13, 4).char(), "embedding.weight.scale": torch.ones(4)}
    for tensors, message in (
        (weights | more, f"{len(weights)} tensors and no more, got yak too"),
        (renamed, f"{name}, which is not there"),
        (weights | {name: torch.ones(4).long()}, f"numbers in {name}, got I64"),
        (weights | {name: torch.ones(4).char()}, f"a scale for each row of {name}"),
        (weights | scaled, "a scale for each row of embedding.weight"),
    ):
        save_file(tensors, tmp_path / "a")
        assert message in refusal(lambda: read_weights(tmp_path / "a"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_weights_that_are_not_finite_are_one_line(
    dtype: torch.dtype, value: float, tmp_path: Path
) -> None:
    weights, name = weights_of(), "decoder.0.feed_forward.contract.weight"
    weights[name] = torch.full((4, 6), torch.finfo(dtype).max, dtype=dtype)
    save_file(weights, tmp_path / "a")
    assert read_weights(tmp_path / "a").keys() == weights.keys()
    weights[name][-1, 3] = value
    save_file(weights, tmp_path / "a")
    line = refusal(lambda: read_weights(tmp_path / "a"))
    assert f"got NaN or infinity in {name}" in line


def test_rows_of_int8_come_back_as_they_were_meant(tmp_path: Path) -> None:
    weights, name = weights_of(), "embedding.weight"
    weights[name][5] = 0.0
    rows, scale = quantize_rows(weights[name].numpy())
    assert (np.abs(rows).max(1) == [127] * 5 + [0] + [127] * 7).all()
    stored = {name: torch.from_numpy(rows), name + SCALE_SUFFIX: torch.from_numpy(scale)}
    save_file(weights | stored, tmp_path / "a")
    found = read_weights(tmp_path / "a")
    assert found.keys() == weights.keys()
    assert found[name].values.dtype == np.int8
    error = np.abs(found[name].float32() - weights[name].numpy())
    assert (error <= scale[:, None] * 0.5001).all()
    again, same = quantize_rows(found[name].float32())  # nothing is lost a second time
    assert np.array_equal(again, rows)
    np.testing.assert_allclose(same, scale, rtol=1e-6)
    stored[name + SCALE_SUFFIX][2] = float("nan")
    save_file(weights | stored, tmp_path / "a")
    assert f"infinity in {name}" in refusal(lambda: read_weights(tmp_path / "a"))
