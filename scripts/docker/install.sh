#!/bin/sh
# Installs the server, its models and its decoder in a new virtual environment: install.sh FOLDER
# Of the libraries in pyproject.toml those are left out that only PyTorch's ways need.
set -eu
python3 -m venv "$1"
python="$1/bin/python"
"$python" - > "$1/requirements.txt" <<'PYTHON'
import re
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
wanted = [*project["dependencies"], *extras["files"], *extras["serve"]]
left_out = ("torch", "accelerate", "datasets", "pyarrow", "sacrebleu", "psutil", "tqdm",
            "transformer-es-en")  # fmt: skip
print(*(line for line in wanted if re.match(r"[\w-]+", line)[0] not in left_out), sep="\n")
PYTHON
"$python" -m pip install --quiet --no-cache-dir --requirement "$1/requirements.txt"
"$python" -m pip install --quiet --no-cache-dir --no-deps .
"$python" -m pip uninstall --quiet --yes pip setuptools
"$1/bin/translate" "Hola."  # fails where the decoder was not compiled
