"""The README tells the truth: its commands exist and print what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPTS = ("train", "phrases", "rare", "swap", "diversify", "evaluate", "export")


def commands() -> list[tuple[str, list[str]]]:
    """Each `$ command` of a console block, continuation lines joined, with its printed lines."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip():
                found[-1][1].append(line)
    return found


ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
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
    if lines and re.search(r"\btranslate( |$)", c) and "--serve" not in c
]


@pytest.mark.parametrize(("command", "lines"), SHOWN)
def test_translations_are_as_shown(command: str, lines: list[str]) -> None:
    done = run(command)
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr


def test_the_readme_shows_some_translations() -> None:
    assert len(SHOWN) >= 3


def test_the_server_says_its_address_as_shown() -> None:
    ((command, lines),) = [(c, lines) for c, lines in commands() if "--serve" in c and lines]
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
        started.terminate()
    assert [re.sub(r":\d+/$", ":5000/", line.strip())] == lines


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_option_that_is_mentioned_exists(script: str) -> None:
    help_text = run(f"python scripts/{script}.py --help").stdout
    given = [c for c, _ in commands() if f"scripts/{script}.py" in c]
    assert given
    for command in given:
        options = re.findall(r"(?<= )--[\w-]+", command.partition(f"{script}.py")[2])
        assert [o for o in options if o not in help_text] == []


def test_options_in_the_text_exist() -> None:
    known = "".join(run(f"python scripts/{name}.py --help").stdout for name in SCRIPTS)
    known += run("python scripts/benchmark.py --what training --help").stdout
    known += run("translate --help").stdout + "--num_processes --cpu"
    assert [o for o in re.findall(r"`(--[\w-]+)", README) if o not in known] == []


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(example, encoding="utf-8")
    done = run(f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_files_that_are_named_exist() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_tree_is_the_folder() -> None:
    tree = re.search(r"```\n(transformer/ .*?)```", README, re.DOTALL)
    assert tree is not None
    named = {line.split()[0].rstrip("/") for line in tree[1].splitlines()}
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    assert named == {name for name in there if not name.endswith(".egg-info")}


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    first = [c for c, _ in commands() if c.startswith("pip install")]
    assert len(first) >= 2
    assert all(command in ci for command in first[:2])
