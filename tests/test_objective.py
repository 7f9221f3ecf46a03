"""Model and loss as one module: under autocast the same values, with fewer casts."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from transformer.config import ModelConfig, TrainConfig
from transformer.model import Transformer
from transformer.objective import LossModel

SRC, TGT = torch.randint(4, 50, (3, 9)), torch.randint(4, 50, (3, 7))


def build(norm: Any) -> Transformer:
    torch.manual_seed(2)
    return Transformer(
        ModelConfig(
            vocab_size=50, d_model=32, n_heads=2, n_encoder_layers=2, n_decoder_layers=2,
            d_ff=64, dropout=0.0, norm=norm,
        )
    )  # fmt: skip


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_in_bfloat16_the_states_are_those_of_the_plain_model_under_autocast(norm: str) -> None:
    plain, wrapped = build(norm), build(norm)
    loss_model = LossModel(wrapped, TrainConfig())
    with torch.autocast("cpu", torch.bfloat16):
        expected, _ = plain.read(TGT, plain.encode(SRC))
        found = loss_model.read(SRC, TGT)
        loss_model(SRC, TGT, TGT).backward()
    assert torch.equal(found, expected)
    assert all(p.grad is not None and p.grad.dtype is torch.float32 for p in wrapped.parameters())


@pytest.mark.parametrize(("norm", "narrow"), [("pre", 11), ("post", 0)])
def test_norms_that_products_read_are_cast_once(norm: str, narrow: int) -> None:
    model = build(norm)
    loss_model = LossModel(model, TrainConfig())
    types = [
        (module, output.dtype)
        for module in model.modules()
        if isinstance(module, nn.LayerNorm)
        for output in [module(torch.randn(2, 32))]
    ]
    assert {dtype for _, dtype in types} == {torch.float32}  # no autocast, no cast
    seen: list[torch.dtype] = []
    for module, _ in types:
        module.register_forward_hook(lambda _m, _i, output: seen.append(output.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        loss_model(SRC, TGT, TGT)
    assert seen.count(torch.bfloat16) == narrow
    assert len(seen) == len(types)


def test_a_loss_in_bfloat16_is_near_that_in_float32() -> None:
    loss_model = LossModel(build("pre"), TrainConfig())
    exact = loss_model(SRC, TGT, TGT)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = loss_model(SRC, TGT, TGT)
    assert_close(rounded, exact, rtol=5e-3, atol=0)
