"""Makes a compact copy of a checkpoint: half-precision weights, no training state, a self-test.

python scripts/release.py checkpoints/run/best checkpoints/es-en
"""

import argparse
import itertools
import sys
from pathlib import Path

from transformer import checkpoint, cli, selftest
from transformer.corpus import read_pairs

TEST = Path(__file__).resolve().parent.parent / "data" / "test.tsv"
N_TEST = 200  # lines of it that go into the self-test


def release(source: Path, target: Path) -> None:
    """Copies weights as float16 with configuration, tokeniser and card; adds the self-test."""
    opened = checkpoint.load(source)
    checkpoint.save(
        target,
        {name: tensor.half() for name, tensor in opened.model.state_dict().items()},
        opened.model.config,
        opened.tokenizer,
        (opened.src_lang, opened.tgt_lang),
        (opened.folder / checkpoint.CARD).read_text(encoding="utf-8"),
    )
    pairs = itertools.islice(read_pairs(str(TEST), opened.src_lang, opened.tgt_lang), N_TEST)
    selftest.written(target, list(pairs), f"the first {N_TEST} pairs of data/{TEST.name}")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="a checkpoint, or the folder of a run")
    parser.add_argument("target", type=Path, help="the folder to write")
    args = parser.parse_args(argv)
    return cli.guarded(lambda: release(args.source, args.target), "release")


if __name__ == "__main__":
    sys.exit(main())
