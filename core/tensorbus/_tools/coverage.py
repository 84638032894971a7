"""Writes ``docs/coverage.md``: which of PyTorch's names are there, which differ or are absent.

``scripts/coverage`` writes the page; ``scripts/coverage record`` writes ``pytorch_names.txt``
first, which needs PyTorch. A test compares the page with what this module makes.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorbus._base import absent

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"

SPACES = (
    "torch Tensor linalg fft special signal.windows "
    "nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrizations "
    "nn.utils.parametrize nn.utils.prune nn.parallel nn.attention "
    "autograd autograd.functional autograd.forward_ad autograd.graph autograd.profiler func "
    "optim optim.lr_scheduler optim.swa_utils "
    "distributions distributions.transforms distributions.constraints distributions.kl "
    "utils utils.data utils.checkpoint utils.dlpack utils.tensorboard hub multiprocessing "
    "distributed distributed.nn sparse random testing jit onnx profiler cuda accelerator library "
    "overrides amp"
).split()

DIFFERENCES = {
    "complex tensors": "compute, but refuse `requires_grad`: gradients are of real tensors",
    "`torch.bfloat16`": "a dtype that none of the backends here offers yet; a plugin's may",
    "integer division by zero": "raises on `cpu`; asynchronous devices give any value",
    "derivatives at kinks": "PyTorch's, but second derivatives of norms at zero are finite zeros",
    "overlapping writes": "`x[1:] = x[:-1]` reads its source first; PyTorch leaves it undefined",
}
"""Present names that do not do all that PyTorch's do; each line is the whole difference."""

# Parts of PyTorch's C++ library and compiler that are importable, and no one's to call.
_INTERNAL = re.compile(
    r"_|(cudnn|miopen|mkldnn|fbgemm|quantized|sym|batch_norm|native|q)_|choose_qparams|fused_moving"
    r"|embedding_renorm|qscheme|u?int[1-7]$|quint|qint|bits|float[48]|norm_except|from_file"
    r"|is_(vulkan|ipu|xla|maia|mtia|hpu|mps|xpu|mkldnn)|unsafe_|cuda(Status|rt)|USE_|PRIVATE"
    r"|.*(_copy|_cuda)$|.*(autocast_(ipu|xla)|TunableOp)|.*_notes$|TYPE_CHECKING"
)
_FOREIGN = {"typing", "typing_extensions", "collections", "enum", "abc", "contextlib", "functools"}


def _home(package: str, space: str) -> Any:
    """The module or class that is the namespace."""
    if space == "Tensor":
        return importlib.import_module(package).Tensor
    return importlib.import_module(package if space == "torch" else f"{package}.{space}")


def pytorch_names(space: str) -> Iterator[str]:
    """The names of a namespace of PyTorch that have documentation of their own."""
    home = _home("torch", space)
    listed = None if space in ("torch", "Tensor") else getattr(home, "__all__", None)
    for name in sorted(set(listed or dir(home))):
        operator = space == "Tensor" and re.fullmatch(r"__\w+__", name) and name not in dir(object)
        if _INTERNAL.match(name) and not operator:
            continue
        value = getattr(home, name, None)
        module = getattr(value, "__module__", None) or ""
        if inspect.ismodule(value) or module in _FOREIGN or value is None:
            continue
        if space == "torch" and isinstance(value, type) and module.startswith("torch._C"):
            continue
        if operator or str(value.__doc__ or "").strip():
            yield name


def record() -> str:
    """The text of ``pytorch_names.txt``; needs PyTorch."""
    import torch

    if not torch.__version__.startswith(f"{absent.PYTORCH}."):
        sys.exit(f"PyTorch {absent.PYTORCH} is recorded, {torch.__version__} is installed")
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for space in SPACES:
            try:
                lines.append(" ".join([f"{space}:", *pytorch_names(space)]))
            except ModuleNotFoundError as error:
                sys.exit(f"torch.{space} needs {error.name}: pip install {error.name}")
    return "\n".join(lines) + "\n"


def _there(space: str) -> set[str]:
    try:
        home = _home("tensorbus", space)
    except ModuleNotFoundError:
        return set()
    return {name for name in absent.documented()[space] if hasattr(home, name)}


def page() -> str:
    """The text of the page."""
    rows, missing, have, total = [], [], 0, 0
    for space, names in absent.documented().items():
        there = _there(space)
        have, total = have + len(there), total + len(names)
        title = "torch" if space == "torch" else f"torch.{space}"
        rows.append(f"| `{title}` | {len(there)} | {len(names) - len(there)} |")
        if len(there) < len(names):
            listed = ", ".join(f"`{name}`" for name in sorted(names - there))
            missing.append(f"**{title}**: {listed}\n")
    differences = (f"| {what} | {how} |" for what, how in DIFFERENCES.items())
    return "\n".join(
        [
            "# What of PyTorch is there",
            "",
            "Made by `scripts/coverage`, not written by hand. A program written for PyTorch runs",
            "after `import tensorbus as torch` as far as the names it uses are present. A name",
            "that is absent raises an `AttributeError` that says so and names this page.",
            "",
            f"{have:,} of the {total:,} names that PyTorch {absent.PYTORCH} documents are present.",
            "",
            "| namespace | present | absent |",
            "|---|---|---|",
            *rows,
            "",
            "## Different",
            "| what | how it differs |",
            "|---|---|",
            *differences,
            "",
            "## Absent",
            *missing,
        ]
    )


def main(words: list[str]) -> None:
    """Write the names if asked to, then the page."""
    if words == ["record"]:
        absent.NAMES.write_text(record(), "utf-8")
        absent.documented.cache_clear()
    elif words:
        sys.exit("coverage: without a word it writes docs/coverage.md, with `record` the names too")
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
