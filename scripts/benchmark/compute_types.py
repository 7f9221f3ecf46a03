"""What each compute type costs a model, in BLEU; and whether float32 gives the model's own tokens.

    python -m scripts.benchmark.compute_types --model checkpoints/es-en --test newstest2013.parquet

The plain model translates every sentence of the test sets, and so does the native decoder in each
of its compute types. A sentence counts as the same if each of its tokens is. On a CPU.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from scripts.benchmark.tables import environment, markdown
from transformer.command import Parser, run_command
from transformer.config import DecodeConfig
from transformer.decoding import native
from transformer.decoding.decoder import Decoder, model_decoder
from transformer.decoding.search import BatchDecoder
from transformer.evaluation.analysis import TestSet
from transformer.evaluation.evaluate import read_set, set_names
from transformer.evaluation.metrics import bleu
from transformer.translation.translator import Translation, Translator

HEADS = ("test set", "decoded by", "BLEU", "to the model", "the plain model's tokens")


def ways(plain: Translator) -> dict[str, Callable[[], Decoder]]:
    """What decodes, by name; each packs the weights when it is called."""
    model = plain.model
    found: dict[str, Callable[[], Decoder]] = {
        "plain model": lambda: BatchDecoder(model, "float32"),
        "plain model, bfloat16": lambda: BatchDecoder(model, "bfloat16"),
    }
    if native.library() is not None and native.fits(model.config):
        found["float32"] = lambda: model_decoder(model, "float32")
        found["int8"] = lambda: model_decoder(model, "int8")
    return found


def rows(
    sets: Sequence[TestSet], translations: Mapping[str, Sequence[Translation]]
) -> Iterator[list[str]]:
    """By test set and way: BLEU, its difference to the model, how many sentences are the same.

    `found` has the translations of all sets, one set after the other.
    """
    start = 0
    for test_set in sets:
        end = start + len(test_set.sources)
        parts = {name: every[start:end] for name, every in translations.items()}
        scores = {name: bleu([r.text for r in p], test_set.references) for name, p in parts.items()}
        tokens = {name: [r.tokens for r in part] for name, part in parts.items()}
        for name, score in scores.items():
            same = sum(a == b for a, b in zip(tokens[name], tokens["plain model"], strict=True))
            gap, n_same = score - scores["plain model"], f"{same:,} of {end - start:,}"
            yield [test_set.name, name, f"{score:.2f}", f"{gap:+.2f}", n_same]
        start = end


def compare(args: argparse.Namespace) -> None:
    """Translates with each way and prints the table."""
    plain = Translator.load(args.model, "cpu", "float32")
    langs = plain.src_lang, plain.tgt_lang
    names = set_names(args.test)
    sets = [read_set(s, n, langs, args.limit) for s, n in zip(args.test, names, strict=True)]
    sources = [source for test_set in sets for source in test_set.sources]
    translations = {}
    decode = DecodeConfig(beam_size=args.beam_size, scores=False)
    for name, packed in ways(plain).items():
        plain.decoder = packed()
        translations[name] = plain.translate(sources, decode)
        print(f"{name}: {len(sources):,} sentences", file=sys.stderr, flush=True)
    beams = f"{args.beam_size} beams" if args.beam_size > 1 else "greedy"
    print(f"{'-'.join(langs)}: {args.model}, {beams}; {environment()}\n")
    print(markdown(HEADS, rows(sets, translations)))
    if "int8" not in translations:
        print("\nskipped: the native decoder, which needs a C++ compiler and fitting widths")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--model", required=True, help="checkpoint folder")
    add("--test", required=True, nargs="+", help="test sets, as of scripts/evaluate.py")
    add("--limit", type=int, help="only the first sentences of each test set")
    add("--beam-size", type=int, default=1, help="beams of the search (default: 1)")
    args = flags.parse_args(argv)
    return run_command(lambda: compare(args), "compute_types")


if __name__ == "__main__":
    sys.exit(main())
