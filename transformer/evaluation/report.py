"""An evaluation and where it ran: as JSON, as one HTML page that loads nothing, as a table."""

import contextlib
import dataclasses
import json
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import Any

import torch

from transformer import plots
from transformer.config import DecodeConfig, UserError
from transformer.evaluation.analysis import RATIO_EDGES, Comparison, SentenceResult, SetReport
from transformer.evaluation.metrics import Score

FORMAT = 1  # of report.json
SIGNIFICANT = 0.05
MARKED = ("output", "baseline")  # texts that are compared with the reference
NUMBER = ' class="number"'
STYLE = """
:root { color-scheme: light dark; --line: #ccc; --soft: #f4f4f2; --dim: #666; --mark: #fbe3b0;
  --link: #2453c4; --paper: #fff; --ink: #1a1d24; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --soft: #242424; --dim: #a0a0a0; --mark: #6b4d0d;
    --link: #93b4ff; --paper: #1a1d23; --ink: #e8ebf1; }
}
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h2 { border-top: 2px solid var(--line); margin-top: 3rem; padding-top: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.8rem 0.25rem 0;
  text-align: left; vertical-align: top; }
td.number, th.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
pre { background: var(--soft); overflow-x: auto; padding: 0.5rem 0.8rem; }
small, .note { color: var(--dim); }
.all { width: 100%; }
.all td:last-child { width: 100%; }
.texts { display: grid; gap: 0 0.8rem; grid-template-columns: max-content 1fr; }
.texts small { line-height: 1.9; }
mark { background: var(--mark); border-radius: 3px; color: inherit; padding: 0 0.15em; }
nav p { margin: 0.2rem 0; }
a { color: var(--link); }
figure { margin: 1rem 0; }
svg { height: auto; max-width: 100%; }
"""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Where and when an evaluation ran; `commit` is that of this software, where it is known."""

    date: str
    device: str
    processor: str
    threads: int
    torch: str
    python: str
    commit: str | None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """One system on all its test sets; no decoding settings where a file was scored."""

    format: int = FORMAT
    model: str
    path: str
    src_lang: str
    tgt_lang: str
    decode: DecodeConfig | None
    machine: Machine
    sets: tuple[SetReport, ...]
    guard: bool = False  # whether faulty translations were tried again


def machine(device: str = "none") -> Machine:
    """Where this process runs, and by which version of this software."""
    return Machine(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        processor=_processor(device),
        threads=torch.get_num_threads(),
        torch=torch.__version__,
        python=platform.python_version(),
        commit=_commit(),
    )


def _processor(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    facts = Path("/proc/cpuinfo")  # only Linux has it
    text = facts.read_text(encoding="utf-8") if facts.is_file() else ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return named[1] if named else platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the repository that tracks this file; None where there is none."""
    here = Path(__file__)
    told = b""
    for command in (f"git ls-files --error-unmatch {here.name}", "git describe --always --dirty"):
        try:
            told = subprocess.check_output(
                command.split(), cwd=here.parent, stderr=subprocess.DEVNULL
            )
        except (OSError, subprocess.CalledProcessError):
            return None
    return told.decode().strip()


def to_json(report: Report) -> str:
    """The whole report; its keys are the names of the fields."""
    values = dataclasses.asdict(report)
    return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def summary_table(report: Report) -> str:
    """A few lines for a terminal: a line for each set, then one for each metric compared."""
    rows = [("test set", "lines", *_metric_names(report), "sentences/s")]
    for test_set in report.sets:
        speed = f"{test_set.speed.sentences_per_second:.1f}" if test_set.speed else "-"
        values = map(_interval, test_set.scores)
        rows.append((test_set.name, str(test_set.sentences), *values, speed))
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], widths)]) for row in rows]
    for test_set in report.sets:
        if test_set.invented is not None:
            lines.append(f"{test_set.name}: {test_set.invented:.1f} of 1,000 words are invented")
        if test_set.comparison:
            lines.append(f"{test_set.name}, compared with {test_set.comparison.baseline}:")
            lines += ["  " + "  ".join(row) for row in _difference_rows(test_set.comparison)]
    return "\n".join(lines)


def to_html(report: Report, metrics: Sequence[Mapping[str, Any]] = ()) -> str:
    """The report as a page; `metrics`, the records of a training run, become its curves.

    Without the extra `plots` it is the same page without pictures, and says so.
    """
    try:
        pictures, note = _pictures(report, metrics), ""
    except UserError as error:
        pictures, note = {}, f'<p class="note">No pictures: {escape(str(error))}.</p>'
    title = f"{report.model}, {report.src_lang} to {report.tgt_lang}"
    overview = [
        (test_set.name, test_set.sentences, *map(_interval, test_set.scores))
        for test_set in report.sets
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            _table(("test set", "lines", *_metric_names(report)), overview),
            '<p class="note">In brackets the 95 % bootstrap interval. BLEU and chrF2: more is '
            "better; TER: less is better.</p>",
            note,
            _contents(report),
            *(_set(one, report, pictures, place) for place, one in enumerate(report.sets, 1)),
            f"<h2>Training</h2>\n{pictures['curves']}" if "curves" in pictures else "",
            "<h2>How it was made</h2>",
            _table(("", ""), _facts(report)),
            "</body></html>\n",
        ]
    )


def _pictures(report: Report, metrics: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    pictures = {}
    for test_set in report.sets:
        full = [bucket for bucket in test_set.buckets if bucket.scores]
        by_metric = list(zip(*(bucket.scores for bucket in full), strict=True))
        pictures[f"buckets {test_set.name}"] = plots.bars(
            [f"{bucket.words}\n({bucket.sentences})" for bucket in full],
            {scores[0].metric: [score.value for score in scores] for scores in by_metric},
            {scores[0].metric: [(s.low, s.high) for s in scores] for scores in by_metric},
            title="Score by length",
            x_label="words of the source (sentences)",
        )
        pictures[f"lengths {test_set.name}"] = plots.histogram(
            RATIO_EDGES,
            test_set.length_ratios,
            title="Length",
            x_label="words of the output over words of the reference",
        )
    with contextlib.suppress(ValueError):  # no numbers
        pictures["curves"] = plots.curves(metrics)
    return pictures


def _set(test_set: SetReport, report: Report, pictures: Mapping[str, str], place: int) -> str:
    score_rows = [(s.metric, _interval(s), s.signature) for s in test_set.scores]
    bucket_rows = [
        (bucket.words, bucket.sentences, *(map(_interval, bucket.scores) or ("", "")))
        for bucket in test_set.buckets
    ]
    faults = test_set.faults
    numbers = {
        "sentences": f"{test_set.sentences}",
        "words of the source": f"{test_set.source_words}",
        "length, output over reference": f"{test_set.length_ratio:.3f}",
        "empty outputs": f"{faults.empty}",
        "outputs that copy their source": f"{faults.copies}",
        "outputs that repeat themselves": f"{faults.repetitions}",
    }
    if test_set.invented is not None:
        numbers["invented words in 1,000"] = f"{test_set.invented:.1f}"
    if speed := test_set.speed:
        numbers["seconds"] = f"{speed.seconds:.1f}"
        numbers["sentences per second"] = f"{speed.sentences_per_second:.1f}"
        numbers["source words per second"] = f"{speed.source_words_per_second:.0f}"
    return "\n".join(
        [
            f'<h2 id="set-{place}">{escape(test_set.name)}</h2>',
            _table(("metric", "score", "signature"), score_rows),
            "<p>The same numbers, typed in the folder of this page:</p>",
            f"<pre>{escape(chr(10).join(test_set.commands))}</pre>",
            _table(("", ""), numbers.items()),
            *(
                f'<p><a href="#{anchor}">{title}</a></p>'
                for anchor, title, _ in _examples(test_set, place)[2:]
            ),
            f'<div id="set-{place}-compared">' + _compared(test_set.comparison, report) + "</div>",
            "<h3>By length of the source</h3>",
            _table(("words", "sentences", "BLEU", "chrF2"), bucket_rows),
            pictures.get(f"buckets {test_set.name}", ""),
            pictures.get(f"lengths {test_set.name}", ""),
            '<p class="note">Below, words of an output that are not so in its reference are '
            "marked.</p>",
            *(
                f'<h3 id="{anchor}">{title}</h3>{_sentences(sentences, report)}'
                for anchor, title, sentences in _examples(test_set, place)
            ),
        ]
    )


def _examples(test_set: SetReport, place: int) -> list[tuple[str, str, tuple[SentenceResult, ...]]]:
    """The lists of sentences of a set: where each is on the page, its title, the sentences."""
    lists = [
        ("random", f"{len(test_set.sampled)} sentences drawn at random", test_set.sampled),
        ("worst", f"The {len(test_set.worst)} worst sentences by chrF2", test_set.worst),
    ]
    for code, sentences in test_set.faulty.items():
        lists.append((code.replace(" ", "-"), f"Outputs with the fault: {code}", sentences))
    return [(f"set-{place}-{name}", title, sentences) for name, title, sentences in lists]


def _contents(report: Report) -> str:
    """Links to the parts of the page."""
    rows = []
    for place, test_set in enumerate(report.sets, 1):
        links = [(f"set-{place}", test_set.name)]
        if test_set.comparison:
            links.append((f"set-{place}-compared", "compared"))
        links += [(anchor, title) for anchor, title, _ in _examples(test_set, place)]
        rows.append(" · ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in links))
    return f"<nav>{''.join(f'<p>{row}</p>' for row in rows)}</nav>"


def _marked(text: str, reference: str) -> str:
    """A text, escaped, the words that are not so in the reference marked."""
    words, right = text.split(" "), reference.split(" ")
    parts = []
    for kind, start, stop, *_ in SequenceMatcher(None, words, right, False).get_opcodes():
        if start < stop:
            part = escape(" ".join(words[start:stop]))
            parts.append(part if kind == "equal" else f"<mark>{part}</mark>")
    return " ".join(parts)


def _compared(comparison: Comparison | None, report: Report) -> str:
    if comparison is None:
        return ""
    heads = ("metric", "this system", "baseline", "difference", "p", "")
    parts = [
        f"<h3>Compared with {escape(comparison.baseline)}</h3>",
        _table(heads, _difference_rows(comparison)),
        f"<p>By sentence chrF2, {comparison.better} sentences are better and {comparison.worse} "
        f"are worse. p: paired bootstrap test; below {SIGNIFICANT} is taken for a difference.</p>",
    ]
    for title, sentences in (("gained", comparison.gains), ("lost", comparison.losses)):
        if sentences:
            parts += [f"<h4>Sentences that {title} most</h4>", _sentences(sentences, report)]
    return "\n".join(parts)


def _sentences(sentences: Iterable[SentenceResult], report: Report) -> str:
    """A row of facts a line; the texts below each other, marked with their language."""
    rows = []
    for s in sentences:
        texts = [("source", s.source, report.src_lang), ("output", s.hypothesis, report.tgt_lang)]
        if s.baseline is not None:
            texts.append(("baseline", s.baseline, report.tgt_lang))
        texts.append(("reference", s.reference, report.tgt_lang))
        lines = "".join(
            f'<small>{name}</small><span lang="{escape(lang)}">'
            f"{_marked(text, s.reference) if name in MARKED else escape(text)}</span>"
            for name, text, lang in texts
        )
        gain = f"<br>({s.gain:+.1f})" if s.gain is not None else ""
        rows.append(
            f"<tr><td{NUMBER}>{s.line}</td><td{NUMBER}>{s.chrf:.1f}{gain}</td>"
            f'<td><div class="texts">{lines}</div></td></tr>'
        )
    head = f"<tr><th{NUMBER}>line</th><th{NUMBER}>chrF2</th><th></th></tr>"
    return f'<div class="wide"><table class="all">{head}{"".join(rows)}</table></div>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of plain text; every cell is escaped here, integers stand to the right."""
    titles = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = [f"<tr>{titles}</tr>"] * any(heads)
    for row in rows:
        cells = "".join(
            f"<td{' class=number' if isinstance(cell, int) else ''}>{escape(str(cell))}</td>"
            for cell in row
        )
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _facts(report: Report) -> list[tuple[str, str]]:
    facts = [("model", report.path)]
    if report.decode:
        decode = dataclasses.asdict(report.decode).items()
        facts.append(("decoding", ", ".join(f"{name} {value}" for name, value in decode)))
        facts.append(("guard", "on" if report.guard else "off"))
    facts += [(test_set.name, test_set.spec) for test_set in report.sets]
    machine = dataclasses.asdict(report.machine)
    return facts + [(name, str(value)) for name, value in machine.items() if value is not None]


def _difference_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    return [
        (
            d.metric,
            f"{d.system:.2f}",
            f"{d.baseline:.2f}",
            f"{d.system - d.baseline:+.2f}",
            f"p = {d.p_value:.3f}",
            "significant" if d.p_value < SIGNIFICANT else "not significant",
        )
        for d in comparison.differences
    ]


def _metric_names(report: Report) -> list[str]:
    return [score.metric for score in report.sets[0].scores]


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]"
