"""Packed linear maps: against plain ones; and which type is chosen on which processor."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ComputeType, ModelConfig, UserError
from transformer.decoding import native
from transformer.decoding.linear import (
    MANY,
    WIDE,
    Activation,
    concatenate,
    fits_native,
    pack,
    pick_compute_type,
    weight_and_bias,
)

FITS = ModelConfig(vocab_size=9, d_model=64, n_heads=4, d_ff=128)
NARROW = ModelConfig(vocab_size=9, d_model=60, n_heads=4, d_ff=128)
BROAD = ModelConfig(vocab_size=9, d_model=WIDE + 4, n_heads=4, d_ff=128)  # no multiple of 64
FUNCTIONS = {"none": lambda x: x, "relu": F.relu, "gelu": F.gelu}
LOSS: dict[ComputeType, float] = {"float32": 1e-5, "bfloat16": 0.01, "int8": 0.02}


def random_map(n_in: int, n_out: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(n_in)
    return torch.randn(n_out, n_in, generator=random), torch.randn(n_out, generator=random)


@pytest.mark.parametrize("n_rows", [1, 2, MANY - 1, MANY, 41])
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
@pytest.mark.parametrize("kind", LOSS)
def test_a_packed_map_gives_what_the_plain_one_gives(
    kind: ComputeType, activation: Activation, n_rows: int
) -> None:
    weight, bias = random_map(96, 71)
    x = torch.randn(n_rows, 96, generator=torch.Generator().manual_seed(3))
    right = FUNCTIONS[activation](F.linear(x, weight, bias))
    found = pack(weight, bias, kind, activation)(x)
    assert found.dtype == torch.float32
    assert float((found - right).norm() / right.norm()) < LOSS[kind]


def test_in_int8_each_output_channel_and_each_row_has_a_scale_of_its_own() -> None:
    weight, bias = random_map(96, 71)
    weight *= torch.logspace(-4, 4, 71)[:, None]
    x = torch.randn(20, 96, generator=torch.Generator().manual_seed(3))
    x *= torch.logspace(-3, 3, 20)[:, None]
    found, right = pack(weight, 0 * bias, "int8")(x), F.linear(x, weight)
    sizes = torch.outer(x.norm(dim=1), weight.norm(dim=1))
    assert ((found - right) / sizes).abs().max() < 0.01


@pytest.mark.parametrize("n_rows", [1, 3, MANY])
def test_in_int8_a_row_of_zeros_gives_the_bias(n_rows: int) -> None:
    weight, bias = random_map(64, 50)
    found = pack(weight, bias, "int8")(torch.zeros(n_rows, 64))
    torch.testing.assert_close(found, bias.expand(n_rows, -1))


def test_packing_for_int8_leaves_the_chosen_engine_of_pytorch_as_it_was() -> None:
    before = torch.backends.quantized.engine
    pack(*random_map(64, 50), "int8")
    assert torch.backends.quantized.engine == before


@pytest.mark.parametrize("kind", LOSS)
@pytest.mark.parametrize("onednn", [True, False])
def test_later_changes_of_the_weight_do_not_reach_the_packed_map(
    kind: ComputeType, onednn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not onednn:
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    linear, x = nn.Linear(96, 71), torch.randn(4, 96)
    run = pack(*weight_and_bias(linear), kind)
    before, right = run(x), linear(x).detach()
    assert float((before - right).norm() / right.norm()) < LOSS[kind]
    with torch.no_grad():
        linear.weight.fill_(1.0)
        linear.bias.fill_(1.0)
    assert torch.equal(run(x), before)
    assert not before.requires_grad


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_without_onednn_float32_is_the_plain_product(
    monkeypatch: pytest.MonkeyPatch, activation: Activation
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    weight, bias = random_map(96, 71)
    x = torch.randn(4, 96)
    right = FUNCTIONS[activation](F.linear(x, weight, bias))
    torch.testing.assert_close(pack(weight, bias, "float32", activation)(x), right)


def test_merged_maps_give_their_outputs_side_by_side() -> None:
    maps, x = [nn.Linear(8, 3), nn.Linear(8, 5)], torch.randn(4, 8)
    found = F.linear(x, *concatenate(*map(weight_and_bias, maps)))
    torch.testing.assert_close(found, torch.cat([linear(x) for linear in maps], dim=1))


def test_a_factor_scales_the_output() -> None:
    linear, x = nn.Linear(8, 3), torch.randn(4, 8)
    torch.testing.assert_close(F.linear(x, *weight_and_bias(linear, 0.25)), 0.25 * linear(x))


@pytest.mark.parametrize(
    ("changes", "fits"),
    [({}, True), ({"d_model": 96}, False), ({"d_ff": 100}, False), ({"n_heads": 8}, False)],
)
def test_the_native_kernels_fit_widths_that_their_vectors_divide(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, int], fits: bool
) -> None:
    sizes = {"vocab_size": 9, "d_model": 64, "n_heads": 4, "d_ff": 128, **changes}
    monkeypatch.setattr(native, "library", object)
    assert fits_native(ModelConfig(**sizes)) == fits  # type: ignore[arg-type]  # all are numbers
    monkeypatch.setattr(native, "library", lambda: None)
    assert not fits_native(ModelConfig(**sizes))  # type: ignore[arg-type]


class Engines:
    """Stands for what PyTorch says of its quantised kernels."""

    def __init__(self, names: Sequence[str]) -> None:
        self.supported_engines = list(names)


def machine(
    monkeypatch: pytest.MonkeyPatch, kernels: bool, vnni: bool, engines: Sequence[str]
) -> None:
    monkeypatch.setattr(native, "library", object if kernels else lambda: None)
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: vnni)
    monkeypatch.setattr(torch.backends, "quantized", Engines(engines))


X86 = ("none", "onednn", "x86", "fbgemm")


@pytest.mark.parametrize(
    ("config", "kernels", "vnni", "engines", "chosen"),
    [
        pytest.param(FITS, True, False, X86, "int8", id="own kernels"),
        pytest.param(FITS, True, False, (), "int8", id="own kernels, none of PyTorch"),
        pytest.param(FITS, False, True, X86, "int8", id="VNNI"),
        pytest.param(NARROW, True, False, X86, "float32", id="narrow, slow bytes"),
        pytest.param(BROAD, True, False, X86, "int8", id="wide, slow bytes"),
        pytest.param(BROAD, False, True, ("qnnpack",), "float32", id="another processor"),
    ],
)
def test_auto_is_int8_where_that_is_faster(
    monkeypatch: pytest.MonkeyPatch,
    config: ModelConfig,
    kernels: bool,
    vnni: bool,
    engines: Sequence[str],
    chosen: str,
) -> None:
    machine(monkeypatch, kernels, vnni, engines)
    assert pick_compute_type("auto", config) == chosen


@pytest.mark.parametrize("name", LOSS)
@pytest.mark.parametrize("vnni", [True, False])
def test_a_type_that_is_asked_for_is_taken(
    monkeypatch: pytest.MonkeyPatch, name: ComputeType, vnni: bool
) -> None:
    machine(monkeypatch, False, vnni, X86)
    assert pick_compute_type(name, FITS) == name


def test_int8_without_kernels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, False, False, ("none", "qnnpack"))
    with pytest.raises(UserError, match=r"int8 kernels, got one with .*qnnpack.*; use float32"):
        pick_compute_type("int8", FITS)
    assert pick_compute_type("float32", FITS) == "float32"
