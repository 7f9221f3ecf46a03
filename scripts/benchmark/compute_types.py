"""What each compute type costs a model, in BLEU; and whether float32 gives the model's own tokens.

    python -m scripts.benchmark.compute_types --model checkpoints/es-en --test newstest2013.parquet

The plain model translates every sentence of the test sets, and so does the native decoder in each
of its compute types. A sentence counts as the same if each of its tokens is. On a CPU.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from scripts.benchmark.tables import environment, log, markdown
from transformer.command import Parser, run_command
from transformer.config import DecodeConfig
from transformer.decoding import native
from transformer.decoding.decoder import Decoder, decoder_from_model
from transformer.decoding.search import BatchDecoder
from transformer.evaluation.analysis import TestSet
from transformer.evaluation.evaluate import read_set, set_names
from transformer.evaluation.metrics import bleu
from transformer.translation.translator import Translation, Translator

HEADS = ("test set", "decoded by", "BLEU", "to the model", "the plain model's tokens")
PLAIN = "plain model"


def decoders(plain: Translator) -> dict[str, Callable[[], Decoder]]:
    """Return what opens each decoder, by name; it packs the weights when it is called."""
    model = plain.model
    found: dict[str, Callable[[], Decoder]] = {
        PLAIN: lambda: BatchDecoder(model, "float32"),
        f"{PLAIN}, bfloat16": lambda: BatchDecoder(model, "bfloat16"),
    }
    if native.load_library() is not None and native.is_supported(model.config):
        found["float32"] = lambda: decoder_from_model(model, "float32")
        found["int8"] = lambda: decoder_from_model(model, "int8")
    return found


def rows(
    sets: Sequence[TestSet], translations: Mapping[str, Sequence[Translation]]
) -> Iterator[list[str]]:
    """Yield a row for each test set and decoder: BLEU, its difference, sentences that are the same.

    `translations` has those of all sets, one set after the other.
    """
    start = 0
    for test_set in sets:
        end = start + len(test_set.sources)
        expected = translations[PLAIN][start:end]
        base = bleu([result.text for result in expected], test_set.references)
        for name, results in translations.items():
            part = results[start:end]
            score = bleu([result.text for result in part], test_set.references)
            same = sum(a.tokens == b.tokens for a, b in zip(part, expected, strict=True))
            shown = f"{score:.2f}", f"{score - base:+.2f}", f"{same:,} of {end - start:,}"
            yield [test_set.name, name, *shown]
        start = end


def compare(args: argparse.Namespace) -> None:
    """Translate with each decoder and print the table."""
    plain = Translator.load(args.model, "cpu", "float32")
    langs, names = (plain.src_lang, plain.tgt_lang), set_names(args.test)
    sets = [read_set(s, n, langs, args.limit) for s, n in zip(args.test, names, strict=True)]
    sources = [source for test_set in sets for source in test_set.sources]
    decode, translations = DecodeConfig(beam_size=args.beam_size, scores=False), {}
    for name, open_decoder in decoders(plain).items():
        plain.decoder = open_decoder()
        translations[name] = plain.translate(sources, decode)
        log(f"{name}: {len(sources):,} sentences")
    beams = f"{args.beam_size} beams" if args.beam_size > 1 else "greedy"
    print(f"{'-'.join(langs)}: {args.model}, {beams}; {environment()}\n")
    print(markdown(HEADS, rows(sets, translations)))
    if "int8" not in translations:
        print("\nskipped: the native decoder, which needs a C++ compiler and fitting widths")


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
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
