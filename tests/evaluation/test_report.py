"""The report: JSON that keeps every value, a page that loads nothing, a table for a terminal."""

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser

import pytest

from transformer.config import DecodeConfig
from transformer.evaluation import analysis
from transformer.evaluation.analysis import Speed, analyse
from transformer.evaluation.report import FORMAT, Report, summary_table, to_html, to_json

EVIL = "<script>alert('x') & \"y\"</script>"
RECORDS = [{"event": "validation", "step": 1, "loss": 2.0, "bleu": 3.0}]
VOID = {"meta", "br"}


TEXTS = analysis.TestSet(
    name="set",
    spec="set.tsv",
    sources=("uno dos", EVIL, "tres"),
    references=("one two", EVIL, "three"),
    hypotheses=("one too", "x" + EVIL, "three"),
    baseline=("won two", EVIL, ""),
)


def report() -> Report:
    speed = Speed(seconds=2.0, sentences_per_second=1.5, source_words_per_second=4.0)
    return Report(
        model="tiny <b>",
        path="runs/tiny",
        src_lang="es",
        tgt_lang="en",
        decode=DecodeConfig(beam_size=4),
        machine={"date": "2030-01-01T00:00:00+00:00", "device": "cpu", "commit": None},
        sets=(analyse(TEXTS, speed, "old & grey", n_bootstrap=50),),
    )  # fmt: skip


class Page(HTMLParser):
    """Collects the elements and the text, and checks that what opens closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_json_keeps_every_value() -> None:
    evaluated = report()
    values = json.loads(to_json(evaluated))
    assert values["format"] == FORMAT
    assert values == json.loads(json.dumps(dataclasses.asdict(evaluated)))
    assert values["sets"][0]["scores"][0]["value"] == evaluated.sets[0].scores[0].value
    assert values["sets"][0]["worst"][0]["source"] == evaluated.sets[0].worst[0].source
    assert values["decode"]["beam_size"] == 4


def test_the_page_loads_nothing() -> None:
    text = to_html(report(), RECORDS)
    for tag, attributes in Page(text).elements:
        assert tag not in {"script", "link", "img", "iframe", "base", "object", "image"}
        for name in ("src", "href", "xlink:href", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#")
    assert set(re.findall(r"url\(([^)])", text)) <= {"#"}
    assert "@import" not in text
    assert not [key for key in re.findall(r'([\w:]+)="https?://', text) if "xmlns" not in key]


def test_the_page_shows_text_as_text() -> None:
    page = Page(to_html(report()))
    assert "script" not in {tag for tag, _ in page.elements}
    assert "b" not in {tag for tag, _ in page.elements}
    assert EVIL in page.text
    assert "tiny <b>" in page.text
    assert "old & grey" in page.text


def test_the_page_says_how_the_scores_were_made() -> None:
    evaluated = report()
    text = Page(to_html(evaluated)).text
    for score in evaluated.sets[0].scores:
        assert score.signature in text
        assert f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]" in text
    for command in evaluated.sets[0].commands:
        assert command in text
    for fact in ("beam_size 4", "runs/tiny", "set.tsv", "2030-01-01"):
        assert fact in text


def test_the_page_has_pictures_and_the_curves_of_the_run() -> None:
    def pictures(text: str) -> list[str | None]:
        return [attributes["aria-label"] for tag, attributes in Page(text).elements if tag == "svg"]

    assert pictures(to_html(report())) == ["Score by length", "Length"]
    assert pictures(to_html(report(), RECORDS))[-1] == "Training curves"


def test_without_matplotlib_the_page_comes_without_pictures_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(to_html(report(), RECORDS))
    assert "svg" not in {tag for tag, _ in page.elements}
    assert "No pictures" in page.text
    assert "extra `plots`" in page.text
    assert "BLEU" in page.text


def test_the_table_is_short_and_aligned() -> None:
    evaluated = report()
    lines = summary_table(evaluated).splitlines()
    assert len(lines) == 2 + 1 + 3
    assert len(lines[0]) == len(lines[1])
    assert "old & grey" in lines[2]
    for line, difference in zip(lines[3:], evaluated.sets[0].comparison.differences, strict=True):  # type: ignore[union-attr]
        assert difference.metric in line
        assert f"p = {difference.p_value:.3f}" in line


def test_the_table_of_scored_files_has_no_speed() -> None:
    evaluated = report()
    silent = dataclasses.replace(
        evaluated, sets=(dataclasses.replace(evaluated.sets[0], speed=None),)
    )
    assert summary_table(silent).splitlines()[1].endswith(" -")


def test_the_page_marks_what_is_not_in_the_reference_and_leads_to_each_list() -> None:
    evaluated = report()
    text = to_html(evaluated)
    assert '<span lang="en">one <mark>too</mark></span>' in text
    assert '<span lang="en"><mark>won</mark> two</span>' in text
    assert '<span lang="en">one two</span>' in text
    elements = Page(text).elements
    anchors = {attributes.get("id") for _, attributes in elements}
    links = [attributes["href"] for tag, attributes in elements if tag == "a"]
    assert {link[1:] for link in links if link} <= anchors
    assert "#set-1-random" in links
    assert all(s.source in Page(text).text for s in evaluated.sets[0].sampled)
    empty = dataclasses.replace(TEXTS, hypotheses=("", "x", "three"), baseline=None)
    one = dataclasses.replace(evaluated, sets=(analyse(empty, n_bootstrap=0),))
    assert to_html(one).count('href="#set-1-empty"') == 2
