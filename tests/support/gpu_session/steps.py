"""200 warm steps of three programs, and the memory they hold: ``python -m gpu_session.steps``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from collections.abc import Callable
from typing import Any

Step = Callable[[], None]


def perceptron(torch: Any, device: str) -> Step:
    """Three layers of 512, Adam."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    return _training(torch, device, model, torch.rand(128, 512), torch.arange(128) % 10)


def language(torch: Any, device: str) -> Step:
    """Embedding, normalisation, a layer with GELU, scores of 1,000 words."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Embedding(1000, 128), nn.LayerNorm(128), nn.Linear(128, 256), nn.GELU(),
        nn.Linear(256, 1000),
    )  # fmt: skip
    ids = torch.arange(16 * 32).reshape(16, 32) % 1000
    return _training(torch, device, model, ids, ids.reshape(-1))


def convolution(torch: Any, device: str) -> Step:
    """Two convolutions with pooling, over 64 images of 28 x 28."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip
    return _training(torch, device, model, torch.rand(64, 1, 28, 28), torch.arange(64) % 10)


def _training(torch: Any, device: str, model: Any, given: Any, wanted: Any) -> Step:
    model, given, wanted = model.to(device), given.to(device), wanted.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        scores = model(given)
        torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), wanted).backward()
        optimizer.step()

    return step


PROGRAMS = (perceptron, language, convolution)


def measure(name: str, device: str, count: int) -> dict[str, Any]:
    """Seconds of *count* steps after ten, and bytes held after step 10 and at the end."""
    torch = importlib.import_module(name)
    found: dict[str, Any] = {}
    for program in PROGRAMS:
        torch.manual_seed(0)
        step = program(torch, device)
        for _ in range(10):
            step()
        wait = _waiting(torch, device)
        wait()
        before, begun = _memory(torch, device), time.perf_counter()
        for _ in range(count):
            step()
        wait()
        seconds = time.perf_counter() - begun
        found[program.__name__] = {
            "steps": count,
            "milliseconds a step": round(seconds / count * 1000, 3),
            "bytes at step 10": before,
            f"bytes at step {10 + count}": _memory(torch, device),
        }
    return found


def _waiting(torch: Any, device: str) -> Callable[[], None]:
    if device.startswith("cuda"):
        return torch.cuda.synchronize
    return lambda: None


def _memory(torch: Any, device: str) -> int | None:
    return torch.cuda.memory_allocated() if device.startswith("cuda") else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--count", type=int, default=200)
    args = parser.parse_args()
    print(json.dumps({"tensorbus": measure("tensorbus", args.device, args.count)}), flush=True)
    if importlib.util.find_spec("torch") is not None:
        print(json.dumps({"torch": measure("torch", args.device, args.count)}), flush=True)


if __name__ == "__main__":
    main()
