"""How far PyTorch's own results move when each of its operations is off by a rounding."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from tests.differential.comparison import EPSILON, EPSILON_FLOAT64, ULPS_OF_MATRICES
from tests.differential.programs import Program, run
from tests.differential.seen import Seen

RUNS = 6

# They move or choose elements: nothing is rounded.
EXACT = frozenset(
    "as_strided view _unsafe_view reshape expand permute transpose t select slice unsqueeze "
    "squeeze transpose_ t_ unsqueeze_ squeeze_ as_strided_ alias detach detach_ clone copy_ "
    "_to_copy cat stack index index_put_ gather scatter "
    "masked_fill_ fill_ zero_ empty empty_like new_empty zeros zeros_like ones ones_like full "
    "full_like split unbind flip roll constant_pad_nd lift_fresh _local_scalar_dense view_as_real "
    "view_as_complex real imag scalar_tensor empty_strided new_empty_strided new_zeros diagonal "
    "resolve_conj resolve_neg conj _conj equal item amax amin max min maximum minimum sort median "
    "nanmedian kthvalue topk mode cummax cummin where relu sign isnan eq ne lt le gt ge".split()
)


def wobbled(program: Program, torch: Any) -> tuple[list[Seen], ...]:
    """What *program* is seen to do in runs whose operations are each off by a rounding."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    class Wobbling(TorchDispatchMode):
        def __init__(self, seed: int) -> None:
            super().__init__()
            self.random = torch.Generator().manual_seed(seed)

        def moved(self, value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or not value.numel():
                return value
            if not (value.is_floating_point() or value.is_complex()):
                return value
            dtype = str(value.dtype).removeprefix("torch.")
            wide = value.to(torch.complex128 if value.is_complex() else torch.float64)
            # Products of complex numbers are rounded on the scale of their absolute values (Higham,
            # Accuracy and Stability, 3.6), in either part; parts that are 0 are of real numbers.
            parts = torch.view_as_real(wide.resolve_conj()) if value.is_complex() else wide
            size = wide.abs().unsqueeze(-1) * (parts != 0) if value.is_complex() else wide
            noise = torch.rand(parts.shape, generator=self.random, dtype=torch.float64) + 1
            noise = noise * (torch.randint(3, parts.shape, generator=self.random) - 1)
            moved = parts + noise * EPSILON.get(dtype, EPSILON_FLOAT64) * size
            parts = torch.where(torch.isfinite(size), moved, parts)  # 0 of infinity is NaN
            return (torch.view_as_complex(parts) if value.is_complex() else parts).to(value.dtype)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            kwargs = kwargs or {}
            name = func.__name__.partition(".")[0]
            schema = func._schema
            written = [a.alias_info is not None and a.alias_info.is_write for a in schema.arguments]
            aliases = any(r.alias_info is not None for r in schema.returns)
            if name == "_efficientzerotensor":  # of which few operations run in such a mode
                return torch.zeros(*args, dtype=kwargs.get("dtype"))
            exact = name in EXACT or (name == "sgn" and not args[0].is_complex())
            if exact or (aliases and not any(written)):
                return func(*args, **kwargs)
            args = [
                a if w else tree_map(self.moved, a)
                for a, w in zip(args, [*written, *[False] * len(args)], strict=False)
            ]
            result = func(*args, **kwargs)
            if any(written):
                if isinstance(result, torch.Tensor) and result is args[0]:
                    result.copy_(self.moved(result))
                return result
            return tree_map(self.moved, result)

    runs = []
    for seed in range(RUNS):
        with Wobbling(seed):
            runs.append(run(program, torch))
    return tuple(runs)


_LEAST_SQUARES = re.compile(r"(\w+) = torch\.linalg\.lstsq\((\w+), ")


def roundings(program: Program, name: str, seen: list[Seen]) -> float:
    """How many roundings of the largest one *name*'s numbers may be off, if they are a matrix.

    Solutions of least squares are computed from singular values here, and without them there.
    LAPACK's bdsqr takes what stands beside the diagonal for 0 where it is below TOLMUL * u of it,
    TOLMUL being max(10, min(100, u**(-1/8))): so the matrix is off by that, relative to its norm,
    and the solution by its condition number times that (Higham, Accuracy and Stability, 20.1).
    """
    solved = map(_LEAST_SQUARES.match, program.lines)
    operand = next((made[2] for made in solved if made and made[1] == name), "")
    a = next((s.values for s in seen if s.name == operand and s.values is not None), None)
    if not operand or a is None or not a.size:
        return ULPS_OF_MATRICES
    u = np.finfo(a.dtype).eps / 2
    neglected = max(10.0, min(100.0, u ** (-1 / 8))) / 2  # in units of the spacing, 2 u
    return ULPS_OF_MATRICES + neglected * float(np.linalg.cond(a).max())
