"""Write transformer/spelling.es.xz and spelling.en.xz, the words of two languages, from corpora.

python data/spelling.py CORPUS...       sources as scripts/train.py takes them
"""

import lzma
import sys

from transformer import spelling
from transformer.corpus import read_pairs


def main(specs: list[str]) -> None:
    """Counts the words of both sides of the sources and writes a table for each language."""
    pairs = (pair for spec in specs for pair in read_pairs(spec, "es", "en"))
    for lang, texts in zip(("es", "en"), zip(*pairs, strict=True), strict=True):
        lists = "\n".join(" ".join(words) for words in spelling.count(texts))
        packed = lzma.compress(lists.encode(), preset=9 | lzma.PRESET_EXTREME)
        spelling.table(lang).write_bytes(packed)


if __name__ == "__main__":
    main(sys.argv[1:])
