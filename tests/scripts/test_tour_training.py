"""The tour's beam search, training and BLEU: the numbers are those of the model and its record."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from scripts.tour import comparison, facts, trained_model, training
from tests.processes import ROOT
from transformer.config import BOS_ID, EOS_ID, DecodeConfig
from transformer.corpus.readers import read_pairs
from transformer.evaluation.metrics import bleu
from transformer.model import source_batch
from transformer.translation.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return facts.load_released(None)[0]


def logits(translator: Translator, source: str, ids: list[int]) -> torch.Tensor:
    """What the model says at each step of a target and at its end: (T + 1, V)."""
    src = source_batch([translator.source_ids(source)])
    with torch.no_grad():
        return translator.model(src, torch.tensor([[BOS_ID, *ids]]))[0]


def test_stop_15_the_losses_are_the_models(translator: Translator) -> None:
    assert training.PAIR in list(read_pairs(comparison.Settings().dev, *facts.LANGS))
    found, ids = training.teacher_forcing(translator), translator.tokenizer.encode(training.PAIR[1])
    said, wanted = logits(translator, training.PAIR[0], ids), torch.tensor([*ids, EOS_ID])
    losses = F.cross_entropy(said, wanted, reduction="none")
    assert found["losses"] == pytest.approx(losses.tolist(), abs=1e-4)
    smoothed = F.cross_entropy(said, wanted, label_smoothing=found["smoothing"])
    assert found["smoothed"] == pytest.approx(float(smoothed), abs=1e-4)
    assert list(found["read"]) == ["<s>", *found["wanted"][:-1]]


def test_stop_15_the_curve_is_of_the_run_that_the_model_card_tells_of() -> None:
    card = (ROOT / "checkpoints" / "both" / "README.md").read_text(encoding="utf-8")
    rows, before = json.loads(facts.CURVE.read_text(encoding="utf-8")), 0.0
    for phase in ("wide", "finish"):
        last = [row for row in rows if row["phase"] == phase][-1]
        told = re.search(rf"\| {phase} \| ([\d,]+) \| (\d+) M ", card)
        assert told
        assert last["step"] == int(told[1].replace(",", ""))
        assert last["pieces"] - before == pytest.approx(int(told[2]), abs=0.6)
        scores = re.search(rf"\| {last['pieces']:.0f} M, .* \| ([\d.]+) / ([\d.]+) \|", card)
        assert scores
        assert last["bleu"] == pytest.approx((float(scores[1]) + float(scores[2])) / 2, abs=0.06)
        before = last["pieces"]


def paths(tree: dict[str, Any]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The pieces up to each candidate, and the candidate."""
    before: list[list[str]] = [[]]
    for nodes in tree["steps"]:
        before = [[*before[node["parent"]], node["piece"]] for node in nodes]
        yield from zip(before, nodes, strict=True)


def test_stop_11_the_tree_is_the_search_of_the_model(translator: Translator) -> None:
    tree, tokenizer = trained_model.beam_tree(translator), translator.tokenizer
    ids = {piece: i for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size)))}
    for path, node in paths(tree):
        target = [ids[piece] for piece in path]
        steps = logits(translator, trained_model.BEAM_SENTENCE, target[:-1]).log_softmax(-1)
        assert node["score"] == pytest.approx(
            float(steps[range(len(path)), target].sum()), abs=1e-3
        )
    results = {
        "beam": translator.translate(
            trained_model.BEAM_SENTENCE, DecodeConfig(beam_size=trained_model.BEAM_SIZE)
        ),
        "greedy": translator.translate(trained_model.BEAM_SENTENCE),
    }
    ended = {name: [n for _, n in paths(tree) if n[name]][-1] for name in results}
    assert {name: tree[name] for name in results} == {n: r.text for n, r in results.items()}
    assert results["beam"].text != results["greedy"].text
    assert {node["state"] for node in ended.values()} == {"ended"}
    assert ended["beam"]["final"] == pytest.approx(results["beam"].score, abs=1e-4)
    assert ended["beam"]["final"] > ended["greedy"]["final"]


def test_stop_16_bleu_by_hand_is_that_of_sacrebleu(translator: Translator) -> None:
    found, reference = training.bleu_example(translator), training.PAIR[1]
    assert found["translation"] == translator.translate(training.PAIR[0]).text
    for counts in (found, found["shortened"]):
        assert counts["bleu"] == pytest.approx(bleu([counts["translation"]], [reference]))
    repeated = training.clipped_counts(["a", "a", "b", "a"], ["c", "a", "b", "a"], 1)
    assert (repeated["matched"], repeated["of"]) == (3, 4)
    assert ("a", 3, 2) in repeated["grams"]
