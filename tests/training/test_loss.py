"""The loss against torch's cross-entropy, in value and gradient."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from transformer.config import BOS_ID, PAD_ID, ModelConfig, TrainConfig
from transformer.model import Transformer
from transformer.training import loss
from transformer.training.loss import LossModel, linear_cross_entropy

B, T, D, V = 2, 7, 11, 13
SMOOTHING = pytest.mark.parametrize("smoothing", [0.0, 0.1])


def reference(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    flat = logits.flatten(0, 1), target.flatten()
    return F.cross_entropy(*flat, ignore_index=PAD_ID, label_smoothing=smoothing, reduction="sum")


def projected_example() -> tuple[Tensor, Tensor, Tensor]:
    """The last layer's output (B, T, D), the output table (V, D), targets (B, T) with padding."""
    torch.manual_seed(1)
    x, weight = torch.randn(B, T, D, requires_grad=True), torch.randn(V, D, requires_grad=True)
    return x, weight, torch.tensor([[5, 6, 12, 2, 0, 0, 0], [4, 7, 7, 1, 3, 11, 2]])


@SMOOTHING
@pytest.mark.parametrize("chunk", [1, 3 * V, 5 * V + 2, 11 * V, 2**22])
def test_the_projected_loss_agrees_with_torch_wherever_the_chunks_end(
    smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss, "CHUNK", chunk)
    x, weight, target = projected_example()
    expected = reference(x @ weight.T, target, smoothing)
    slopes = torch.autograd.grad(expected, (x, weight))
    total = linear_cross_entropy(x, weight, target, smoothing)
    assert_close(total, expected)
    assert_close(torch.autograd.grad(total, (x, weight)), slopes)


def test_the_projected_loss_carries_what_it_is_multiplied_by() -> None:
    x, weight, target = projected_example()
    whole = linear_cross_entropy(x, weight, target, 0.1)
    half = linear_cross_entropy(x, weight, target, 0.1) * 0.5
    once = torch.autograd.grad(whole, (x, weight))
    assert_close(torch.autograd.grad(half, (x, weight)), tuple(slope / 2 for slope in once))


@SMOOTHING
def test_the_projected_loss_multiplies_in_bfloat16_under_autocast(smoothing: float) -> None:
    x, weight, target = projected_example()
    with torch.autocast("cpu", torch.bfloat16):
        expected = reference((x @ weight.T).float(), target, smoothing)
        total = linear_cross_entropy(x, weight, target, smoothing)
    assert total.dtype == torch.float32
    assert_close(total, expected, rtol=1e-3, atol=1e-3)
    slopes = torch.autograd.grad(expected, (x, weight))
    for slope, expected in zip(torch.autograd.grad(total, (x, weight)), slopes, strict=True):
        assert slope.dtype == torch.float32
        assert_close(slope, expected, rtol=0.05, atol=0.05)


def test_padding_costs_the_projected_loss_nothing() -> None:
    x, weight, target = projected_example()
    linear_cross_entropy(x, weight, target, 0.1).backward()
    assert x.grad is not None
    assert torch.equal((x.grad != 0).any(-1), target != PAD_ID)
    weight.grad = None
    total = linear_cross_entropy(x, weight, torch.full_like(target, PAD_ID), 0.1)
    total.backward()
    assert total.item() == 0.0
    assert weight.grad is None or not weight.grad.any()


def test_a_second_backward_pass_is_refused() -> None:
    x, weight, target = projected_example()
    total = linear_cross_entropy(x, weight, target, 0.0)
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="expected one backward pass through this loss"):
        total.backward()


Batches = list[tuple[Tensor, Tensor]]


def whole_logits(model: Transformer, src: Tensor, tgt: Tensor, target: Tensor) -> Tensor:
    return reference(model(src, tgt), target, 0.1)


def chunked_logits(model: Transformer, src: Tensor, tgt: Tensor, target: Tensor) -> Tensor:
    x, _ = model.decode_hidden(tgt, model.encode(src))
    return linear_cross_entropy(x, model.embedding.weight, target, 0.1)


def gradients(
    model: Transformer,
    total_of: Callable[[Transformer, Tensor, Tensor, Tensor], Tensor],
    batches: Batches,
) -> dict[str, Tensor]:
    """Those of the summed loss over all batches, divided once by all their tokens."""
    model.zero_grad()
    for src, tgt in batches:
        total_of(model, src, tgt[:, :-1], tgt[:, 1:]).backward()
    n_tokens = sum(int((tgt[:, 1:] != PAD_ID).sum()) for _, tgt in batches)
    return {n: p.grad / n_tokens for n, p in model.named_parameters() if p.grad is not None}


def uneven_batches() -> tuple[Batches, Batches]:
    """Eight sentences as one batch, and as four that are as wide as their longest sentence."""
    torch.manual_seed(2)
    lengths = [3, 2, 11, 9, 5, 5, 2, 7]
    src, tgt = torch.randint(4, V, (8, 11)), torch.randint(4, V, (8, 11))
    tgt[:, 0] = BOS_ID
    for row, length in enumerate(lengths):
        src[row, length:], tgt[row, length:] = PAD_ID, PAD_ID
    widths = [max(lengths[i : i + 2]) for i in range(0, 8, 2)]
    micro = [
        (src[2 * i : 2 * i + 2, :width], tgt[2 * i : 2 * i + 2, :width])
        for i, width in enumerate(widths)
    ]
    return [(src, tgt)], micro


@pytest.mark.parametrize("total_of", [whole_logits, chunked_logits])
def test_four_uneven_micro_batches_give_the_gradients_of_one_batch_with_either_loss(
    make_model: Callable[..., Transformer],
    total_of: Callable[[Transformer, Tensor, Tensor, Tensor], Tensor],
) -> None:
    model = make_model()
    one, four = uneven_batches()
    whole, parts = gradients(model, whole_logits, one), gradients(model, total_of, four)
    assert whole.keys() == parts.keys() == dict(model.named_parameters()).keys()
    assert_close(parts, whole, rtol=1e-4, atol=1e-5)
    assert_close(gradients(model, total_of, one), whole, rtol=1e-4, atol=1e-5)


def test_activations_that_are_bfloat16_already_give_what_float32_gives() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3, 8), torch.randn(20, 8)
    target = torch.tensor([[4, 5, 6], [7, 8, PAD_ID]])
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        given = x.to(dtype, copy=True).requires_grad_()
        table = weight.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            loss = linear_cross_entropy(given, table, target, 0.1)
        loss.backward()
        assert given.grad is not None
        assert table.grad is not None
        assert given.grad.dtype == dtype
        found.append((loss.detach(), given.grad.float(), table.grad))
    for one, other in zip(*found, strict=True):
        assert_close(other, one, rtol=0.05, atol=0.05)


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
        expected, _ = plain.decode_hidden(TGT, plain.encode(SRC))
        found = loss_model.read(SRC, TGT)
        loss_model(SRC, TGT, TGT).backward()
    assert torch.equal(found, expected)
    assert all(p.grad is not None and p.grad.dtype is torch.float32 for p in wrapped.parameters())


@pytest.mark.parametrize(("norm", "narrow"), [("pre", 11), ("post", 0)])
def test_norms_that_products_read_are_cast_once(norm: str, narrow: int) -> None:
    """Of 2 + 2 layers: 4 sublayers, 6, and the encoder's output, which both layers look at."""
    model = build(norm)
    seen: list[torch.Tensor] = []
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in ("query", "key", "value", "expand"):  # they read the residual
            module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    LossModel(model, TrainConfig())(SRC, TGT, TGT)
    assert {x.dtype for x in seen} == {torch.float32}  # no autocast, no cast
    seen.clear()
    with torch.autocast("cpu", torch.bfloat16):
        LossModel(model, TrainConfig())(SRC, TGT, TGT)
    different = {id(x): x.dtype for x in seen}.values()
    assert len(different) == 11
    assert list(different).count(torch.bfloat16) == narrow


def test_a_loss_in_bfloat16_is_near_that_in_float32() -> None:
    loss_model = LossModel(build("pre"), TrainConfig())
    exact = loss_model(SRC, TGT, TGT)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = loss_model(SRC, TGT, TGT)
    assert_close(rounded, exact, rtol=5e-3, atol=0)
