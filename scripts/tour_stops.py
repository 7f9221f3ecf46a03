"""The twelve stops: their exhibits and their code, as the templates ask for them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import tour_digits
import tour_exhibits as exhibits
import tour_lessons as lessons
import tour_page as page
from recurrent import Recurrent
from tour_exhibits import Findings
from tour_words import say, verdict

from transformer import attention, decoding, insight, layers, model, positional

THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


def parts(found: Findings, language: str) -> dict[str, str]:
    """Every placeholder of a template with its HTML."""

    def t(english: str) -> str:
        return say(english, language)

    formulas = {f"f_{name}": formula for name, formula in page.formulas().items()}
    told = {
        **exhibits.worked(t),
        **exhibits.digits(found.trained.digits, t),
        **exhibits.stack(found, t),
        **exhibits.steps(found, t),
        **exhibits.looks(found.looks, t),
        **exhibits.race(found.trained, t),
        "race_words": verdict(found.trained.runners, language),
    }
    if language == "es":  # the comma is a decimal sign to many readers: a space for thousands
        told = {name: THOUSANDS.sub("\u202f", html) for name, html in told.items()}
    model_name = Path(found.translator.name).name
    return {"model_name": model_name, "torch": torch.__version__, **formulas, **codes(), **told}


def codes() -> dict[str, str]:
    """The lines of the source that each stop shows."""
    weights, many = attention.attention_weights, attention.MultiHeadAttention
    shown: dict[str, Sequence[tuple[Any, str, str]]] = {
        "hard": [(weights, "if mask is not None", "return")],
        "soft": [(weights, "return", "return"), (lessons.Mixture, "return", "")],
        "self": [(layers.EncoderLayer.forward, "attend =", "")],
        "recurrent": [(Recurrent.read, "weights =", "context")],
        "scaled": [(many.kv, "def kv", ""), (weights, "scores =", "scores =")],
        "heads": [(many._split, "def", ""), (many.forward, "def", "")],
        "masks": [
            (attention.padding_mask, "def", ""),
            (attention.causal_mask, "return", ""),
            (weights, "if mask is not None", "return"),
        ],
        "digits": [(tour_digits.PatchClassifier, "def __init__", "return")],
        "stack": [
            (layers.Residual.forward, "def", ""),
            (model.Transformer.encode, "def", ""),
            (positional.sinusoids, "positions =", ""),
        ],
        "steps": [(decoding.greedy_search, "while True", "tokens = torch.cat")],
        "maps": [(many.weights, "def", ""), (insight._watched, "def watch", "return module")],
        "race": [(Recurrent.encode, "def", "memory, _"), (layers.EncoderLayer.forward, "def", "")],
    }
    return {
        f"{stop}_code": "".join(page.snippet(*one) for one in of_stop)
        for stop, of_stop in shown.items()
    }
