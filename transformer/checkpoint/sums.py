"""What the files of a checkpoint were at saving: their SHA-256, as `sha256sum --check` reads it."""

import hashlib
import mmap
from pathlib import Path

from transformer.config import UserError
from transformer.files import open_regular, read_bytes

SUMS = "SHA256SUMS"
NAMES = ("config.json", "model.safetensors", "tokenizer.model", "training.json",
         "training.safetensors")  # fmt: skip


def write(folder: Path) -> None:
    """Notes the sums of a new checkpoint: of all but its card, which people may mend."""
    lines = []
    for path in (folder / name for name in NAMES if (folder / name).exists()):
        with open_regular(path) as file:
            digest = hashlib.file_digest(file, "sha256")
        lines.append(f"{digest.hexdigest()}  {path.name}\n")
    (folder / SUMS).write_text("".join(lines), encoding="ascii", newline="\n")


def check(path: Path, content: bytes | mmap.mmap) -> None:
    """UserError unless a file of a checkpoint is as it was saved; older ones noted no sums."""
    noted = path.with_name(SUMS)
    if path.name not in NAMES or not noted.exists():
        return
    try:
        lines = read_bytes(noted).decode("ascii").splitlines()
        sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    except (OSError, ValueError) as error:
        raise UserError(f"expected SHA-256 sums in {noted}: {error}") from error
    if sums.get(path.name) != hashlib.sha256(content).hexdigest():
        raise UserError(
            f"expected {path} as it was saved, but its SHA-256 is not the one in {SUMS}: it was "
            f"damaged or cut short, fetch it again (or delete {SUMS} if you changed it yourself)"
        )


def read_checked(path: Path) -> bytes:
    """The content of a small file of a checkpoint, as it was saved; OSError, or UserError."""
    content = read_bytes(path)
    check(path, content)
    return content
