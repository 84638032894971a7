"""What the programs here share: numbers that are the same anywhere, and PyTorch's answers.

``same`` compares with ``answers/NAME.json``; with ``ECOSYSTEM_RECORD`` set it writes that file, as
the program ends. Random streams differ between the libraries, so that weights and data are NumPy's.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

_PROGRAM = Path(sys.argv[0])
_FILE = _PROGRAM.parent / "answers" / f"{_PROGRAM.stem.removeprefix('run_')}.json"
_RECORDING = "ECOSYSTEM_RECORD" in os.environ
_answers: dict[str, Any] = {} if _RECORDING else json.loads(_FILE.read_text())


def numbers(*shape: int, seed: int = 0, dtype: Any = None) -> Any:
    """A tensor of normally distributed numbers."""
    values = np.random.RandomState(seed).standard_normal(shape)
    return torch.tensor(values, dtype=dtype or torch.get_default_dtype())


def filled(module: Any, seed: int = 1) -> Any:
    """The module, with parameters that are the same anywhere."""
    stream = np.random.RandomState(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            shape = tuple(parameter.shape)
            values = stream.standard_normal(shape)
            if len(shape) > 1:
                values = values / np.sqrt(np.prod(shape[1:]))
            else:
                values = 0.1 * values + (1.0 if len(shape) == 1 and parameter.mean() == 1 else 0.0)
            parameter.copy_(torch.tensor(values))
    return module


def same(name: str, value: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Hold a tensor, a number or a text to what PyTorch gave."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    if not isinstance(value, str):
        value = np.asarray(value, dtype=np.float64).tolist()
    if _RECORDING:
        _answers[name] = value
        return
    theirs = _answers.pop(name)
    if isinstance(theirs, str):
        assert value == theirs, f"{name}: {value!r} and not {theirs!r}"
    else:
        np.testing.assert_allclose(value, theirs, rtol=rtol, atol=atol, err_msg=name)


def _end() -> None:
    if _RECORDING:
        _FILE.write_text(json.dumps(_answers, indent=1) + "\n")


atexit.register(_end)
