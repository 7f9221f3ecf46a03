"""Model 1, by hand."""

import numpy as np
import pytest

from scripts.corpus import model1


def test_one_step_of_em_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of "la casa, una casa" and "the house, a house": t(house | casa) = (1/2 + 1/2) / 2."""
    monkeypatch.setattr(model1, "TENSION", 0.0)
    monkeypatch.setattr(model1, "NULL", 0.0)
    both = [np.array([1, 2]), np.array([3, 2])]
    text = model1.cooccurrences(both, both)
    chance = model1.em_step(text, np.ones(len(text.source_of_pair)))
    casa = chance[text.source_of_pair == 2]
    assert sorted(casa) == pytest.approx([0.25, 0.25, 0.5])
