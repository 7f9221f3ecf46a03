"""Stop 14: a list of symbols is read, then asked what stood so many places back.

One attention and a GRU of the same width read the same vectors, a symbol and its place added up.

Shapes: B lists, N symbols of a list, D width, V kinds of symbols.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model import MultiHeadAttention

KINDS, LONGEST, WIDTH = 16, 32, 64
STEPS = {"attention": 500, "gru": 4000}  # of training
BATCH, RATE, SEED = 128, 3e-3, 1
N_LISTS = 500  # lists for each distance


class Reader(nn.Module):
    """A network that reads a list by attention or by a GRU, and answers."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.symbol, self.place = nn.Embedding(KINDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.read: MultiHeadAttention | nn.GRU = (
            MultiHeadAttention(WIDTH, 1) if kind == "attention" else nn.GRU(WIDTH, WIDTH)
        )
        self.answer = nn.Linear(WIDTH, KINDS)

    def forward(self, symbols: Tensor, back: Tensor) -> Tensor:
        """(B, N), (B) -> (B, V)."""
        places = torch.arange(symbols.size(1)).flip(0)  # counted from the end
        x, query = self.symbol(symbols) + self.place(places), self.place(back)[:, None]
        if isinstance(self.read, nn.GRU):  # one after the other
            return self.answer(self.read(torch.cat([x, query], 1).transpose(0, 1))[0][-1])
        return self.answer(self.read(query, self.read.kv(x))[:, 0])  # in one step


def fit(kind: str, steps: int) -> Reader:
    """Train on new lists of all lengths with Adam, its rate falling to zero along a cosine."""
    torch.manual_seed(SEED)
    reader = Reader(kind)
    optimizer = torch.optim.Adam(reader.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        symbols = torch.randint(KINDS, (BATCH, int(torch.randint(1, LONGEST + 1, ()))))
        back = torch.randint(symbols.size(1), (BATCH,))
        F.cross_entropy(reader(symbols, back), symbol_back(symbols, back)).backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return reader.eval()


def symbol_back(symbols: Tensor, back: Tensor) -> Tensor:
    """Return the symbols that stand so many places before the last: (B, N), (B) -> (B)."""
    return symbols.gather(1, symbols.size(1) - 1 - back[:, None])[:, 0]


def recall() -> dict[str, list[float]]:
    """Return the per cent of right answers to what stands 0, 1, ... places before the last."""
    right: dict[str, list[float]] = {}
    for kind, steps in STEPS.items():
        reader, right[kind] = fit(kind, steps), []
        symbols = torch.randint(KINDS, (N_LISTS, LONGEST))
        for back in torch.arange(LONGEST):
            places = back.expand(N_LISTS)
            with torch.no_grad():
                is_right = reader(symbols, places).argmax(1) == symbol_back(symbols, places)
            right[kind].append(100 * int(is_right.sum()) / N_LISTS)
    return right
