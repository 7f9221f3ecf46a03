"""Makes a compact copy of a checkpoint: half-precision weights, no training state.

python scripts/release.py checkpoints/run/best checkpoints/es-en
"""

import argparse
import sys
from pathlib import Path

from transformer import checkpoint, cli


def release(source: Path, target: Path) -> None:
    """Copies weights as float16 with configuration, tokeniser and card of the checkpoint."""
    opened = checkpoint.load(source)
    checkpoint.save(
        target,
        {name: tensor.half() for name, tensor in opened.model.state_dict().items()},
        opened.model.config,
        opened.tokenizer,
        (opened.src_lang, opened.tgt_lang),
        (opened.folder / checkpoint.CARD).read_text(encoding="utf-8"),
    )


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="a checkpoint, or the folder of a run")
    parser.add_argument("target", type=Path, help="the folder to write")
    args = parser.parse_args(argv)
    return cli.guarded(lambda: release(args.source, args.target), "release")


if __name__ == "__main__":
    sys.exit(main())
