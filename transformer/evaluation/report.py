"""Reports of an evaluation: JSON, an HTML page that loads nothing, a summary for a terminal."""

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
class Report:
    """One system on all its test sets; `decode` is None where a file was scored.

    `model` is the name of a checkpoint or file, `path` its place, `format` the version of a report,
    `machine` what the function of this name returned.
    """

    format: int = FORMAT
    model: str
    path: str
    src_lang: str
    tgt_lang: str
    decode: DecodeConfig | None
    machine: Mapping[str, Any]
    sets: tuple[SetReport, ...]
    guard: bool = False  # whether faulty translations were tried again


def machine(device: str = "none") -> dict[str, Any]:
    """Describe this machine, the `device` used, and the `commit` of this software or None."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": device,
        "processor": _processor(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _processor(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    cpuinfo = Path("/proc/cpuinfo")  # only Linux has it
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""
    name = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return name[1] if name else platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit of the repository that tracks this file; None if there is none."""
    here = Path(__file__)

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.check_output(
            command, cwd=here.parent, stderr=subprocess.DEVNULL, text=True
        ).strip()

    try:
        git("ls-files", "--error-unmatch", here.name)  # else the repository is another project's
        return git("describe", "--always", "--dirty")
    except (OSError, subprocess.CalledProcessError):
        return None


def to_json(report: Report) -> str:
    """Return the whole report as JSON; its keys are the names of the fields."""
    values = dataclasses.asdict(report)
    return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def summary_table(report: Report) -> str:
    """Return lines for a terminal: the scores of each set, then each metric of a comparison."""
    rows = [("test set", "lines", *_metric_names(report), "sentences/s")]
    for test_set in report.sets:
        speed = f"{test_set.speed.sentences_per_second:.1f}" if test_set.speed else "-"
        rows.append((*map(str, _score_row(test_set)), speed))
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
    """Return the report as a page; `metrics`, as of `read_metrics`, become curves of the training.

    Without the extra `plots` it is the same page without plots, and says so.
    """
    try:
        figures, note = _plots(report, metrics), ""
    except UserError as error:
        figures, note = {}, f'<p class="note">No pictures: {escape(str(error))}.</p>'
    title = escape(f"{report.model}, {report.src_lang} to {report.tgt_lang}")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            _table(("test set", "lines", *_metric_names(report)), map(_score_row, report.sets)),
            '<p class="note">In brackets the 95 % bootstrap interval. BLEU and chrF2: more is '
            "better; TER: less is better.</p>",
            note,
            _navigation(report),
            *(_set_section(one, report, figures, n) for n, one in enumerate(report.sets, 1)),
            f"<h2>Training</h2>\n{figures['curves']}" if "curves" in figures else "",
            "<h2>How it was made</h2>",
            _table(("", ""), _metadata_rows(report)),
            "</body></html>\n",
        ]
    )


def _plots(report: Report, metrics: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return SVGs by name: "buckets SET" and "lengths SET" of each set, "curves" of metrics.

    Metrics without numbers have no curves. UserError without the extra `plots`.
    """
    figures = {}
    for test_set in report.sets:
        filled = [bucket for bucket in test_set.buckets if bucket.scores]
        by_metric = list(zip(*(bucket.scores for bucket in filled), strict=True))
        figures[f"buckets {test_set.name}"] = plots.bars(
            [f"{bucket.words}\n({bucket.sentences})" for bucket in filled],
            {scores[0].metric: [score.value for score in scores] for scores in by_metric},
            {scores[0].metric: [(s.low, s.high) for s in scores] for scores in by_metric},
            title="Score by length",
            x_label="words of the source (sentences)",
        )
        figures[f"lengths {test_set.name}"] = plots.histogram(
            RATIO_EDGES,
            test_set.length_ratios,
            title="Length",
            x_label="words of the output over words of the reference",
        )
    with contextlib.suppress(ValueError):  # no numbers
        figures["curves"] = plots.curves(metrics)
    return figures


def _set_section(test_set: SetReport, report: Report, figures: Mapping[str, str], n: int) -> str:
    """Return the HTML about the `n`th test set, from 1; `figures` are from `_plots`, or empty."""
    score_rows = [(s.metric, _interval(s), s.signature) for s in test_set.scores]
    bucket_rows = [
        (bucket.words, bucket.sentences, *(map(_interval, bucket.scores) or ("", "")))
        for bucket in test_set.buckets
    ]
    examples = _example_lists(test_set, n)
    fault_links = [f'<p><a href="#{anchor}">{title}</a></p>' for anchor, title, _ in examples[2:]]
    comparison = _comparison(test_set.comparison, report) if test_set.comparison else ""
    return "\n".join(
        [
            f'<h2 id="set-{n}">{escape(test_set.name)}</h2>',
            _table(("metric", "score", "signature"), score_rows),
            "<p>The same numbers, typed in the folder of this page:</p>",
            f"<pre>{escape(chr(10).join(test_set.commands))}</pre>",
            _table(("", ""), _count_rows(test_set)),
            *fault_links,
            f'<div id="set-{n}-compared">{comparison}</div>',
            "<h3>By length of the source</h3>",
            _table(("words", "sentences", "BLEU", "chrF2"), bucket_rows),
            figures.get(f"buckets {test_set.name}", ""),
            figures.get(f"lengths {test_set.name}", ""),
            '<p class="note">Below, words of an output that are not so in its reference are '
            "marked.</p>",
            *(
                f'<h3 id="{anchor}">{title}</h3>{_sentence_table(sentences, report)}'
                for anchor, title, sentences in examples
            ),
        ]
    )


def _count_rows(test_set: SetReport) -> list[tuple[str, str]]:
    rows = [
        ("sentences", f"{test_set.sentences}"),
        ("words of the source", f"{test_set.source_words}"),
        ("length, output over reference", f"{test_set.length_ratio:.3f}"),
        ("empty outputs", f"{test_set.faults['empty']}"),
        ("outputs that copy their source", f"{test_set.faults['copies']}"),
        ("outputs that repeat themselves", f"{test_set.faults['repetitions']}"),
    ]
    if test_set.invented is not None:
        rows.append(("invented words in 1,000", f"{test_set.invented:.1f}"))
    if speed := test_set.speed:
        rows.append(("seconds", f"{speed.seconds:.1f}"))
        rows.append(("sentences per second", f"{speed.sentences_per_second:.1f}"))
        rows.append(("source words per second", f"{speed.source_words_per_second:.0f}"))
    return rows


def _example_lists(
    test_set: SetReport, n: int
) -> list[tuple[str, str, tuple[SentenceResult, ...]]]:
    """Return the lists of example sentences of the `n`th set: anchor, title, sentences."""
    lists = [
        ("random", f"{len(test_set.sampled)} sentences drawn at random", test_set.sampled),
        ("worst", f"The {len(test_set.worst)} worst sentences by chrF2", test_set.worst),
    ]
    for code, sentences in test_set.faulty.items():
        lists.append((code.replace(" ", "-"), f"Outputs with the fault: {code}", sentences))
    return [(f"set-{n}-{name}", title, sentences) for name, title, sentences in lists]


def _navigation(report: Report) -> str:
    """Return links to the sections of the page."""
    rows = []
    for n, test_set in enumerate(report.sets, 1):
        links = [(f"set-{n}", test_set.name)]
        if test_set.comparison:
            links.append((f"set-{n}-compared", "compared"))
        links += [(anchor, title) for anchor, title, _ in _example_lists(test_set, n)]
        rows.append(" · ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in links))
    return f"<nav>{''.join(f'<p>{row}</p>' for row in rows)}</nav>"


def _highlight_differences(text: str, reference: str) -> str:
    """Return a text as HTML, with <mark> around the words that differ from the reference."""
    words, right = text.split(" "), reference.split(" ")
    parts = []
    for kind, start, stop, *_ in SequenceMatcher(None, words, right, False).get_opcodes():
        if start < stop:
            part = escape(" ".join(words[start:stop]))
            parts.append(part if kind == "equal" else f"<mark>{part}</mark>")
    return " ".join(parts)


def _comparison(comparison: Comparison, report: Report) -> str:
    columns = ("metric", "this system", "baseline", "difference", "p", "")
    parts = [
        f"<h3>Compared with {escape(comparison.baseline)}</h3>",
        _table(columns, _difference_rows(comparison)),
        f"<p>By sentence chrF2, {comparison.better} sentences are better and {comparison.worse} "
        f"are worse. p: paired bootstrap test; below {SIGNIFICANT} is taken for a difference.</p>",
    ]
    for title, sentences in (("gained", comparison.gains), ("lost", comparison.losses)):
        if sentences:
            parts += [f"<h4>Sentences that {title} most</h4>", _sentence_table(sentences, report)]
    return "\n".join(parts)


def _sentence_table(sentences: Iterable[SentenceResult], report: Report) -> str:
    """Return an HTML table: a row for each sentence, with its line number, chrF2 and texts.

    The texts are source, output, baseline (if any) and reference, below each other; words of output
    and baseline that differ from the reference are marked. `report` tells their languages.
    """
    number = ' class="number"'
    rows = []
    for s in sentences:
        texts = [
            ("source", report.src_lang, escape(s.source)),
            ("output", report.tgt_lang, _highlight_differences(s.hypothesis, s.reference)),
            ("reference", report.tgt_lang, escape(s.reference)),
        ]
        if s.baseline is not None:
            html = _highlight_differences(s.baseline, s.reference)
            texts.insert(2, ("baseline", report.tgt_lang, html))
        lines = "".join(
            f'<small>{name}</small><span lang="{escape(lang)}">{html}</span>'
            for name, lang, html in texts
        )
        gain = f"<br>({s.gain:+.1f})" if s.gain is not None else ""
        rows.append(
            f"<tr><td{number}>{s.line}</td><td{number}>{s.chrf:.1f}{gain}</td>"
            f'<td><div class="texts">{lines}</div></td></tr>'
        )
    head = f"<tr><th{number}>line</th><th{number}>chrF2</th><th></th></tr>"
    return f'<div class="wide"><table class="all">{head}{"".join(rows)}</table></div>'


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table with a head row, which is left out if all `columns` are "".

    Cells are plain text or numbers, escaped here; integers are aligned right.
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = [f"<tr>{head}</tr>"] * any(columns)
    for row in rows:
        cells = "".join(
            f"<td{' class=number' if isinstance(cell, int) else ''}>{escape(str(cell))}</td>"
            for cell in row
        )
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _metadata_rows(report: Report) -> list[tuple[str, str]]:
    rows = [("model", report.path)]
    if report.decode:
        decode = dataclasses.asdict(report.decode).items()
        rows.append(("decoding", ", ".join(f"{name} {value}" for name, value in decode)))
        rows.append(("guard", "on" if report.guard else "off"))
    rows += [(test_set.name, test_set.spec) for test_set in report.sets]
    machine = report.machine.items()
    return rows + [(name, str(value)) for name, value in machine if value is not None]


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


def _score_row(test_set: SetReport) -> tuple[str | int, ...]:
    return test_set.name, test_set.sentences, *map(_interval, test_set.scores)


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]"
