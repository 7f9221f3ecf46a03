"""The attention tour: its numbers are the lessons', its page stands alone, both languages whole."""

import html.parser
import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from scripts.tour import __main__ as command
from scripts.tour import captions, comparison, digits, exhibits, figures, lessons
from scripts.tour import page as html_page
from scripts.tour.comparison import Settings
from scripts.tour.recurrent import Recurrent
from transformer.config import BOS_ID, EOS_ID, PAD_ID, model_config
from transformer.decoding.search import greedy_search
from transformer.model import source_batch
from transformer.translation.translator import Translator

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("es", "en")
VOID = {"meta", "input", "br", "rect", "line", "circle", "path"}


def near(actual: Tensor, expected: list[list[float]], digits: int = 4) -> None:
    """Equal to the last printed digit."""
    assert_close(actual, torch.tensor(expected), rtol=0, atol=0.5001 * 10.0**-digits)


def test_stop_1_hard_attention() -> None:
    itself, first = lessons.hard()
    assert torch.equal(itself.weights, torch.eye(3))
    assert torch.equal(itself.output, lessons.X)
    assert first.output.tolist() == [[1, 0]]


def test_stop_2_soft_attention() -> None:
    mostly, mean = lessons.soft()
    near(mostly.output, [[0.75, 0.05], [0.05, 0.75], [-0.30, -0.30]])
    near(mean.output, [[0.1667, 0.1667]] * 3)


def test_stop_3_self_attention() -> None:
    found = lessons.self_attention()
    near(
        found.weights,
        [[0.6285, 0.2312, 0.1402], [0.2312, 0.6285, 0.1402], [0.2119, 0.2119, 0.5761]],
    )
    near(found.output, [[0.5584, 0.1611], [0.1611, 0.5584], [-0.0761, -0.0761]])


def test_stop_4_a_recurrent_decoder() -> None:
    scores, context = lessons.recurrent()
    assert scores.tolist() == [[13, 9, 9]]
    near(context.weights, [[0.9647, 0.0177, 0.0177]])


def test_stop_5_the_division_by_8() -> None:
    found = lessons.scaled()
    assert found["scores"].tolist() == [[112, 96]]
    assert found["divided"].tolist() == [[14, 12]]
    near(found["weights"], [[0.88, 0.12]], digits=2)


def test_stop_6_eight_heads() -> None:
    found = lessons.heads()
    assert found.weights.shape == (8, 4, 4)
    assert found.difference < 1e-5
    assert_close(found.weights.sum(-1), torch.ones(8, 4))
    assert not torch.allclose(found.weights, found.undivided, atol=0.01)


def test_stop_7_masks() -> None:
    found = lessons.masks()
    near(found.scores[:1], [[0.0285, 0.0735, 0.1185, 0.1635, 0.2085]])
    assert found.weights[0].tolist() == [1, 0, 0, 0, 0]
    assert found.weights[:, 4].tolist() == [0] * 5
    near(found.slip[:1], [[0.2046, 0.1989, 0.1989, 0.1989, 0.1989]])
    assert round(100 * found.leaked) == 80


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


def test_stop_12_decoding_in_pieces_is_decoding_at_once(recurrent_model: Recurrent) -> None:
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


def test_stop_12_padding_and_rows_change_nothing(recurrent_model: Recurrent) -> None:
    short, long = [8, 9], [4, 5, 6, 7, 10, 11]
    together: Any = greedy_search(recurrent_model, source_batch([short, long]))  # type: ignore[arg-type]
    alone: Any = [greedy_search(recurrent_model, source_batch([s]))[0] for s in (short, long)]  # type: ignore[arg-type]
    assert [h.ids for h in together] == [h.ids for h in alone]


def test_stop_12_the_two_are_of_about_the_same_size() -> None:
    sizes = [sum(p.numel() for p in m.parameters()) for m in comparison.models(2000).values()]
    assert max(sizes) / min(sizes) < 1.1


def runner(name: str, bleu: float) -> dict[str, Any]:
    laps = [{"seconds": 20.0 * n, "loss": 1.0, "bleu": bleu * n / 3} for n in (1, 2, 3)]
    score = {"value": bleu, "low": bleu - 2, "high": bleu + 2}
    return {"name": name, "parameters": 1000, "laps": laps, "test": score,
            "sentences": 500, "tokens": 13.0}  # fmt: skip


@pytest.mark.parametrize(("other", "word"), [(41.0, "overlap"), (30.0, "do not overlap")])
def test_stop_12_says_whether_the_difference_counts(other: float, word: str) -> None:
    runners = [runner("Transformer", 40.0), runner("GRU", other)]
    assert f"intervals {word}" in captions.verdict(runners, "en")
    assert ("no se solapan" in captions.verdict(runners, "es")) == (other == 30.0)


@pytest.fixture(scope="session")
def page() -> str:
    """The page with the released model; what is trained is replaced by small invented results."""
    classified = {
        "test_images": 3,
        "parameters": {"attention": 1, "perceptron": 2, "linear": 3},
        "accuracy": {"attention": [9.0], "perceptron": [8.0], "linear": [7.0]},
        "images": [[0.5] * 64],
        "labels": [1],
        "guesses": [1],
        "weights": [[1 / 16] * 16],
    }
    reading = {"Transformer": [1.0, 2.0], "GRU": [3.0, 4.0]}
    runners = [runner("Transformer", 40.0), runner("GRU", 41.0)]
    trained = exhibits.Trained(classified, runners, reading, (8, 16), Settings())
    translator = Translator.load(ROOT / "checkpoints" / "es-en", "cpu", "float32")
    found = exhibits.Findings.collect(translator, trained)
    return html_page.page({lang: exhibits.exhibits(found, lang) for lang in LANGUAGES})


def article(page: str, language: str) -> str:
    found = re.search(rf'<article lang="{language}">(.*?)</article>', page, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_all_twelve_stops(page: str, language: str) -> None:
    body = article(page, language)
    stops = re.findall(rf'<section id="{language}-(\d+)" data-stop="(\d+)">\s*<h2>(\d+)\.', body)
    assert stops == [(str(n),) * 3 for n in range(1, 13)]
    assert re.findall(rf'<a href="#{language}-(\d+)">', body) == [str(n) for n in range(1, 13)]
    for stop in re.findall(r"<section.*?</section>", body, re.DOTALL):
        assert stop.count("<math") >= 1
        assert stop.count('<figure class="code">') >= 1
        assert "<svg" in stop or "<table" in stop


def test_both_languages_show_the_same_numbers(page: str) -> None:
    cells = [
        [
            cell.replace("\u202f", ",")
            for cell in re.findall(r"<td[^>]*>([−\d.,\u202f]+)</td>", body)
        ]
        for body in (article(page, language) for language in LANGUAGES)
    ]
    assert len(cells[0]) > 100
    assert cells[0] == cells[1]


def test_the_lessons_numbers_stand_on_the_page(page: str) -> None:
    for number in ("0.6285", "0.5584", "0.9647", "0.8808", "0.2046", "63,082,496"):
        assert number in article(page, "en")


def test_the_page_loads_nothing(page: str) -> None:
    addresses = re.findall(r"""(?:src|href|url|action)\s*[=(]\s*["']?([^"'\s)>]+)""", page)
    assert [a for a in addresses if not a.startswith("#")] == []
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"
    }  # fmt: skip
    assert "@import" not in page


def test_the_page_is_well_formed(page: str) -> None:
    open_tags: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag not in VOID:
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert tag in VOID or open_tags.pop() == tag

    Reader().feed(page)
    assert not open_tags


def test_no_placeholder_is_left_and_templates_ask_for_the_same(page: str) -> None:
    assert not re.findall(r"\$[a-z]\w+", page)
    wanted = [set(html_page.template(language).get_identifiers()) for language in LANGUAGES]
    assert wanted[0] == wanted[1]


def test_code_is_that_of_the_source() -> None:
    shown = exhibits.codes()
    wanted = {name for name in html_page.template("en").get_identifiers() if name.endswith("_code")}
    assert set(shown) == wanted
    source = (ROOT / "transformer" / "model.py").read_text(encoding="utf-8").splitlines()
    where = re.search(r"transformer/model\.py, (\d+)–(\d+)", shown["heads_code"])
    assert where
    code = re.search(r"<code>(.*?)</code>", shown["heads_code"], re.DOTALL)
    assert code
    plain = html.unescape(re.sub("<[^>]*>", "", code[1])).splitlines()
    lines = source[int(where[1]) - 1 : int(where[2])]
    assert [line.strip() for line in lines] == [line.strip() for line in plain]


def test_code_that_is_gone_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected a line with 'no such line'"):
        html_page.snippet(lessons.masks, "no such line")


def test_a_page_without_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the same parts in en"):
        html_page.page({"en": {"model_name": "m"}})


def test_highlighting_keeps_the_text() -> None:
    code = 'def f(x):  # <a note>\n    return x if x < 2 else "two"'
    shown = html_page.highlight(code)
    assert html.unescape(re.sub("</?i[^>]*>", "", shown)) == code
    assert '<i class="word">return</i>' in shown
    assert '<i class="note"># &lt;a note&gt;</i>' in shown


def test_a_minus_is_a_minus_and_zero_has_none() -> None:
    assert html_page.number(-0.5, 1) == "−0.5"
    assert html_page.number(-0.00001, 4) == "0.0000"
    assert html_page.number(-1234.5, 1) == "−1,234.5"


@pytest.mark.parametrize("piece", [("▁casa", "casa"), ("ó", "–ó"), (".", "."), ("▁", "▁")])
def test_pieces_are_readable(piece: tuple[str, str]) -> None:
    assert figures.readable(piece[0]) == piece[1]


def test_results_are_kept_as_long_as_the_settings_are_equal(tmp_path: Path) -> None:
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        return len(calls)

    assert [command.kept(tmp_path, "x", (1, 2), work) for _ in range(3)] == [1, 1, 1]
    assert command.kept(tmp_path, "x", (1, 3), work) == 2
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["x"]["result"] == 2


def test_templates_are_templates() -> None:
    assert all(isinstance(html_page.template(lang), string.Template) for lang in LANGUAGES)


@pytest.mark.slow
def test_stop_8_attention_learns_the_digits_and_the_perceptron_more() -> None:
    found = digits.classify()
    attention, perceptron = (min(found.accuracy[kind]) for kind in ("attention", "perceptron"))
    assert attention > 80
    assert perceptron > attention
    assert found.parameters["attention"] < found.parameters["perceptron"] / 5


@pytest.mark.slow
def test_the_whole_tour_in_one_command(
    tmp_path: Path, phrases: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, chosen in (("train", phrases[:700]), ("dev", phrases[700:720]),
                         ("test", phrases[720:740])):  # fmt: skip
        lines = ["es\ten", *("\t".join(pair) for pair in chosen)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [f for n in ("train", "dev", "test") for f in (f"--{n}", str(tmp_path / f"{n}.tsv"))]
    assert command.main([*files, "--epochs", "1", "--output", str(tmp_path / "tour")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "tour" / "index.html")
    assert "es-12" in (tmp_path / "tour" / "index.html").read_text(encoding="utf-8")
