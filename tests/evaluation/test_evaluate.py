"""Evaluations from start to end with a translator that only looks words up."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from scripts import evaluate as script
from transformer.checkpoint.locate import describe_directions, write_checksums
from transformer.config import DecodeConfig, Direction, ModelConfig, UserError
from transformer.evaluation import evaluate as evaluation
from transformer.evaluation.evaluate import EvaluationRequest, evaluate, set_names
from transformer.evaluation.report import machine, summary_table

PAIRS = [
    ("el gato negro duerme en la casa", "the black cat sleeps in the house"),
    ("la casa\nes grande ", "the house\r\nis big"),
    ("¿dónde está el gato?", "where is the cat?"),
    ("gato", "cat"),
    ("el gato negro ve la casa grande", "the black cat sees the big house"),
]
WORDS = {"el": "the", "la": "the", "gato": "cat", "casa": "house", "negro": "black", "en": "in"}


@dataclass(frozen=True)
class Answer:
    text: str


@dataclass(frozen=True)
class LookUp:
    """Translates word by word; the folder's name says its source language."""

    name: str
    src_lang: str = "es"
    tgt_lang: str = "en"
    device: str = "cpu"

    def translate(self, texts: Sequence[str], decode: DecodeConfig) -> list[Answer]:
        assert all("\n" not in text for text in texts)
        gap = " " * decode.beam_size
        return [Answer(gap.join(WORDS.get(w, w) for w in t.split()) + "\n") for t in texts]

    @classmethod
    def load(cls, folder: str | Path, device: str, compute_type: str, guard: bool) -> "LookUp":
        name = Path(folder).name
        return cls(name, "en", "es") if name == "reverse" else cls(name, device=device)

    @property
    def available(self) -> tuple[Direction, ...]:
        return ((self.src_lang, self.tgt_lang),)

    def translator(self, langs: Direction) -> "LookUp":
        assert langs in self.available
        return self


@pytest.fixture(autouse=True)
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test sets in the working folder, and look-up models instead of real ones."""
    rows = [json.dumps({"translation": {"es": es, "en": en}}) + "\n" for es, en in PAIRS]
    for name in ("news", "a", "b", "other"):
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "empty.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluation, "load", LookUp.load)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # pages without pictures are quick


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "best"
    folder.mkdir(parents=True)
    config = {**describe_directions([("es", "en")]), "model": asdict(ModelConfig())}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_checksums(folder)
    return folder


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A file of translations."""
    path = tmp_path / "old.txt"
    path.write_text("the cat\nhouse\r\nwhere is cat?\n\nblack cat sees\n", encoding="utf-8")
    return path


def request(model: Path, **changes: object) -> EvaluationRequest:
    values = {"model": str(model), "tests": ("news.jsonl",), "n_bootstrap": 30} | changes
    return EvaluationRequest(**values)  # type: ignore[arg-type]


def test_a_model_is_translated_scored_and_written(model: Path) -> None:
    report, folder = evaluate(request(model))
    assert folder == model / "evaluation" / "news"
    names = {"report.json", "report.html", "news.src", "news.ref", "news.hyp"}
    assert {path.name for path in folder.iterdir()} == names
    written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert written["sets"][0]["scores"][0]["value"] == report.sets[0].scores[0].value
    assert (report.model, report.src_lang, report.tgt_lang) == ("best", "es", "en")


def test_a_released_model_stays_as_it_was_released(model: Path) -> None:
    (model / "selftest.json").touch()
    assert evaluate(request(model))[1] == Path("evaluation/news")
    assert not (model / "evaluation").exists()


def test_every_file_has_a_line_for_each_pair(model: Path) -> None:
    _, folder = evaluate(request(model))
    for name in ("news.src", "news.ref", "news.hyp"):
        text = (folder / name).read_bytes().decode("utf-8")
        assert text.count("\n") == len(PAIRS)
        assert len(text.splitlines()) == len(PAIRS)
    assert "la casa es grande\n" in (folder / "news.src").read_text(encoding="utf-8")


def test_the_printed_commands_give_the_printed_scores(model: Path, lines: Path) -> None:
    report, folder = evaluate(request(model, compare=str(lines), n_bootstrap=1000))
    found = report.sets[0]
    for command in found.commands:
        arguments = [sys.executable, "-m", *command.split(), "--quiet", "--no-color"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, check=True)
        printed = done.stdout.decode("utf-8")
        assert all(f"{score.value:.2f}" in printed for score in found.scores)
    assert found.comparison is not None
    assert all(f"p = {d.p_value:.4f}" in printed for d in found.comparison.differences)


def test_speed_is_measured(model: Path) -> None:
    speed = evaluate(request(model))[0].sets[0].speed
    assert speed is not None
    assert speed.sentences_per_second == pytest.approx(len(PAIRS) / speed.seconds)
    words = sum(len(src.split()) for src, _ in PAIRS)
    assert speed.source_words_per_second == pytest.approx(words / speed.seconds)


def test_decoding_settings_reach_the_translator_and_the_report(model: Path) -> None:
    report, folder = evaluate(request(model, decode=DecodeConfig(beam_size=3)))
    assert "the   cat" in (folder / "news.hyp").read_text(encoding="utf-8")
    assert report.decode == DecodeConfig(beam_size=3)


def test_a_file_of_translations_is_scored(lines: Path) -> None:
    report, folder = evaluate(request(lines, src_lang="es", tgt_lang="en"))
    assert folder == lines.parent / "evaluation" / "news"
    assert (report.decode, report.sets[0].speed) == (None, None)
    hypotheses = (folder / "news.hyp").read_text(encoding="utf-8")
    assert hypotheses == lines.read_text(encoding="utf-8")
    assert report.sets[0].faults["empty"] == 1


def test_words_that_no_training_text_has_are_counted_as_invented(
    lines: Path, tmp_path: Path
) -> None:
    lines.write_text("the mattante\nPratting house\nwhere is dog?\n\nblack gato\n", "utf-8")
    training = "es\ten\nel gato\tThe house where is Black\n"
    (tmp_path / "training.tsv").write_text(training, encoding="utf-8")
    asked = request(lines, src_lang="es", tgt_lang="en", known=("training.tsv",))
    report, folder = evaluate(asked)
    assert report.sets[0].invented == 1000 * 2 / 9  # mattante and dog; Pratting may be a name
    assert "news: 222.2 of 1,000 words are invented" in summary_table(report)
    assert "invented words in 1,000" in (folder / "report.html").read_text(encoding="utf-8")
    report, folder = evaluate(request(lines, src_lang="es", tgt_lang="en"))
    assert report.sets[0].invented is None
    assert "invented" not in (folder / "report.html").read_text(encoding="utf-8")


def test_a_file_takes_its_languages_from_the_checkpoint_beside_it(model: Path, lines: Path) -> None:
    report, _ = evaluate(request(lines, compare=str(model)))
    assert (report.src_lang, report.tgt_lang) == ("es", "en")
    assert report.sets[0].comparison is not None
    assert report.sets[0].comparison.baseline == "best"


def test_two_checkpoints_are_compared(model: Path) -> None:
    other = model.parent / "other"
    other.mkdir()
    report, folder = evaluate(request(model, compare=str(other)))
    comparison = report.sets[0].comparison
    assert comparison is not None
    assert [d.p_value for d in comparison.differences] == [1, 1, 1]
    assert (folder / "news.baseline").read_bytes() == (folder / "news.hyp").read_bytes()


def test_an_earlier_report_can_be_compared_with(model: Path, tmp_path: Path) -> None:
    _, earlier = evaluate(request(model))
    report, _ = evaluate(request(model, compare=str(earlier), output=str(tmp_path / "new")))
    assert report.sets[0].comparison is not None
    assert (report.sets[0].comparison.better, report.sets[0].comparison.worse) == (0, 0)


def test_several_sets_share_a_report(model: Path, tmp_path: Path) -> None:
    report, folder = evaluate(
        request(model, tests=("a.jsonl", "b.jsonl"), output=str(tmp_path / "x"))
    )
    assert [found.name for found in report.sets] == ["a", "b"]
    assert (folder / "b.hyp").is_file()


def test_the_page_gets_the_records_of_the_run(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"event": "validation", "step": 5, "loss": 2.5, "bleu": 1.5}
    half = '{"event": "tr'
    (model.parent / "metrics.jsonl").write_text(f"{json.dumps(record)}\n{half}", encoding="utf-8")
    monkeypatch.setattr(evaluation, "to_html", lambda report, metrics: json.dumps(metrics))
    _, folder = evaluate(request(model))
    assert json.loads((folder / "report.html").read_text(encoding="utf-8")) == [record]


def test_a_limit_takes_the_first_lines(model: Path, lines: Path) -> None:
    report, folder = evaluate(request(model, limit=2, compare=str(lines)))
    assert report.sets[0].sentences == 2
    assert (folder / "news.baseline").read_text(encoding="utf-8") == "the cat\nhouse\n"
    with pytest.raises(UserError, match="--limit of at least 1; got 0"):
        evaluate(request(model, limit=0))


def test_the_machine_is_described_and_git_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = machine("cpu")
    assert (found["device"], found["commit"]) == ("cpu", None)
    assert found["threads"] >= 1
    assert machine()["device"] == "none"


def test_names_come_from_the_paths() -> None:
    specs = ("d/news.es,d/news.en", "x/tatoeba dev.jsonl.gz", "hub:some/set:en-es:test")
    assert set_names(specs) == ("news", "tatoeba-dev", "some-set-en-es-test")
    assert set_names(specs[:1], ["2013"]) == ("2013",)
    assert set_names(["x/a.tsv", "b.tsv", "a.tmx"]) == ("a", "b", "a-2")


def test_names_must_differ_and_be_one_a_set() -> None:
    with pytest.raises(UserError, match="different names for the test sets; got a, a: give --name"):
        set_names(["x.tsv", "y.tsv"], ["a", "a"])
    with pytest.raises(UserError, match="a --name for each of 2 test sets; got 1"):
        set_names(["a", "b"], ["c"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ntwo\n", r"each of 5 lines of the test set; .*old.txt has 2 lines"),
        (b"\xff\xfe\x00", r"translations in UTF-8.*give the folder"),
    ],
)
def test_a_file_without_a_translation_of_each_line_is_refused(
    lines: Path, content: bytes, message: str
) -> None:
    lines.write_bytes(content)
    with pytest.raises(UserError, match=message):
        evaluate(request(lines, src_lang="es", tgt_lang="en"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "nothing"}, r"checkpoint folder or a text file .* does not exist"),
        ({"tests": ("gone.jsonl",)}, r"gone\.jsonl"),
        ({"tests": ("empty.jsonl",)}, r"the test set empty\.jsonl is empty"),
        ({"tests": ("other.jsonl",), "compare": "run/best/evaluation/news"},
         r"a file of translations; .*other.hyp does not exist"),
        ({"output": "old.txt"}, "cannot make the folder"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("lines")
def test_what_is_not_there_is_refused(model: Path, changes: dict[str, Any], message: str) -> None:
    evaluate(request(model))
    with pytest.raises(UserError, match=message):
        evaluate(replace(request(model), **changes))


def test_languages_must_be_known_and_agree(model: Path, lines: Path) -> None:
    with pytest.raises(UserError, match="give both --from and --to"):
        evaluate(request(lines))
    with pytest.raises(UserError, match="both --from and --to, or neither; got es"):
        evaluate(request(lines, src_lang="es"))
    with pytest.raises(UserError, match=r"one direction .* got en to es and es to en"):
        evaluate(request(model, src_lang="en", tgt_lang="es"))
    reverse = model.parent / "reverse"
    reverse.mkdir()
    with pytest.raises(UserError, match="one direction of translation"):
        evaluate(request(model, compare=str(reverse)))


def test_the_script_prints_a_table_and_where_the_report_is(
    model: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--model", str(model), "--test", "news.jsonl", "--compare", str(lines)]
    assert script.main([*arguments, "--beam-size", "2", "--name", "n"]) == 0
    out = capsys.readouterr().out
    assert "BLEU" in out
    assert str(model / "evaluation" / "n" / "report.html") in out


def test_the_script_says_what_to_mend_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--model", str(tmp_path / "no"), "--test", "news.jsonl"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert script.main(["--model", str(tmp_path), "--test", "x", "--beam-size", "0"]) == 2
    assert "beam_size >= 1" in capsys.readouterr().err
