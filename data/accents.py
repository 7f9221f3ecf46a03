"""Write transformer/accents.tsv, the Spanish words whose accents can be put back, from corpora.

python data/accents.py CORPUS...       sources as scripts/train.py takes them
"""

import sys

from transformer import accents
from transformer.corpus import read_pairs


def main(specs: list[str]) -> None:
    """Counts the Spanish sides of the sources and writes the table."""
    spanish = (src for spec in specs for src, _ in read_pairs(spec, "es", "en"))
    accents.TABLE.write_text("".join(f"{w}\n" for w in accents.count(spanish)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
