"""A model's own translations as further text to train with.

    python -m scripts.corpus.diversify --model checkpoints/es-en --pairs my.tsv --output es-en.tsv
    python -m scripts.corpus.diversify --model out --lang en --to es --pairs my.tsv --output own.tsv

Each source comes with that translation of the beam which is nearest to the reference. In training
the same direction such pairs teach greedy search what the beam finds (Kim and Rush 2016, section
3.3); in training the other direction they show a reference under one more source (Nguyen et al.
2020). What equals the reference, or is too far from it to be trusted, is left out and counted.
With `--place 1` it is the beam's first translation, as in back-translation (Sennrich et al. 2016a,
section 3), with `--place 2` its second: more of them pass, and they differ more from what the
corpus has.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from transformer.command import Parser, run_command
from transformer.config import DecodeConfig, SentencePair, UserError
from transformer.corpus.cleaning import normalize
from transformer.corpus.readers import read_pairs, tsv_path, write_tsv
from transformer.evaluation.metrics import sentence_chrf
from transformer.flags import add_device_arguments
from transformer.translation.translator import Translator

LOG_EVERY = 10_000  # pairs between two lines of progress


def new_pairs(
    translator: Translator,
    pairs: list[SentencePair],
    decode: DecodeConfig,
    at_least: float,
    counts: Counter[str],
    place: int = 0,
) -> Iterator[SentencePair]:
    """Yield the sources with the translation nearest to the reference, if chrF2 is `at_least`.

    With a place, from 1 on, it is the beam's translation at that place.
    """
    results = translator.stream((src for src, _ in pairs), decode)
    for n, ((src, reference), result) in enumerate(zip(pairs, results, strict=True), 1):
        candidates = result.candidates[place - 1 : place] if place else result.candidates
        texts = [normalize(candidate.text) for candidate in candidates]
        scored = zip(sentence_chrf(texts, [reference] * len(texts)), texts, strict=True)
        missing = (-1.0, "")  # a short beam has no such place
        score, text = max(scored, key=lambda pair: pair[0], default=missing)
        if text == reference:
            counts["equal to the reference"] += 1
        elif score < at_least:
            counts["too far from it"] += 1
        else:
            counts["written"] += 1
            yield src, text
        if n % LOG_EVERY == 0:
            print(f"{n:,} of {len(pairs):,} pairs", file=sys.stderr, flush=True)


def diversify(args: argparse.Namespace) -> None:
    """Write the pairs as TSV, whole or not at all, and print how many there are."""
    if not 0 <= args.place <= args.beam_size:
        raise UserError(
            f"expected a --place from 1 to --beam-size {args.beam_size}, or 0 for the nearest; "
            f"got {args.place}"
        )
    if bool(args.lang) != bool(args.to):
        raise UserError("expected --lang and --to together, got only one of them")
    requested = (args.lang, args.to) if args.lang else None
    translator = Translator.load(args.model, args.device, args.compute_type, langs=requested)
    langs = translator.src_lang, translator.tgt_lang
    read = (pair for spec in args.pairs for pair in read_pairs(spec, *langs))
    pairs = [(normalize(src), normalize(tgt)) for src, tgt in read]
    counts: Counter[str] = Counter()
    n_best = args.place or args.beam_size
    decode = DecodeConfig(beam_size=args.beam_size, n_best=n_best, scores=False)
    found = new_pairs(translator, pairs, decode, args.at_least, counts, args.place)
    write_tsv(args.output, langs, found)
    print(", ".join(f"{n:,} {what}" for what, n in counts.items()))


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--model", required=True, help="checkpoint folder of the model that translates")
    add("--pairs", required=True, nargs="+", metavar="SOURCE", help="corpora, as of train.py")
    add("--output", required=True, type=tsv_path, metavar="FILE.tsv", help="the file to write")
    add("--lang", help="language of the sources, of a model for several directions")
    add("--to", help="language of the translations, of such a model")
    add("--beam-size", type=int, default=4, help="translations to choose from (default: 4)")
    add("--at-least", type=float, default=50.0, metavar="CHRF",
        help="least chrF2 against the reference, in per cent (default: 50)")  # fmt: skip
    add("--place", type=int, default=0, metavar="N",
        help="the beam's Nth translation, not the nearest of it")  # fmt: skip
    add_device_arguments(flags)
    args = flags.parse_args(argv)
    return run_command(lambda: diversify(args), "diversify")


if __name__ == "__main__":
    sys.exit(main())
