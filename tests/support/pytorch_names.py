"""PyTorch's documented public names: ``scripts/coverage record`` writes them where PyTorch is.

They lie beside ``tensorbus._base.absent``, which tells of those that are absent.
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


# Parts of PyTorch's C++ library and compiler that are importable, and no one's to call; and
# ``is_NAME_available``, which a comm brings under its own name.
_INTERNAL = re.compile(
    r"_|(cudnn|miopen|mkldnn|fbgemm|quantized|sym|batch_norm|native|q)_|choose_qparams|fused_moving"
    r"|embedding_renorm|qscheme|u?int[1-7]$|quint|qint|bits|float[48]|norm_except|from_file"
    r"|is_(vulkan|ipu|xla|maia|mtia|hpu|mps|xpu|mkldnn)|unsafe_|cuda(Status|rt)|USE_|PRIVATE"
    r"|.*(_copy|_cuda)$|.*(autocast_(ipu|xla)|TunableOp)|.*_notes$|TYPE_CHECKING"
    r"|is_(gloo|mpi|nccl|ucc|xccl)_available$"
)
# What ``copyreg`` keeps on a class once an instance of it has been copied.
_KEPT = "__slotnames__"
_FOREIGN = {"typing", "typing_extensions", "collections", "enum", "abc", "contextlib", "functools"}


def _namespace(space: str) -> Any:
    """The module or class that is the namespace."""
    if space == "Tensor":
        return importlib.import_module("torch").Tensor
    return importlib.import_module("torch" if space == "torch" else f"torch.{space}")


def names(space: str) -> Iterator[str]:
    """The names of a namespace of PyTorch that have documentation of their own."""
    home = _namespace(space)
    listed = None if space in ("torch", "Tensor") else getattr(home, "__all__", None)
    for name in sorted(set(listed or dir(home))):
        operator = space == "Tensor" and re.fullmatch(r"__\w+__", name) and name not in dir(object)
        if name == _KEPT or (_INTERNAL.match(name) and not operator):
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
    """The text of ``pytorch_names.txt``."""
    import torch

    if not torch.__version__.startswith(f"{absent.PYTORCH}."):
        sys.exit(f"PyTorch {absent.PYTORCH} is recorded, {torch.__version__} is installed")
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for space in SPACES:
            try:
                lines.append(" ".join([f"{space}:", *names(space)]))
            except ModuleNotFoundError as error:
                sys.exit(f"torch.{space} needs {error.name}: pip install {error.name}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(absent.NAMES).write_text(record(), "utf-8")
