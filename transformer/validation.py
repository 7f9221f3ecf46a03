"""How good the weights are while they are trained: loss and BLEU on the development pairs."""

from collections.abc import Sequence

import numpy as np
import torch

from transformer import batching
from transformer.config import PAD_ID, TrainConfig, UserError
from transformer.evaluate import bleu
from transformer.loss import cross_entropy
from transformer.model import Transformer
from transformer.sources import Languages, Pair
from transformer.tokenizer import Tokenizer
from transformer.translate import Translator

MOST = 8192  # tokens of a batch: unlike in training, all its logits exist at once


class Validation:
    """The development pairs, tokenised once; false where there are none."""

    def __init__(
        self, dev: Sequence[Pair], tokenizer: Tokenizer, langs: Languages, config: TrainConfig
    ) -> None:
        self.tokenizer, self.langs = tokenizer, langs
        self.budget = min(config.batch_tokens, MOST)
        self.pairs = [(tokenizer.encode(src), tokenizer.encode(tgt)) for src, tgt in dev]
        self.translated = list(dev[: config.eval_pairs])

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @torch.inference_mode()
    def loss(self, model: Transformer) -> float:
        """Nats a target token, without smoothing; pairs too long for the model are left out."""
        fitting = [p for p in self.pairs if max(map(len, p)) < model.config.max_len]
        if not fitting:
            raise UserError(
                f"expected development pairs of fewer than max_len = {model.config.max_len} "
                f"pieces a side, got none among {len(self.pairs)}. Raise --max-len"
            )
        src, tgt = (np.array([len(p[side]) + 1 for p in fitting]) for side in (0, 1))
        budget = max(self.budget, int((src + tgt).max()))
        total = n_tokens = 0.0
        for rows in batching.plan((src, tgt), np.arange(len(fitting)), budget, 0, 0):
            batch = batching.collate([fitting[i] for i in rows]).to(model.device)
            loss, n = cross_entropy(model(batch.src, batch.tgt_in), batch.tgt_out, PAD_ID)
            total, n_tokens = total + float(loss), n_tokens + float(n)
        return total / n_tokens

    def scores(self, model: Transformer) -> dict[str, float]:
        """`loss` on all pairs, and `bleu` of greedy translations of the first ones."""
        found = {"loss": self.loss(model)}
        if self.translated:
            sources, references = zip(*self.translated, strict=True)
            translator = Translator(
                model, self.tokenizer, self.langs, name="validation", compute_type="float32"
            )
            results = translator.translate(sources)
            found["bleu"] = bleu([result.text for result in results], references)
        return found
