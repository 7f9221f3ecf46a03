#!/usr/bin/env bash
# All that a change must pass: format, lint, types, tests with their coverage.
set -euo pipefail
cd "$(dirname "$0")/.."
ruff format --check .
ruff check .
mypy
coverage run -m pytest "$@"
coverage combine --quiet
coverage report --skip-covered --fail-under=90
