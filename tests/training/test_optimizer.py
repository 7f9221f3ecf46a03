"""The learning rate and Adam against the numbers and formulas of their papers."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from transformer.config import TrainConfig
from transformer.training.optimizer import (
    Muon,
    adam,
    learning_rate,
    make_optimizer,
    orthogonalize,
    update_average,
)


def rate(step: int, d_model: int = 512, **changes: Any) -> float:
    return learning_rate(step, d_model, TrainConfig(**changes))


def test_the_rate_peaks_at_step_4000_with_the_papers_value() -> None:
    assert rate(4000) == pytest.approx(6.9877e-4, rel=1e-5)
    config = TrainConfig()
    assert max(range(1, 20_001), key=lambda step: learning_rate(step, 512, config)) == 4000


def test_the_rate_rises_in_a_straight_line_and_falls_with_the_root_of_the_step() -> None:
    peak, plain = rate(4000), rate(17, warmup=101)
    assert [rate(1), rate(2000)] == pytest.approx([peak / 4000, peak / 2])
    assert [rate(16_000), rate(100 * 4000)] == pytest.approx([peak / 2, peak / 10])
    assert rate(17, warmup=101, lr_scale=3.0) == pytest.approx(3 * plain)
    assert rate(17, 2048, warmup=101) == pytest.approx(plain / 2)


def test_the_rate_falls_to_nothing_in_a_straight_line_over_the_last_steps() -> None:
    rates = [rate(step, warmup=10, max_steps=50, cooldown=20) for step in range(1, 52)]
    plain = [rate(step, warmup=10) for step in range(1, 52)]
    assert rates[:31] == plain[:31]
    shares = [low / whole for low, whole in zip(rates[30:], plain[30:], strict=True)]
    assert shares == pytest.approx([left / 20 for left in range(20, -1, -1)])
    assert rate(60, warmup=10, max_steps=50, cooldown=20) == 0


def test_the_highest_rate_may_be_given_and_kept() -> None:
    given: dict[str, Any] = {"warmup": 10, "learning_rate": 0.01}
    assert [rate(step, **given) for step in (5, 10, 40)] == pytest.approx([0.005, 0.01, 0.005])
    kept = [rate(step, schedule="constant", **given) for step in (5, 10, 40)]
    assert kept == pytest.approx([0.005, 0.01, 0.01])


def test_two_steps_of_adam_equal_the_formulas_of_its_paper() -> None:
    """Kingma and Ba 2015, algorithm 1, with the constants of Vaswani et al. 2017, section 5.3."""
    weight = nn.Parameter(torch.tensor([0.5, -2.0, 3.0]))
    slopes, rates = [[0.1, -4.0, 1e-9], [0.3, 2.0, 1e-9]], [0.01, 0.02]
    value, first, second = weight.tolist(), [0.0] * 3, [0.0] * 3
    optimizer = adam([weight])
    for t, (slope, rate) in enumerate(zip(slopes, rates, strict=True), start=1):
        weight.grad = torch.tensor(slope)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        for i, g in enumerate(slope):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.98 * second[i] + 0.02 * g * g
            mean, square = first[i] / (1 - 0.9**t), second[i] / (1 - 0.98**t)
            value[i] -= rate * mean / (square**0.5 + 1e-9)
    assert_close(weight.detach(), torch.tensor(value))


def test_adam_does_not_move_before_a_rate_is_set() -> None:
    weight = nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    adam([weight]).step()
    assert weight.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("products", "exact"), [(torch.float32, 1e-4), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (24, 8), (3, 6, 4)])
def test_a_matrix_made_orthogonal_keeps_its_directions(
    shape: tuple[int, ...], products: torch.dtype, exact: float
) -> None:
    torch.manual_seed(1)
    matrix = torch.randn(shape)
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    found = orthogonalize(matrix, dtype=products)
    assert found.dtype is torch.float32
    inner = u.mT @ found @ vt.mT  # diagonal where the directions are the same
    values = inner.diagonal(dim1=-2, dim2=-1)
    assert_close(inner, torch.diag_embed(values), atol=exact, rtol=0)
    assert values[s > 0.05].min() > 0.5
    assert values.max() < 1.3


def test_muon_moves_matrices_along_their_momentum_and_the_rest_as_adam_does() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 4))
    other = copy.deepcopy(model)
    ours, theirs = make_optimizer("muon", model), make_optimizer("adam", other)
    assert isinstance(ours, Muon)
    weights = model.state_dict()
    matrix, momentum = weights["1.weight"].clone(), torch.zeros(6, 4)
    for rate in (0.01, 0.02):
        gradients = [torch.randn_like(p) for p in model.parameters()]
        for one, optimiser in ((model, ours), (other, theirs)):
            for parameter, gradient in zip(one.parameters(), gradients, strict=True):
                parameter.grad = gradient.clone()
            optimiser.param_groups[0]["lr"] = rate
            optimiser.step()
        momentum = 0.95 * momentum + 0.05 * gradients[1]
        ahead = 0.95 * momentum + 0.05 * gradients[1]
        matrix -= rate * 0.2 * 6**0.5 * orthogonalize(ahead)
    assert_close(weights["1.weight"], matrix)
    for (name, mine), theirs_ in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs_) == (name not in ("1.weight", "3.weight")), name


def test_muon_leaves_a_matrix_without_a_gradient_alone() -> None:
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    model.bias.grad = torch.ones(2)
    muon = Muon(model)
    muon.param_groups[0]["lr"] = 0.1
    muon.step()
    assert torch.equal(model.weight, before)
    assert not torch.equal(model.bias, torch.zeros(2))


def test_the_average_moves_by_what_its_decay_leaves() -> None:
    """Decay 0.99 from step 891 on; step / (step + 9) before: 0.1 at step 1, 0.5 at step 9."""
    for step, decay, most in (
        (1, 0.1, 0.99), (9, 0.5, 0.99), (891, 0.99, 0.99), (10**6, 0.99, 0.99), (17, 0.0, 0.0)
    ):  # fmt: skip
        averaged, model = nn.Linear(3, 2), nn.Linear(3, 2)
        expected = [
            decay * old.detach() + (1 - decay) * new.detach()
            for old, new in zip(averaged.parameters(), model.parameters(), strict=True)
        ]
        update_average(averaged, model, decay=most, step=step)
        assert_close([p.detach() for p in averaged.parameters()], expected)
