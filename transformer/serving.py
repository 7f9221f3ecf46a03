"""The settings of a server: where it listens, and its limits."""

import dataclasses

from transformer.config import option, reject


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ServeConfig:
    """Where a server listens, and its limits."""

    host: str = option("127.0.0.1", "address to listen on; 0.0.0.0 lets other machines in")
    port: int = option(5000, "port to listen on; 0: any free one")
    char_limit: int = option(20_000, "characters of a request, all its texts together")
    batch_limit: int = option(100, "texts of a request")
    file_mib: float = option(8.0, "largest request and file to translate, in MiB")
    file_char_limit: int = option(500_000, "characters of a file to translate")
    per_minute: int = option(0, "requests a minute of each client without a key; 0: no limit")
    queue_limit: int = option(10_000, "sentences that may wait, of all clients together")
    timeout: float = option(60.0, "seconds after which a request is given up; of a file, ten times")
    max_alternatives: int = option(5, "further translations that a request may ask for")
    api_keys: str = option("", "file of API keys, made with --new-api-key; needed for all requests")
    cors: str = option("", "origin whose pages may use the server, as https://a.org; *: any")

    def __post_init__(self) -> None:
        positive = ("char_limit", "batch_limit", "file_char_limit", "queue_limit", "timeout")
        rules = {f"{n} > 0, not {getattr(self, n)}": getattr(self, n) > 0 for n in positive}
        reject(self, rules | {
            f"0 <= port < 65536, not {self.port}": 0 <= self.port < 65536,
            f"file_mib > 0, not {self.file_mib}": self.file_mib > 0,
            f"per_minute >= 0, not {self.per_minute}": self.per_minute >= 0,
            f"0 <= max_alternatives <= 20, not {self.max_alternatives}": (
                0 <= self.max_alternatives <= 20
            ),
        })  # fmt: skip
