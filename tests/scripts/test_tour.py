"""The attention tour: its numbers are the lessons' and the model's, its pages stand alone."""

import hashlib
import html.parser
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from scripts.tour import __main__ as command
from scripts.tour import comparison, cost, digits, facts, lessons, recall, trained_model
from scripts.tour import page as html_page
from scripts.tour import walk as one_sentence
from scripts.tour.comparison import Settings
from scripts.tour.recurrent import Recurrent
from tests.processes import ROOT
from transformer.checkpoint.locate import WEIGHTS, find_checkpoint, model_folders
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UserError, model_config
from transformer.corpus.readers import write_tsv
from transformer.decoding.search import greedy_search
from transformer.explain.trace import trace
from transformer.model import EncoderLayer, MultiHeadAttention, source_batch

SHIPPED = ROOT / "transformer" / "serving" / "tour"
LANGUAGES = ("es", "en")
AGAIN = "run `python -m scripts.tour` again and commit transformer/serving/tour"
VOID = {"meta", "link", "rect", "line", "circle", "path", "polyline"}


def near(actual: Tensor, expected: list[Any], digits: int = 4) -> None:
    """Equal to the last printed digit."""
    assert_close(actual, torch.tensor(expected).float(), rtol=0, atol=0.5001 * 10.0**-digits)


@pytest.fixture(scope="module")
def worked() -> dict[str, Any]:
    return lessons.worked_examples()


@pytest.mark.parametrize(
    ("stop", "what", "expected", "digits"),
    [
        ("itself", "a", torch.eye(3).tolist(), 4),
        ("itself", "y", lessons.X.tolist(), 4),
        ("first", "y", [[1, 0]], 4),
        ("mostly", "y", [[0.75, 0.05], [0.05, 0.75], [-0.30, -0.30]], 4),
        ("mean", "y", [[0.1667, 0.1667]] * 3, 4),
        ("alone", "a", [[0.6285, 0.2312, 0.1402], [0.2312, 0.6285, 0.1402],
                        [0.2119, 0.2119, 0.5761]], 4),
        ("alone", "y", [[0.5584, 0.1611], [0.1611, 0.5584], [-0.0761, -0.0761]], 4),
        ("context", "a", [[0.9647, 0.0177, 0.0177]], 4),
        ("scaled", "scores", [112, 96], 4),
        ("scaled", "divided", [14, 12], 4),
        ("scaled", "weights", [0.88, 0.12], 2),
        ("masks", "scores", [0.0285, 0.0735, 0.1185, 0.1635, 0.2085], 4),
    ],
)  # fmt: skip
def test_stops_1_to_7_can_be_checked_by_hand(
    worked: dict[str, Any], stop: str, what: str, expected: list[Any], digits: int
) -> None:
    near(torch.tensor(worked[stop][what]), expected, digits)


def test_stop_6_eight_heads() -> None:
    torch.manual_seed(1)
    with torch.no_grad():
        weights, undivided, difference = lessons.heads(
            MultiHeadAttention(512, 8), 3 * torch.randn(1, 4, 512)
        )
    assert weights.shape == (8, 4, 4)
    assert difference < 1e-5
    assert_close(weights.sum(-1), torch.ones(8, 4))
    assert not torch.allclose(weights, undivided, atol=0.01)


def test_stop_7_masks(worked: dict[str, Any]) -> None:
    found = worked["masks"]
    assert worked["scores"] == [13, 9, 9]
    assert found["weights"][0] == [1, 0, 0, 0, 0]
    assert [row[4] for row in found["weights"]] == [0] * 5
    near(torch.tensor(found["slip"][0]), [0.2046, 0.1989, 0.1989, 0.1989, 0.1989])
    assert round(100 * found["leaked"]) == 80


def test_stop_8_patches_are_the_squares_of_the_image() -> None:
    image = torch.arange(64.0).view(8, 8)
    found = digits.patches(image.view(1, 64))[0]
    assert found.shape == (16, 4)
    assert found[0].tolist() == image[:2, :2].flatten().tolist()
    assert found[7].tolist() == image[2:4, 6:].flatten().tolist()


def test_stop_8_a_short_training_beats_guessing() -> None:
    images, labels = digits.load()
    torch.manual_seed(1)
    model = digits.fit(digits.PatchClassifier(), images, labels, steps=150)
    assert len(images) == digits.N_IMAGES
    with torch.no_grad():
        assert (model(images).argmax(1) == labels).float().mean() > 0.2  # guessing: 0.1


@pytest.fixture
def recurrent_model() -> Recurrent:
    torch.manual_seed(3)
    return Recurrent(
        model_config("tiny", vocab_size=13, d_model=12, n_encoder_layers=2, n_decoder_layers=3)
    ).eval()


def test_stop_14_decoding_in_pieces_is_decoding_at_once(recurrent_model: Recurrent) -> None:
    src = torch.tensor([[4, 5, 6, 7, EOS_ID], [8, 9, EOS_ID, PAD_ID, PAD_ID]])
    tgt = torch.tensor([[BOS_ID, 4, 5, 6, 7, 8, 9]]).expand(2, -1)
    with torch.no_grad():
        whole, _ = recurrent_model.decode(tgt, recurrent_model.encode(src))
        state, parts = recurrent_model.encode(src), []
        for part in tgt.split([3, 1, 3], dim=1):
            logits, state = recurrent_model.decode(part, state)
            parts.append(logits)
    assert whole.shape == (2, 7, 13)
    assert_close(torch.cat(parts, 1), whole)


def test_stop_14_padding_and_rows_change_nothing(recurrent_model: Recurrent) -> None:
    short, long = [8, 9], [4, 5, 6, 7, 10, 11]
    together: Any = greedy_search(recurrent_model, source_batch([short, long]))  # type: ignore[arg-type]
    alone: Any = [greedy_search(recurrent_model, source_batch([s]))[0] for s in (short, long)]  # type: ignore[arg-type]
    assert [h.ids for h in together] == [h.ids for h in alone]


def test_stop_14_the_two_are_of_about_the_same_size() -> None:
    sizes = [sum(p.numel() for p in m.parameters()) for m in comparison.models(2000).values()]
    assert max(sizes) / min(sizes) < 1.1


def test_stop_14_attention_finds_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols, back = torch.tensor([[5, 6, 7], [8, 9, 10]]), torch.tensor([0, 2])
    assert recall.symbol_back(symbols, back).tolist() == [7, 8]
    assert recall.Reader("gru")(symbols, back).shape == (2, recall.KINDS)
    monkeypatch.setattr(recall, "LONGEST", 6)
    monkeypatch.setattr(recall, "STEPS", {"attention": 150})
    assert min(recall.recall()["attention"]) > 50  # guessing: 6


def test_stop_13_pairs_grow_with_the_square_and_positions_with_the_length() -> None:
    short, long = cost.count_multiplications(100), cost.count_multiplications(200)
    assert long["each"] == 2 * short["each"]
    assert long["pairs"] == 4 * short["pairs"]
    even = cost.count_multiplications(cost.break_even())
    assert even["each"] == even["pairs"]
    tried = cost.measure((4, 8), repeats=1)
    assert {name: len(times) for name, times in tried.items()} == {"each": 2, "pairs": 2}


@pytest.fixture(scope="session")
def found() -> dict[str, Any]:
    """What the command finds now; what is trained or timed is as it was kept."""
    trained = command.trained_facts(command.RESULTS, Settings())
    return facts.collect(None, trained)


@pytest.fixture(scope="session")
def pages(found: Mapping[str, Any]) -> dict[str, str]:
    """The pages as the command would write them now."""
    return html_page.pages(found)


@pytest.fixture(scope="module", params=LANGUAGES)
def page(request: pytest.FixtureRequest) -> str:
    """A page as it is shipped."""
    return (SHIPPED / f"{request.param}.html").read_text(encoding="utf-8")


def test_what_was_trained_was_trained_by_these_settings() -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError(f"scripts/tour/results.json is of other settings: {AGAIN}")

    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((comparison, "run"), (comparison, "reading_time"), (cost, "measure"),
                             (digits, "classify"), (recall, "recall")):  # fmt: skip
            patch.setattr(module, name, refuse)
        command.trained_facts(command.RESULTS, Settings())


def test_the_shipped_pages_are_of_the_released_model(page: str) -> None:
    weights = (find_checkpoint(model_folders()[facts.LANGS]) / WEIGHTS).read_bytes()
    named = re.search(r'<meta name="model" content="sha256:(\w+)">', page)
    assert named
    assert named[1] == hashlib.sha256(weights).hexdigest(), f"the model has changed: {AGAIN}"


NUMBER = re.compile(r"−?\d[\d,\u202f]*(?:\.\d+)?")


def words_and_numbers(page: str) -> tuple[str, list[str]]:
    """The words of a page and its numbers, without what a broken model writes and pictures."""
    page = re.sub(r'<table class="plain steps off">.*?</table>', "", page, flags=re.DOTALL)
    text = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", page, flags=re.DOTALL)
    return NUMBER.sub("#", " ".join(text.split())), NUMBER.findall(text)


def off_by(shown: str, now: str) -> float:
    """How far two numbers are apart, in units of the last digit; whole ones to 100 are rounded."""
    values = [float(text.replace(",", "").replace("\u202f", "").replace("−", "-"))
              for text in (shown, now)]  # fmt: skip
    digits = len(shown.partition(".")[2])
    exact = not digits and max(values) > 100
    return float("inf") if exact and shown != now else abs(values[0] - values[1]) * 10**digits


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_shipped_numbers_are_those_of_the_code(pages: Mapping[str, str], lang: str) -> None:
    words, numbers = words_and_numbers((SHIPPED / f"{lang}.html").read_text(encoding="utf-8"))
    words_now, numbers_now = words_and_numbers(pages[lang])
    assert words == words_now, AGAIN
    apart = [(a, b) for a, b in zip(numbers, numbers_now, strict=True) if off_by(a, b) > 1.01]
    assert not apart, AGAIN
    assert len(numbers) > 1500


def test_a_number_that_is_not_the_codes_is_found(pages: Mapping[str, str]) -> None:
    assert off_by("0.628", "0.629") < 1.01
    assert off_by("0.628", "0.631") > 1.01
    assert off_by("63,082,496", "63,082,497") > 1.01
    _, numbers = words_and_numbers(pages["en"])
    assert {"63,082,496", "214,245,376", "0.6285", "0.9647", "0.2046"} <= {*numbers}


def test_both_languages_show_the_same_numbers() -> None:
    numbers = [
        [n.replace("\u202f", ",") for cell in re.findall(r"<td[^>]*>([^<]*)</td>", text)
         for n in NUMBER.findall(cell)]
        for text in ((SHIPPED / f"{lang}.html").read_text(encoding="utf-8") for lang in LANGUAGES)
    ]  # fmt: skip
    assert len(numbers[0]) > 1000
    assert numbers[0] == numbers[1]


def test_a_page_is_whole(page: str) -> None:
    stops = re.findall(r'<section class="stop" id="stop-(\d+)">.*?</section>', page, re.DOTALL)
    assert stops == [str(n) for n in range(1, 17)]
    for number in stops:
        body = page.partition(f'id="stop-{number}">')[2].partition("</section>")[0]
        assert "<math" in body or number == "10"
        assert '<figure class="code">' in body
        assert '<details class="exercise">' in body
        assert "<svg" in body or "<table" in body
    assert not re.search(r"nan\s%", page)
    assert re.findall(r'class="step" id="walk-(\d+)"', page) == [str(n) for n in range(1, 16)]
    for name in ("consulta", "query", "clave", "key", "valor", "value", "máscara", "mask"):
        assert re.search(rf"<dt>.*\b{name}\b.*</dt>", page)


def test_a_page_loads_nothing_but_what_is_beside_it(page: str) -> None:
    loaded = set(
        re.findall(r'<(?:link|script|img|source|iframe)[^>]*?(?:href|src)="([^"]*)"', page)
    )
    assert loaded == {*command.ASSETS}
    for name in command.ASSETS:
        text = (SHIPPED / name).read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(|\bimport\b", text)
    assert not re.search(r'\sstyle="|<style|\son\w+="|<script>', page)  # a server forbids them
    assert len(page.encode()) < 1_500_000


def test_a_page_is_well_formed(page: str) -> None:
    open_tags: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag not in VOID:
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert tag in VOID or open_tags.pop() == tag

    Reader().feed(page)
    assert not open_tags
    names = re.findall(r'\bid="([^"]*)"', page)
    assert len(names) == len({*names})
    assert {*re.findall(r'href="#([^"]*)"', page)} <= {*names}


def test_the_walk_is_what_the_model_computes(found: Mapping[str, Any]) -> None:
    translator, _ = facts.load_released(None)
    model, walk = translator.model, found["walk"]
    traced = trace(translator, one_sentence.SENTENCE)
    layer = model.encoder[0]
    assert isinstance(layer, EncoderLayer)
    with torch.no_grad():
        x = model.embed(source_batch([traced.source_ids[:-1]]))
        after = layer(x, torch.ones(1, 1, 1, x.size(1), dtype=torch.bool))[0]
        logits, _ = model.decode(
            torch.tensor([[BOS_ID, *traced.target_ids[: walk["step"]]]]),
            model.encode(source_batch([traced.source_ids[:-1]])),
        )
    row, shown = walk["row"], one_sentence.SHOWN
    assert_close(torch.tensor(walk["x"]), x[0, :, :shown], atol=1e-4, rtol=0)
    assert_close(torch.tensor(walk["fed"]), after[row, :shown], atol=1e-4, rtol=0)
    near(torch.tensor(walk["weights"]), traced.encoder[0, walk["head"] - 1].tolist())
    assert_close(torch.tensor(walk["logits"]), logits[0, -1].topk(5).values, atol=1e-3, rtol=0)
    weights = torch.tensor(walk["weights"][row]) @ torch.tensor(walk["value"])
    near(weights[None], [walk["mixture"]], digits=3)


def test_a_part_that_is_switched_off_is_missed(found: Mapping[str, Any]) -> None:
    off = found["off"]
    assert off["whole"][0] == found["walk"]["target"]
    finite = {name: chance for name, (_, chance) in off.items() if not math.isnan(chance)}
    assert max(finite.values()) == off["whole"][1]
    assert {*off} - {*finite} <= {"norm"}  # without it the numbers overflow
    assert off["cross"][1] < off["whole"][1] / 10


def test_heads_are_named_by_what_they_look_at() -> None:
    eye = torch.eye(4)
    before = torch.zeros(4, 4)
    before[0, 0] = before[1, 0] = before[2, 1] = before[3, 2] = 1
    maps = torch.stack([eye, before, torch.full((4, 4), 0.25)])[None]
    names = [name for name, _ in trained_model.roles("encoder", maps, ["▁a", "▁b", "c", "</s>"])[0]]
    assert names == ["same", "previous", "mixed"]


def test_code_is_that_of_the_source() -> None:
    source = (ROOT / "transformer" / "model.py").read_text(encoding="utf-8")
    shown = facts.code_snippets()["heads"]
    code = re.findall(r"<code>(.*?)</code>", shown, re.DOTALL)[1]
    lines = [line.strip() for line in html.unescape(re.sub("<[^>]*>", "", code)).splitlines()]
    assert "\n".join(lines) in "\n".join(line.strip() for line in source.splitlines())
    assert "transformer/model.py, MultiHeadAttention.forward" in shown
    with pytest.raises(ValueError, match="expected a line with 'no such line'"):
        html_page.snippet(lessons.masks, "no such line")


def test_a_page_without_a_fact_is_refused() -> None:
    with pytest.raises(UserError, match="cannot write the tour: 'stack' is undefined"):
        html_page.pages({"digest": "0"})


def test_highlighting_keeps_the_text() -> None:
    code = 'def f(x):  # <a note>\n    return x if x < 2 else "two"'
    shown = html_page.highlight(code)
    assert html.unescape(re.sub("</?i[^>]*>", "", shown)) == code
    assert '<i class="word">return</i>' in shown
    assert '<i class="note"># &lt;a note&gt;</i>' in shown


def test_numbers_pieces_and_axes_are_readable() -> None:
    numbers = {(-0.5, 1): "−0.5", (-0.00001, 4): "0.0000", (-1234.5, 1): "−1,234.5"}
    assert {given: html_page.number(*given) for given in numbers} == numbers
    pieces = {"▁casa": "casa", "ó": "–ó", ".": ".", "▁": "▁"}
    assert {piece: html_page.display_piece(piece) for piece in pieces} == pieces
    ends = {0.3: 1, 1: 1, 41: 60, 100: 100, 6100: 8000}
    assert {value: html_page.axis_end(value) for value in ends} == ends


def test_results_are_kept_as_long_as_the_settings_are_equal(tmp_path: Path) -> None:
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        return len(calls)

    path = tmp_path / "results.json"
    assert [command.cached(path, "x", (1, 2), work)["result"] for _ in range(3)] == [1, 1, 1]
    assert command.cached(path, "x", (1, 3), work)["result"] == 2
    record = json.loads(path.read_text(encoding="utf-8"))["x"]
    assert record["result"] == 2
    assert record["machine"]["torch"] == torch.__version__


@pytest.mark.slow
def test_stop_8_attention_learns_the_digits_and_the_perceptron_more() -> None:
    found = digits.classify()
    attention, perceptron = (min(found["accuracy"][kind]) for kind in ("attention", "perceptron"))
    assert 80 < attention < perceptron
    assert found["parameters"]["attention"] < found["parameters"]["perceptron"] / 5


@pytest.mark.slow
def test_the_whole_tour_at_once(
    tmp_path: Path, phrases: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "STEPS", dict.fromkeys(recall.STEPS, 2))
    train, dev, test = (tmp_path / f"{name}.tsv" for name in ("train", "dev", "test"))
    write_tsv(train, ("es", "en"), phrases[:700])
    write_tsv(dev, ("es", "en"), phrases[700:720])
    write_tsv(test, ("es", "en"), phrases[720:740])
    folder = tmp_path / "tour"
    settings = Settings(train=str(train), dev=str(dev), test=str(test), epochs=1)
    pages = command.make(None, folder, tmp_path / "results.json", settings)
    assert pages == [folder / f"{lang}.html" for lang in LANGUAGES]
    assert "1 pasada cada uno" in pages[0].read_text(encoding="utf-8")
    assert {path.name for path in folder.iterdir()} == {*command.ASSETS, "es.html", "en.html"}
