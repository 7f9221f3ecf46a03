"""Stops 15 and 16: how the model was trained, and how its translations are scored."""

import math
import re
from collections import Counter
from typing import Any

import torch

from transformer.config import EOS_ID, TrainConfig
from transformer.corpus.batching import collate
from transformer.explain.trace import trace
from transformer.training.loss import LossModel
from transformer.translation.translator import Translator

# Of the development set.
PAIR = (
    "Hagan clic aquí para seguir el envío en tiempo real.",
    "Click here to track the shipment in real time.",
)
MAX_N = 4  # of the n-grams that BLEU counts


@torch.inference_mode()
def teacher_forcing(translator: Translator) -> dict[str, Any]:
    """Compute what the decoder reads and what it should predict at each step, and the losses.

    `losses` are -log p in nats, `smoothed` is their mean with label smoothing, `even` the loss of
    guessing evenly.
    """
    target = translator.tokenizer.encode(PAIR[1])
    forced = trace(translator, PAIR[0], (*target, EOS_ID))
    losses = [-math.log(p) for p in forced.probabilities]
    config = TrainConfig()
    batch = collate([(translator.source_ids(PAIR[0]), target)])
    loss_model = LossModel(translator.model, config)
    return {
        "source": PAIR[0],
        "target": PAIR[1],
        "read": ("<s>", *forced.target_pieces[:-1]),
        "wanted": forced.target_pieces,
        "probabilities": forced.probabilities,
        "likeliest": [(step[0].piece, step[0].probability) for step in forced.steps],
        "losses": losses,
        "even": math.log(translator.tokenizer.vocab_size),
        "smoothing": config.label_smoothing,
        "smoothed": float(loss_model(batch.src, batch.tgt_in, batch.tgt_out)) / len(losses),
    }


def bleu_example(translator: Translator) -> dict[str, Any]:
    """Score the translation of the pair's source, and the reference without its full stop."""
    found = bleu_counts(translator.translate(PAIR[0]).text, PAIR[1])
    return {**found, "shortened": bleu_counts(PAIR[1][:-1], PAIR[1])}


def bleu_counts(translation: str, reference: str) -> dict[str, Any]:
    """Compute BLEU by hand, for sentences that have n-grams of every length in common."""
    found, wanted = (re.findall(r"[\w']+|[^\w\s]", text) for text in (translation, reference))
    rows = [clipped_counts(found, wanted, n) for n in range(1, MAX_N + 1)]
    brevity = min(1.0, math.exp(1 - len(wanted) / len(found)))
    mean = math.prod(row["matched"] / row["of"] for row in rows) ** (1 / MAX_N)
    return {
        "translation": translation,
        "lengths": (len(found), len(wanted)),
        "rows": rows,
        "mean": mean,
        "brevity": brevity,
        "bleu": 100 * brevity * mean,
        "repeated": clipped_counts(["real"] * 4, wanted, 1),
    }


def clipped_counts(found: list[str], wanted: list[str], n: int) -> dict[str, Any]:
    """Count the n-grams of a translation, each at most as often as the reference has it.

    `grams` are (text, count, clipped count).
    """
    counts, allowed = (
        Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
        for words in (found, wanted)
    )
    grams = [(gram, k, min(k, allowed[gram])) for gram, k in counts.items()]
    return {"grams": grams, "matched": sum(g[2] for g in grams), "of": counts.total()}
