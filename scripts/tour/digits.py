"""Stop 8: attention over the patches of an image as a classifier, beside simpler ones.

The images are scikit-learn's 1,797 handwritten digits of 8 x 8 grey pixels, cut into 16 patches
of 2 x 2.

Shapes: B images, P patches, C pixels of a patch.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import UserError
from transformer.model import MultiHeadAttention

SIDE, PATCH = 8, 2
N_PATCHES, N_PIXELS, N_CLASSES = (SIDE // PATCH) ** 2, SIDE**2, 10
N_IMAGES = 1797
STEPS, RATE, BATCH = 1200, 5e-3, 128
SEEDS = (1, 2, 3)  # of the split into training and test, of weights and batches
SHOWN = 6  # test images that are drawn


def patches(images: Tensor) -> Tensor:
    """Cut squares out of the images, row by row: (B, 64) -> (B, P, C)."""
    rows = images.view(-1, SIDE // PATCH, PATCH, SIDE // PATCH, PATCH)
    return rows.transpose(2, 3).reshape(-1, N_PATCHES, PATCH * PATCH)


class PatchClassifier(nn.Module):
    """Each patch looks at all patches; ReLU; one linear layer says which digit it is."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(PATCH * PATCH, 1)
        self.classify = nn.Linear(N_PIXELS, N_CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """(B, 64) -> (B, 10)."""
        x = patches(images)  # (B, P, C)
        x = self.attention(x, self.attention.kv(x))
        return self.classify(x.relu().flatten(1))

    def weights(self, images: Tensor) -> Tensor:
        """Return which patch looks at which: (B, 64) -> (B, P, P)."""
        x = patches(images)
        return self.attention.weights(x, self.attention.kv(x))[:, 0]


def load() -> tuple[Tensor, Tensor]:
    """Load the pixels in 0 ... 1 and the digits: -> (N, 64), (N,)."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise UserError(
            "the tour needs scikit-learn, and it is not installed: install the extra `tour`"
        ) from error
    found = datasets.load_digits()
    return torch.tensor(found.data / 16.0, dtype=torch.float32), torch.tensor(found.target)


def fit(model: nn.Module, images: Tensor, labels: Tensor, steps: int) -> nn.Module:
    """Train on random batches with Adam, its rate falling to zero along a cosine."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        rows = torch.randint(len(images), (BATCH,))
        F.cross_entropy(model(images[rows]), labels[rows]).backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return model.eval()


def classify() -> dict[str, Any]:
    """Train each classifier on three quarters of the images for each seed; test on the rest.

    `accuracy` on the test images is in per cent, one for each seed; the images shown are
    (SHOWN, 64), and `weights` (SHOWN, P) is the mean weight that each patch gets.
    """
    images, labels = load()
    kinds: dict[str, Callable[[], nn.Module]] = {
        "attention": PatchClassifier,
        "perceptron": lambda: nn.Sequential(
            nn.Linear(N_PIXELS, N_PIXELS), nn.ReLU(), nn.Linear(N_PIXELS, N_CLASSES)
        ),
        "linear": lambda: nn.Linear(N_PIXELS, N_CLASSES),
    }
    accuracy: dict[str, list[float]] = {kind: [] for kind in kinds}
    fitted: dict[str, Any] = {}
    cut = len(images) // 4
    for seed in SEEDS:
        torch.manual_seed(seed)
        order = torch.randperm(len(images))
        test, train = order[:cut], order[cut:]
        for kind, make in kinds.items():
            fitted[kind] = fit(make(), images[train], labels[train], STEPS)
        with torch.no_grad():
            for kind, model in fitted.items():
                right = (model(images[test]).argmax(1) == labels[test]).float().mean()
                accuracy[kind].append(100 * float(right))
    shown, looker = images[test[:SHOWN]], fitted["attention"]
    with torch.no_grad():
        weights, guesses = looker.weights(shown).mean(1), looker(shown).argmax(1)
    return {
        "test_images": cut,
        "parameters": {
            kind: sum(p.numel() for p in model.parameters()) for kind, model in fitted.items()
        },
        "accuracy": accuracy,
        "images": shown.tolist(),
        "labels": labels[test[:SHOWN]].tolist(),
        "guesses": guesses.tolist(),
        "weights": weights.tolist(),
    }
