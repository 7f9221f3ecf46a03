"""Score a model during training: loss and BLEU on the development pairs."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional as F

from transformer.config import PAD_ID, ComputeType, Direction, SentencePair, TrainConfig, UserError
from transformer.corpus import batching
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

MAX_BATCH_TOKENS = 8192  # of validation, which holds all logits of a batch
N_EXAMPLES = 3  # sentences of a direction whose translations are logged


class Validation:
    """The development pairs, tokenised once, and the scoring of a model on them.

    It is false in a boolean context if there are no pairs.
    """

    def __init__(
        self, dev: Sequence[SentencePair], tokenizer: Tokenizer, directions: Sequence[Direction],
        config: TrainConfig,
    ) -> None:  # fmt: skip
        """Tokenise `dev`, pairs in the first direction, for each direction."""
        self.tokenizer, self.directions = tokenizer, tuple(directions)
        self.budget = min(config.batch_tokens, MAX_BATCH_TOKENS)
        self.pairs = []
        self.examples: list[tuple[str, str]] = []  # (source, translation), by `scores`
        self.to_translate: dict[Direction, list[SentencePair]] = {}
        for langs in self.directions:
            swapped = langs != self.directions[0]
            read = [(tgt, src) if swapped else (src, tgt) for src, tgt in dev]
            tags = tokenizer.direction_tags(langs, self.directions)
            self.pairs += [
                (tags + tokenizer.encode(src), tokenizer.encode(tgt)) for src, tgt in read
            ]
            self.to_translate[langs] = read[: config.eval_pairs]

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @torch.inference_mode()
    def loss(self, model: Transformer) -> float:
        """Return the loss in nats a target token, without label smoothing.

        Pairs too long for the model are skipped; if all are, that is a UserError.
        """
        fitting = [p for p in self.pairs if max(map(len, p)) < model.config.max_len]
        if not fitting:
            raise UserError(
                f"expected development pairs of fewer than max_len = {model.config.max_len} "
                f"pieces a side, got none among {len(self.pairs)}. Raise --max-len"
            )
        src, tgt = (np.array([len(p[side]) + 1 for p in fitting]) for side in (0, 1))
        budget = max(self.budget, int((src + tgt).max()))
        total, n_tokens = 0.0, 0
        for rows in batching.plan((src, tgt), np.arange(len(fitting)), budget, 0, 0):
            batch = batching.collate([fitting[i] for i in rows]).to(model.device)
            logits = model(batch.src, batch.tgt_in).flatten(0, 1).float()
            target = batch.tgt_out.flatten()
            total += float(F.cross_entropy(logits, target, ignore_index=PAD_ID, reduction="sum"))
            n_tokens += int((target != PAD_ID).sum())
        return total / n_tokens

    def scores(self, model: Transformer) -> dict[str, float]:
        """Return `loss` on all pairs, `bleu_scores` in float32; UserError if all are too long."""
        return {"loss": self.loss(model), **self.bleu_scores(model, "float32")}

    def bleu_scores(self, model: Transformer, compute_type: ComputeType) -> dict[str, float]:
        """Return `bleu` of greedy translations of the first `eval_pairs`, {} if there are none.

        With several directions `bleu` is the mean over them, and `bleu es-en` the BLEU of one. Some
        pairs (source, translation) become `examples`.
        """
        from transformer.evaluation.metrics import bleu
        from transformer.translation.translator import Translator

        by_direction: dict[str, float] = {}
        self.examples = []
        for langs, pairs in self.to_translate.items():
            if not pairs:
                return {}
            sources, references = zip(*pairs, strict=True)
            translator = Translator.from_model(
                model, self.tokenizer, langs, compute_type, self.directions
            )
            results = translator.translate(sources)
            texts = [result.text for result in results]
            by_direction["-".join(langs)] = bleu(texts, references)
            self.examples += [(sources[i], texts[i]) for i in example_rows(sources)]
        scores = {"bleu": sum(by_direction.values()) / len(by_direction)}
        if len(by_direction) > 1:
            scores |= {f"bleu {name}": score for name, score in by_direction.items()}
        return scores


def example_rows(sources: Sequence[str]) -> list[int]:
    """Return the indices of N_EXAMPLES sentences to log: of different lengths, but not long."""
    by_length = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    places = (len(sources) * n // (2 * N_EXAMPLES + 2) for n in range(1, N_EXAMPLES + 1))
    return [by_length[place] for place in dict.fromkeys(places)]
