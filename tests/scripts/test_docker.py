"""The steps of the Dockerfile, in a virtual environment: a small server that has no PyTorch.

And the server with the libraries of the image alone, by hiding all others: without a network.
"""

import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import urllib.error
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.serving.server import ES_EN, ask
from transformer.decoding import native

BASE = 125_000_000  # bytes of python:3.11-slim, a figure that is not measured here
MOST = 400_000_000
MAPS = {"q": "Hola.", "attention": True, **ES_EN}


def copied(folder: Path) -> Path:
    """What the first stage of the Dockerfile copies, in a folder."""
    stage = (ROOT / "scripts/docker/Dockerfile").read_text().split("\nFROM")[1]
    for line in stage.splitlines():
        if line.startswith("COPY"):
            *names, target = line.split()[1:]
            for name in names:
                place = folder / target / (Path(name).name if target.endswith("/") else "")
                place.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).is_dir():
                    ignored = shutil.ignore_patterns("*.so", "__pycache__")
                    shutil.copytree(ROOT / name, place, ignore=ignored)
                else:
                    shutil.copy2(ROOT / name, place)
    return folder


HIDE = """
import sys

class Finder:
    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {names!r}:
            return self._finder.find_spec(name, path, target)

sys.meta_path[:] = map(Finder, sys.meta_path)
"""


def wanted_libraries() -> list[str]:
    """The requirements that the script of the image has installed."""
    script = (ROOT / "scripts/docker/install.sh").read_text()
    code = script.split("<<'PYTHON'\n")[1].split("\nPYTHON\n")[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1]


def hidden_modules(requirements: Sequence[str]) -> set[str]:
    """The modules installed here that none of the requirements brings with it."""
    normal = re.compile(r"[-_.]+")
    waiting, kept = [*requirements], {"transformer-es-en"}
    while waiting:
        line = waiting.pop()
        name = normal.sub("-", re.split(r"[^\w.-]", line, maxsplit=1)[0]).lower()
        if "extra ==" in line or name in kept:
            continue
        kept.add(name)
        try:
            waiting += importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # of another system or Python
            continue
    modules = importlib.metadata.packages_distributions()
    return {
        module
        for module, names in modules.items()
        if not {normal.sub("-", name).lower() for name in names} & kept
    }


def check_server(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    """A server started by a command translates texts and files, and has no attention maps."""
    docx = pytest.importorskip("docx", reason="needs python-docx")
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    serve, pipe = [*command, "serve", "--port", "0"], subprocess.PIPE
    with subprocess.Popen(serve, cwd=folder, env=environment, stderr=pipe, text=True) as started:
        try:
            assert started.stderr is not None
            line = started.stderr.readline()
            assert line.startswith("translate: http"), line
            url = line.split()[-1]
            answer = ask(f"{url}translate", q="¿Dónde está la biblioteca?", **ES_EN)
            assert answer["translatedText"] == "Where is the library?"
            assert ask(f"{url}inspect", q="Hola.", **ES_EN)["parts"][0]["alignment"]
            with pytest.raises(urllib.error.HTTPError, match="501"):
                ask(f"{url}inspect", **MAPS)
            letter, written = docx.Document(), io.BytesIO()
            paragraph = letter.add_paragraph("La casa es ")
            paragraph.add_run("roja").bold = True
            letter.save(written)
            upload = {"file": ("carta.docx", written.getvalue())}
            sent = httpx.post(f"{url}translate_file", data=ES_EN, files=upload, timeout=60).json()
            fetched = httpx.get(sent["translatedFileUrl"]).content
            runs = docx.Document(io.BytesIO(fetched)).paragraphs[0].runs
            assert [run.text for run in runs if run.bold] == ["red"]
        finally:
            started.kill()


@pytest.mark.skipif(native.load_library() is None, reason="the image has the native decoder")
def test_the_server_needs_no_library_that_the_image_does_not_have(tmp_path: Path) -> None:
    hidden = hidden_modules(wanted_libraries())
    assert {"torch", "datasets", "accelerate"} <= hidden
    assert not {"fastapi", "lxml", "numpy", "uvicorn", "sentencepiece"} & hidden
    (tmp_path / "sitecustomize.py").write_text(HIDE.format(names=hidden))
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "transformer"]
    done = subprocess.run([*command, "Hola."], cwd=tmp_path, env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    check_server(command, environment, tmp_path)


@pytest.mark.slow
@pytest.mark.network
def test_the_steps_of_the_image_make_a_small_server_without_torch(tmp_path: Path) -> None:
    folder = tmp_path / "translate"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = ["sh", "scripts/docker/install.sh", str(folder)]
    source = copied(tmp_path / "source")
    subprocess.run(command, cwd=source, env=environment, check=True)
    assert not [*folder.rglob("torch")]
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert BASE + sum(path.stat().st_size for path in files) < MOST
    check_server([str(folder / "bin/translate")], environment, tmp_path)
