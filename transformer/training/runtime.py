"""The processes, device, precision and signals of training, through Accelerate."""

import contextlib
import ctypes
import datetime
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import torch
from accelerate import Accelerator as Accelerator
from accelerate import PartialState
from accelerate.utils import is_tensorboard_available, parse_flag_from_env
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.config import TrainConfig, UserError

# One node may tokenise a large corpus while the others wait for it.
PROCESS_TIMEOUT = datetime.timedelta(hours=24)


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether matrix products of a device are faster in bfloat16 than in float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities() if device.type == "cpu" else {}
    return bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))


def attention_kernel(
    device: torch.device, precision: str
) -> contextlib.AbstractContextManager[None]:
    """Return a context with the fastest attention kernels for a device and "bf16" or "no".

    On a CPU the fused kernel has a slow backward pass in bfloat16, so the unfused one is used, and
    computes in bfloat16 too: by default it converts its input to float32, at half the speed. On a
    GPU cuDNN's kernel is left out, because it plans anew for each of the many batch shapes.
    """
    if device.type == "cpu" and precision == "bf16":
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)  # of CPUs, too
        return sdpa_kernel(SDPBackend.MATH)
    if device.type == "cuda":
        fused = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        return sdpa_kernel(fused)
    return contextlib.nullcontext()


def make_accelerator(config: TrainConfig, folder: Path) -> Accelerator:
    """Join the launched processes; return their accelerator in the precision of the settings.

    Sets the number of threads. TensorBoard, if set, writes to `folder`; UserError if it is missing.
    """
    if config.is_tracked and not is_tensorboard_available():
        raise UserError(
            "expected TensorBoard for --report-to, it is not installed: "
            "pip install 'transformer-es-en[tracking]'"
        )
    if config.threads:
        torch.set_num_threads(config.threads)
    # Without `cpu` the state would not join the processes of `accelerate launch --cpu`.
    on_cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.accelerator.is_available()
    state = PartialState(cpu=on_cpu, timeout=PROCESS_TIMEOUT)
    is_fast = config.precision == "auto" and has_fast_bfloat16(state.device)
    accelerator = Accelerator(
        mixed_precision="bf16" if is_fast or config.precision == "bfloat16" else "no",
        log_with="tensorboard" if config.is_tracked else None,
        project_dir=str(folder),
    )
    if config.is_tracked:
        accelerator.init_trackers("tensorboard")
    return accelerator


def is_main_process() -> bool:
    """Whether this is the only process, or the first of several."""
    return bool(PartialState().is_main_process)


def sum_over_processes(accelerator: Accelerator, *numbers: float) -> list[float]:
    """Return the sum of each number over all processes; every process gets the sums."""
    if accelerator.num_processes == 1:
        return list(numbers)
    total = torch.tensor(numbers, dtype=torch.float64, device=accelerator.device)
    return [float(x) for x in accelerator.reduce(total, "sum")]


def describe_machine(accelerator: Accelerator) -> dict[str, Any]:
    """Return {title: value} for a model card: processes, threads, precision, torch version."""
    return {
        "processes and device": f"{accelerator.num_processes} x {accelerator.device.type}",
        "threads of a process": torch.get_num_threads(),
        "precision": "bfloat16" if accelerator.mixed_precision == "bf16" else "float32",
        "torch": torch.__version__,
    }


def start_cpu_processes() -> None:
    """Make `accelerate launch --cpu --num_processes N` start N processes.

    Without MPI, Accelerate starts one process and does not pass N, which is therefore read from
    the launcher's command line. This process becomes torch's launcher, or stays as it is if it was
    not launched so or N is 1.
    """
    env = os.environ
    single = "WORLD_SIZE" not in env and "LOCAL_RANK" not in env
    if not (env.get("ACCELERATE_USE_CPU") == "True" and "MASTER_ADDR" in env and single):
        return
    command_line = " ".join(psutil.Process(os.getppid()).cmdline())
    number = re.search(r"--num[_-]processes[= ](\d+)", command_line)
    if number is None or int(number[1]) < 2 or re.search(r"--num[_-]machines[= ]", command_line):
        return
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    os.execv(sys.executable, [*launcher, "--nproc_per_node", number[1], *sys.argv])


def keep_freed_memory() -> None:
    """Make glibc reuse large blocks, as new pages for each tensor cost more than its arithmetic."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-4, 0)  # M_MMAP_MAX: no separate mapping for a block
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: return nothing to the system


def enlarge_kernel_cache() -> None:
    """Let oneDNN cache the kernels of all batch shapes; call it before the first product."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32768")


@contextlib.contextmanager
def collect_signals() -> Iterator[list[str]]:
    """Yield a list to which "SIGINT" or "SIGTERM" is added when it comes; again, it acts as usual.

    The handlers are as before when the block ends.
    """
    names: list[str] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, frame: object) -> None:
        names.append(signal.Signals(number).name)
        signal.signal(number, before[signal.Signals(number)])

    try:
        for number in before:
            signal.signal(number, handle)
        yield names
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
