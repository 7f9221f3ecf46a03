"""Write transformer/trigrams.tsv, by which a language is recognised, from train.tsv.

python data/trigrams.py
"""

from pathlib import Path

from transformer import detect

HERE = Path(__file__).resolve().parent


def lines() -> list[str]:
    """A run of three characters and its worth on each line, as counted in train.tsv."""
    rows = (HERE / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]
    spanish, english = zip(*(row.split("\t") for row in rows), strict=True)
    return [f"{run}\t{worth}" for run, worth in detect.count(spanish, english).items()]


if __name__ == "__main__":
    detect.TABLE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
