"""Pictures: well-formed, the same every time, and a clear word where matplotlib is missing."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest

from transformer import plots
from transformer.config import UserError

RECORDS = [
    {"event": "train", "step": 50, "loss": 8.5, "lr": 1e-4, "tokens_per_second": 900.0},
    {"event": "train", "step": 100, "loss": 7.5, "lr": 2e-4, "tokens_per_second": 950.0},
    {"event": "validation", "step": 100, "loss": 7.7, "bleu": 3.25},
    {"event": "train", "step": 100, "loss": 7.4, "lr": 2e-4, "tokens_per_second": 940.0},
    {"event": "start", "step": 100},
]


def texts(svg: str) -> str:
    return " ".join(element.text or "" for element in ET.fromstring(svg).iter() if element.text)


def test_curves_draw_a_panel_for_everything_logged() -> None:
    words = texts(plots.curves(RECORDS))
    for title in ("loss", "validation BLEU", "learning rate", "tokens per second", "step"):
        assert title in words
    words = texts(plots.curves([{"event": "train", "step": 1, "loss": 2.0}]))
    assert "loss" in words
    assert "BLEU" not in words  # what was not logged is left out


@pytest.mark.parametrize("value", ["2", [], {}, True, 10**400, None])
def test_what_is_no_number_is_not_drawn(value: object) -> None:
    damaged = {"event": "train", "step": 2, "loss": value}
    first = {"event": "train", "step": 1, "loss": 2.0}
    assert plots.curves([first, damaged]) == plots.curves([first])


def test_a_step_logged_again_counts_as_logged_last() -> None:
    assert plots.curves(RECORDS) == plots.curves([RECORDS[0], *RECORDS[2:]])  # byte for byte


def test_curves_without_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="training or validation records, got 1 others"):
        plots.curves([{"event": "start", "step": 1}])


def test_bars_show_every_label_and_series() -> None:
    values = {"BLEU": [1.0, 2.0], "chrF2": [3.0, 4.0]}
    errors = {"BLEU": [(0.5, 1.5), (1.5, 2.5)]}
    made = plots.bars(["1-5", "6-10"], values, errors, title="by length", x_label="words")
    words = texts(made)
    for word in ("1-5", "6-10", "BLEU", "chrF2", "by length", "words"):
        assert word in words


def test_a_histogram_says_what_it_counts() -> None:
    assert "ratio" in texts(plots.histogram([0.0, 1.0, 2.0], [3, 4], x_label="ratio"))


def test_a_picture_loads_nothing_and_takes_the_colour_of_the_page() -> None:
    svg = plots.histogram([0.0, 1.0], [3], title="a $b$ <i>")
    assert svg.startswith("<svg")
    assert "currentColor" in svg
    assert plots.INK not in svg
    assert "<i>" not in svg
    assert "a $b$ <i>" in texts(svg)
    assert set(re.findall(r'(?:href|src)="([^#"][^"]*)"', svg)) == set()


def test_pictures_leave_the_settings_of_matplotlib_alone() -> None:
    import matplotlib

    before = {name: matplotlib.rcParams[name] for name in plots.STYLE}
    plots.curves(RECORDS)
    assert {name: matplotlib.rcParams[name] for name in plots.STYLE} == before


def test_without_matplotlib_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match="install the extra `plots`"):
        plots.curves(RECORDS)
