"""The READMEs tell the truth: commands exist and print what they say, links lead somewhere."""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.test_architecture import ORDER, top_level

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("checkpoints/both/*.md"))
}
README = DOCUMENTS["README.md"]
SCRIPT = re.compile(r"-m scripts[\w.]*|(?:scripts|data)/[\w/]+\.py")


def commands(text: str = README) -> list[tuple[str, list[str]]]:
    """Each `$ command` of a console block, continuation lines joined, with its printed lines.

    What only an earlier commit can do stands in a block without a language.
    """
    shown: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                shown.append((line[2:], []))
            elif line.strip():
                shown[-1][1].append(line)
    return shown


COMMANDS = sorted({command for text in DOCUMENTS.values() for command, _ in commands(text)})
SCRIPTS = sorted({script for command in COMMANDS for script in SCRIPT.findall(command)})
INSTALLED = tempfile.TemporaryDirectory()  # only the package, as after `pip install -e .`
Path(INSTALLED.name, "transformer").symlink_to(ROOT / "transformer")
ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": INSTALLED.name,
}


def typed(command: str) -> str:
    """A command as typed, with this interpreter's installation of the package."""
    module = f"{shlex.quote(sys.executable)} -m transformer"
    return re.sub(r"\btranslate(?= )", lambda _: module, command)


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; one that never ends is a fault."""
    return subprocess.run(
        ["bash", "-c", typed(command)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


SHOWN = [
    (c.rpartition("&& ")[2], lines)
    for c, lines in commands()
    if lines and re.search(r"^(?!curl).*\btranslate( |$)", c) and "translate serve" not in c
]


@pytest.mark.parametrize(("command", "lines"), SHOWN)
def test_translations_are_as_shown(command: str, lines: list[str]) -> None:
    done = run(command)
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr


def test_the_readme_shows_some_translations() -> None:
    assert len(SHOWN) >= 3


def test_the_server_says_its_address_and_answers_as_shown() -> None:
    ((command, lines),) = [
        (c, lines) for c, lines in commands() if "translate serve" in c and lines
    ]
    ((request, answer),) = [(c, lines) for c, lines in commands() if c.startswith("curl ")]
    fields = re.findall(r'-d (\w+)="?(.*?)"? (?=-d|http)', request)
    started = subprocess.Popen(
        ["bash", "-c", f"exec {typed(command)} --port 0"],
        cwd=ROOT,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stderr is not None
        line = started.stderr.readline()
        address = line.split()[-1]
        with urllib.request.urlopen(
            f"{address}translate", urllib.parse.urlencode(fields).encode(), timeout=60
        ) as reply:
            answered = reply.read().decode()
        started.terminate()
    assert [re.sub(r":\d+/$", ":5000/", line.strip())] == lines
    assert len(fields) == 3
    assert [answered] == answer


HELPS = """
import json, os, runpy, sys
import accelerate, datasets, sacrebleu, torch  # once for all, as they take seconds
texts = {}
for script in sys.argv[1:]:
    output, to_output = os.pipe()
    if not os.fork():
        os.dup2(to_output, 1)
        name = script.removeprefix("-m ")
        sys.argv, is_module = [name, "--help"], name != script
        sys.path[0] = os.getcwd() if is_module else os.path.dirname(name)
        try:
            (runpy.run_module if is_module else runpy.run_path)(name, run_name="__main__")
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(ended.code or 0)  # to take torch apart takes a second
    os.close(to_output)
    with open(output) as file:
        texts[script] = file.read()
    assert os.wait()[1] == 0, script
print(json.dumps(texts))
"""


@functools.cache
def help_texts() -> dict[str, str]:
    """What each script says of itself, each in a process of its own, and so the command."""
    scripts = run(f"python -c {shlex.quote(HELPS)} {shlex.join(SCRIPTS)}")
    assert scripts.returncode == 0, scripts.stderr
    said = [run(f"translate {command}--help").stdout for command in ("", "serve ")]
    return json.loads(scripts.stdout) | {"translate": "".join(said)}


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_option_that_is_mentioned_exists(script: str) -> None:
    known = set(re.findall(r"--[\w-]+", help_texts()[script]))
    for command in COMMANDS:
        _, named, options = command.partition(script)
        if named and not command.startswith("pip"):
            given = re.findall(r"(?<= )--[\w-]+", options.partition(" -- ")[0])
            assert set(given) <= known, command


@pytest.mark.parametrize(
    "name", ["README.md", "README.es.md", "scripts/README.md", "data/README.md"]
)
def test_options_in_the_text_exist(name: str) -> None:
    known = "".join(help_texts().values()) + "--num_processes --cpu --index-url"
    assert [o for o in re.findall(r"`(--[\w-]+)", DOCUMENTS[name]) if o not in known] == []


def test_every_script_has_an_example_in_its_readme() -> None:
    mains = [p for p in (ROOT / "scripts").rglob("*.py") if '"__main__":' in p.read_text("utf-8")]
    assert len(mains) > 10
    for path in mains:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        names = {str(path.relative_to(ROOT)), f"-m {module}"}
        example = [
            c for c, _ in commands(DOCUMENTS["scripts/README.md"]) if names & {*SCRIPT.findall(c)}
        ]
        assert example, path


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(example, encoding="utf-8")
    done = run(f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\((?!http|#)([^)#]+)", DOCUMENTS[name])
    assert [link for link in links if not (ROOT / name).parent.joinpath(link).exists()] == []


def test_the_tree_is_the_folder() -> None:
    tree = re.search(r"```\n(transformer/ .*?)```", README, re.DOTALL)
    assert tree is not None
    named = re.findall(r"^(\w+)/", tree[1], re.MULTILINE)
    assert set(named) == {name for name in top_level() if (ROOT / name).is_dir()}
    packages = re.findall(r"^  ((?:\w+ )+) ", tree[1], re.MULTILINE)
    assert tuple(" ".join(packages).split()) == ORDER


@pytest.mark.parametrize("name", ["README.md", "README.es.md"])
def test_the_readme_is_short(name: str) -> None:
    text = DOCUMENTS[name]
    assert len(text.splitlines()) <= 200
    assert len(text.split()) <= 2000
    assert not re.findall(
        r"commit|\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7}\b", re.sub(r"and\ncommit", "", text)
    )


def test_figures_of_others_are_the_published_ones() -> None:
    rows = (ROOT / "data" / "published.tsv").read_text(encoding="utf-8").splitlines()
    published = {tuple(row.split("\t")[:3]): row.split("\t")[3] for row in rows}
    head, *_ = re.findall(r"^\| test set \|.*$", README, re.MULTILINE)
    systems = [cell.strip() for cell in head.split("|")[7:-1]]
    shown = re.findall(
        r"^\| (newstest2013|Tatoeba) .*? (es-en|en-es) (.*)\|$", README, re.MULTILINE
    )
    assert (len(systems), len(shown)) == (2, 4)
    for test_set, direction, cells in shown:
        name = {"Tatoeba": "tatoeba-challenge-test"}.get(test_set, test_set)
        for system, cell in zip(systems, cells.split("|")[4:], strict=True):
            figure = published.get((direction, name, system), "")
            assert (cell.split() or [""])[0] == figure


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_git_ignores_what_the_commands_write_and_read_beside_the_code() -> None:
    options = r"(?:-[io]|--(?:attention|output|train|dev|test|fine-tune)) ([^\s-]\S*)"
    named = {path for command, _ in commands() for path in re.findall(options, command)}
    written = {path for path in named if not (ROOT / path).exists()} - {"checkpoints/both"}
    assert {"map.svg", "my.tsv", "translated/", "checkpoints/mine"} <= written
    paths = [*written, "evaluation/test/report.json"]  # of a released model
    done = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True)
    assert {*done.stdout.splitlines()} == {*paths}


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    first = [c for c, _ in commands() if c.startswith("pip install")]
    assert len(first) >= 2
    assert all(command in ci for command in first[:2])
