"""Position codes against the formula of Vaswani et al. 2017, section 3.5."""

import math

import pytest
import torch
from torch.testing import assert_close

from transformer.positional import LearnedPositions, SinusoidalPositions, sinusoids

L, D = 7, 10


def test_even_channels_are_sines_and_odd_ones_cosines_of_the_papers_angles() -> None:
    codes = sinusoids(L, D)
    assert codes.shape == (L, D)
    for position in range(L):
        for i in range(D // 2):
            angle = position / 10_000 ** (2 * i / D)
            assert codes[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert codes[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_codes_stay_exact_far_from_the_start() -> None:
    last = sinusoids(5003, D)[-1]
    assert last[0].item() == pytest.approx(math.sin(5002), abs=1e-6)
    assert last[1].item() == pytest.approx(math.cos(5002), abs=1e-6)


def test_moving_by_k_positions_is_the_same_rotation_everywhere() -> None:
    """The reason that the paper gives for its choice."""
    pairs = torch.view_as_complex(sinusoids(L, D).double().unflatten(1, (-1, 2)))  # (L, D/2)
    turns = pairs[2:] / pairs[:-2]
    assert_close(turns, turns[:1].expand_as(turns), atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_codes_from_a_start_are_that_part_of_all_codes(
    kind: type[SinusoidalPositions] | type[LearnedPositions],
) -> None:
    positions = kind(L, D)
    whole = positions(0, L)
    assert whole.shape == (L, D)
    assert torch.equal(positions(3, 2), whole[3:5])


def test_sinusoids_are_computed_and_not_part_of_a_checkpoint() -> None:
    positions = SinusoidalPositions(L, D)
    assert positions.state_dict() == {}
    assert list(positions.parameters()) == []
    assert torch.equal(positions(0, L), sinusoids(L, D))


def test_learned_codes_are_trained_and_start_at_about_unit_length() -> None:
    torch.manual_seed(1)
    positions = LearnedPositions(101, 64)
    assert [name for name, _ in positions.named_parameters()] == ["table"]
    lengths = positions(0, 101).norm(dim=1)
    assert lengths.mean().item() == pytest.approx(1.0, abs=0.05)
    positions(2, 3).sum().backward()
    assert positions.table.grad is not None
    assert positions.table.grad.abs().sum(1).nonzero().flatten().tolist() == [2, 3, 4]
