"""Where and with which versions an evaluation ran."""

import dataclasses
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import torch


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Where and when an evaluation ran; `commit` is that of this software, where it is known."""

    date: str
    device: str
    processor: str
    threads: int
    torch: str
    python: str
    commit: str | None


def machine(device: str = "none") -> Machine:
    """Where this process runs, and by which version of this software."""
    return Machine(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        processor=_processor(device),
        threads=torch.get_num_threads(),
        torch=torch.__version__,
        python=platform.python_version(),
        commit=_commit(),
    )


def _processor(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    facts = Path("/proc/cpuinfo")  # only Linux has it
    text = facts.read_text(encoding="utf-8") if facts.is_file() else ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return named[1] if named else platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the repository that tracks this file; None where there is none."""
    here = Path(__file__)
    told = b""
    for command in (f"git ls-files --error-unmatch {here.name}", "git describe --always --dirty"):
        try:
            told = subprocess.check_output(
                command.split(), cwd=here.parent, stderr=subprocess.DEVNULL
            )
        except (OSError, subprocess.CalledProcessError):
            return None
    return told.decode().strip()
