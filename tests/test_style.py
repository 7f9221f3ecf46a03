"""Names are words that a reader would search for: those of a former dialect do not come back."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.test_architecture import FILES, TREES

# Each stood for a term of PyTorch, of the standard library or of the field, which is meant instead.
FORBIDDEN = frozenset((
    "able_to", "unlost", "stoppable", "untorn", "check_sum", "replaced_folder", "told",
    "_told", "_let_go", "_tell", "tell", "one_of", "described", "sums_of", "quantise_rows",
    "align_with", "disagreements", "pick_device", "check_engine", "model_decoder",
    "add_engine", "tags_of", "whole_parser", "weights_for", "grown", "sharpest", "explained",
    "_without_repeats", "_watched", "_drained", "_once", "_forget_timers", "_prepared",
    "_slow", "Must", "Loops", "Packed", "some_at_once", "saying", "_dealt", "turns", "decided",
    "settled", "in_steps", "Ending", "_way_out", "forget_after", "share_done", "unmarked",
    "within", "is_shouted", "is_small", "is_lone", "begins_like", "is_unread", "Way", "slips",
    "doubts", "_spelt", "_usual", "_likelier", "HOPELESS", "SURER", "Slices", "counted_as",
    "refusal", "outbox", "in_product_type", "recognised", "Said", "Ranked", "_as_one",
    "_stretches", "Reading", "Failed", "existing", "_read_raw",
))  # fmt: skip


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a file defines, and its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_is_of_the_dialect(path: Path) -> None:
    assert [f"line {line}: {name}" for name, line in names(TREES[path]) if name in FORBIDDEN] == []


def test_a_module_is_not_named_in_the_dialect() -> None:
    assert not {path.stem for path in FILES} & FORBIDDEN
