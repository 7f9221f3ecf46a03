"""The steps of the Dockerfile, in a virtual environment: a small server that has no PyTorch."""

import io
import os
import shutil
import subprocess
import urllib.error
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.serving.server import ES_EN, ask

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


@pytest.mark.slow
@pytest.mark.network
def test_the_steps_of_the_image_make_a_small_server_without_torch(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    folder = tmp_path / "translate"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = ["sh", "scripts/docker/install.sh", str(folder)]
    source = copied(tmp_path / "source")
    subprocess.run(command, cwd=source, env=environment, check=True)
    assert not [*folder.rglob("torch")]
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert BASE + sum(path.stat().st_size for path in files) < MOST
    serve = [str(folder / "bin/translate"), "serve", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(serve, cwd=tmp_path, env=environment, stderr=pipe, text=True) as started:
        assert started.stderr is not None
        url = started.stderr.readline().split()[-1]
        answer = ask(f"{url}translate", q="¿Dónde está la biblioteca?", **ES_EN)
        assert answer["translatedText"] == "Where is the library?"
        assert ask(f"{url}inspect", q="Hola.", **ES_EN)["parts"][0]["alignment"]
        with pytest.raises(urllib.error.HTTPError, match="501"):
            ask(f"{url}inspect", **MAPS)
        letter, written = docx.Document(), io.BytesIO()
        paragraph = letter.add_paragraph("Mi hermana compró ")
        paragraph.add_run("tres manzanas").bold = True
        letter.save(written)
        upload = {"file": ("carta.docx", written.getvalue())}
        sent = httpx.post(f"{url}translate_file", data=ES_EN, files=upload, timeout=60).json()
        fetched = httpx.get(sent["translatedFileUrl"]).content
        runs = docx.Document(io.BytesIO(fetched)).paragraphs[0].runs
        assert [run.text for run in runs if run.bold] == ["three apples"]
        started.kill()
