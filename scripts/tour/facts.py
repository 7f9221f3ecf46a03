"""Everything that the templates show, by the names that they use."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from markupsafe import Markup

from scripts.tour import comparison, cost, digits, lessons, page, recall, trained_model, walk
from scripts.tour.recurrent import Recurrent
from scripts.tour.training import bleu_counts, bleu_example, teacher_forcing
from transformer import model as network
from transformer.checkpoint.locate import WEIGHTS, find_checkpoint
from transformer.corpus import batching
from transformer.corpus.readers import read_pairs
from transformer.decoding import search
from transformer.explain import trace as insight
from transformer.training.trainer import Trainer
from transformer.translation.directions import load
from transformer.translation.translator import Translator

LANGS = ("es", "en")
CURVE = Path(__file__).with_name("curve.json")  # of the run that trained the released model
N_TEXTS = 200  # of the development set, for the units of stop 10


def load_released(model: str | None) -> tuple[Translator, str]:
    """Load the model from Spanish to English; return also the SHA-256 of its weights."""
    directions = load(model, device="cpu", compute_type="float32", guard=False)
    folder = find_checkpoint(directions.folders[LANGS])
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    return directions.unguarded(LANGS), digest


@torch.inference_mode()
def collect(model: str | None, trained: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the facts of the lessons, the source and the model; `trained` took longer."""
    translator, digest = load_released(model)
    model_, walked = translator.model, insight.trace(translator, walk.SENTENCE)
    texts = [pair[0] for pair in read_pairs(comparison.Settings().dev, *LANGS)][:N_TEXTS]
    return {
        "digest": digest,
        "model_name": Path(translator.name).name,
        "lessons": lessons.worked_examples(),
        "walk": walk.walk(translator),
        "real": trained_model.real_attention(model_, walked),
        "stack": trained_model.stack(model_),
        "norms": trained_model.norms(model_, walked),
        "off": trained_model.ablations(translator, walked),
        "units": trained_model.units(translator, walked, texts),
        "stepped": insight.trace(translator, trained_model.STEPS_SENTENCE),
        "tree": trained_model.beam_tree(translator),
        "taught": teacher_forcing(translator),
        "curve": json.loads(CURVE.read_text(encoding="utf-8")),
        "scored": bleu_example(translator),
        "looks": trained_model.attention_examples(translator),
        "counted": {length: cost.count_multiplications(length) for length in cost.LENGTHS},
        "break_even": cost.break_even(),
        "layer": cost.LAYER,
        "n_images": digits.N_IMAGES,
        "code": code_snippets(),
        **trained,
    }


def code_snippets() -> dict[str, Markup]:
    """Return the lines of the source that each stop shows."""
    weights, many = network.attention_weights, network.MultiHeadAttention
    shown: dict[str, Sequence[tuple[Any, str, str]]] = {
        "hard": [(weights, "if mask is not None", "return")],
        "soft": [(weights, "return", "return"), (lessons.mixture, "mixed =", "mixed =")],
        "self": [(network.EncoderLayer.forward, "attend =", "")],
        "recurrent": [(Recurrent.decode_hidden, "weights =", "context")],
        "scaled": [(many.kv, "def kv", ""), (weights, "scores =", "scores =")],
        "heads": [(many._split, "def", ""), (many.forward, "def", "")],
        "masks": [
            (network.padding_mask, "def", ""),
            (network.causal_mask, "return", ""),
            (weights, "if mask is not None", "return"),
        ],
        "digits": [(digits.PatchClassifier, "def __init__", "return")],
        "stack": [(network.Transformer.encode, "def", ""), (network.sinusoids, "positions =", "")],
        "parts": [(network.Residual.forward, "def", ""), (network.FeedForward.forward, "def", "")],
        "steps": [(search.greedy_search, "while True", "tokens = torch.cat")],
        "beam": [(search._select_beams, "for place,", "alive.append")],
        "maps": [
            (many.weights, "def", ""),
            (insight._record_attention, "def watch", "return module"),
        ],
        "cost": [(cost.count_multiplications, "return", "")],
        "training": [
            (batching.collate, "tgt_out =", "tgt_in="),
            (Trainer.optimizer_step, "norm =", "zero_grad"),
        ],
        "bleu": [(bleu_counts, "rows =", "mean =")],
        "race": [(recall.Reader.forward, "def", "")],
    }
    return {
        stop: Markup().join(page.snippet(*lines) for lines in of_stop)
        for stop, of_stop in shown.items()
    }
