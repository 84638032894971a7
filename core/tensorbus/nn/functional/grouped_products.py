"""Products of groups of rows, and of matrices that carry scales."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """A product for each group of rows or columns, as mixtures of experts need.

    Shapes: (G, M, K) and (G, K, N) to (G, M, N). Of a two-dimensional operand *offs*, int32 (G,),
    says where each group ends: (T, K) and (G, K, N) to (T, N), (G, M, K) and (K, T) to (M, T) by
    groups of columns, (M, T) and (T, N) to (G, M, N) by groups of the summed dimension. What lies
    behind the last end is zero. *offs* is read on the host. *out_dtype* is that of the operands.

    RuntimeError, in PyTorch's words, for sizes, dtypes or ends that do not fit.

    >>> x, experts = tensorbus.ones(5, 4), tensorbus.ones(2, 4, 3)
    >>> ends = tensorbus.tensor([2, 5], dtype=tensorbus.int32)
    >>> tensorbus.nn.functional.grouped_mm(x, experts, offs=ends).shape
    torch.Size([5, 3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html
    """
    if mat_a.dtype is not mat_b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{scalar_name(mat_a.dtype)} != {scalar_name(mat_b.dtype)}"
        )
    _check(mat_a, mat_b, offs)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        return mat_a @ mat_b
    return _joined(mat_a, mat_b, offs)


def _joined(a: Tensor, b: Tensor, offs: Tensor) -> Tensor:
    groups = _groups(offs)
    if a.dim() == 2 and b.dim() == 2:
        return FUNCTIONS["stack"]([a[:, i:j] @ b[i:j] for i, j in groups])
    if a.dim() == 2:
        dim, total = 0, a.shape[0]
        found = [a[i:j] @ each for (i, j), each in zip(groups, b, strict=True)]
    else:
        dim, total = 1, b.shape[1]
        found = [each @ b[:, i:j] for (i, j), each in zip(groups, a, strict=True)]
    made = FUNCTIONS["cat"](found, dim)
    missing = total - made.shape[dim]
    if missing:
        shape = [*made.shape]
        shape[dim] = missing
        made = FUNCTIONS["cat"]([made, made.new_zeros(shape)], dim)
    return made


def _groups(offs: Tensor) -> list[tuple[int, int]]:
    ends = offs.tolist()
    return list(zip([0, *ends], ends, strict=False))


def _check(a: Tensor, b: Tensor, offs: Tensor | None) -> None:
    for name, t in (("mat_a", a), ("mat_b", b)):
        if t.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
        if not t.is_floating_point():
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got "
                f"{scalar_name(t.dtype)}"
            )
    flat = a.dim() == 2 or b.dim() == 2
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if a.dim() == 3 and b.dim() == 3 and a.shape[0] != b.shape[0]:
        raise RuntimeError("batched dimension has to match")
    if flat != (offs is not None):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is None:
        return
    if offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs.dtype is not dtypes.int32:
        raise RuntimeError("Offsets have to be int32")
    groups = [t.shape[0] for t in (a, b) if t.dim() == 3]
    if groups and groups[0] != offs.shape[0]:
        raise RuntimeError("matrix batch sizes have to match")
    ends, limit = offs.tolist(), a.shape[0] if b.dim() == 3 else b.shape[0 if a.dim() == 2 else 1]
    if any(not start <= stop <= limit for start, stop in zip([0, *ends], ends, strict=False)):
        raise RuntimeError(
            f"Offsets have to rise from 0 to at most {limit}, the size of the dimension that they "
            f"divide, but got {ends}"
        )


# -- scaled operands -------------------------------------------------------------------------
class ScalingType(enum.Enum):
    """For which parts of a matrix there is a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5

    def __int__(self) -> int:
        return int(self.value)


class SwizzleType(enum.Enum):
    """How scales are ordered in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1

    def __int__(self) -> int:
        return int(self.value)


_BLOCKS = {
    ScalingType.BlockWise1x16: (1, 16),
    ScalingType.BlockWise1x32: (1, 32),
    ScalingType.BlockWise1x128: (1, 128),
    ScalingType.BlockWise128x128: (128, 128),
}


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: Any = dtypes.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices that are multiplied by scales, usually of a float8 dtype.

    Shapes: (M, K) and (K, N) to (M, N). A recipe says what there are scales for: the matrix (one
    number), each row of *mat_a* (M, 1) and column of *mat_b* (1, N), or blocks along K: of 1 by n,
    (M, K / n) and (N, K / n), or of 128 by 128, (M / 128, K / 128) and (N / 128, K / 128). The
    product is computed in float32, *bias* (N,) is added, and the result rounded to *output_dtype*.
    *use_fast_accum* changes nothing.

    NotImplementedError for several scales of an operand and for swizzled ones; RuntimeError for
    shapes that do not fit.

    >>> x = tensorbus.ones(2, 16).to(tensorbus.float8_e4m3fn)
    >>> one, kind = tensorbus.tensor(0.5), tensorbus.nn.functional.ScalingType.TensorWise
    >>> tensorbus.nn.functional.scaled_mm(x, x.t(), one, kind, one, kind)
    tensor([[4., 4.],
            [4., 4.]], dtype=torch.bfloat16)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_mm.html
    """
    _refuse_swizzles(swizzle_a, swizzle_b)
    if contraction_dim and tuple(contraction_dim) != (1, 0):
        raise NotImplementedError(
            f"scaled_mm sums over dimensions 1 and 0, but contraction_dim is {contraction_dim}"
        )
    if mat_a.dim() != 2 or mat_b.dim() != 2 or mat_a.shape[1] != mat_b.shape[0]:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({list(mat_a.shape)} and "
            f"{list(mat_b.shape)})"
        )
    a = _unscaled("a", mat_a, scale_a, scale_recipe_a)
    b = _unscaled("b", mat_b.transpose(0, 1), scale_b, scale_recipe_b).transpose(0, 1)
    made = a @ b
    if bias is not None:
        made = made + bias.float()
    return made.to(output_dtype or mat_a.dtype)


def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: Any = dtypes.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """``grouped_mm`` of matrices with a scale for each row of *mat_a* and column of *mat_b*.

    Shapes: (T, K) with scales (T,), and (G, K, N) with scales (G, N), to (T, N); or (G, M, K) with
    (G, M) to (G, M, N). NotImplementedError for other recipes and ranks.

    >>> import tensorbus as torch
    >>> x, w, kind = torch.ones(2, 4), torch.ones(1, 4, 3), torch.nn.functional.ScalingType.RowWise
    >>> ends = torch.tensor([2], dtype=torch.int32)
    >>> scales = torch.ones(2), kind, torch.ones(1, 3), kind
    >>> torch.nn.functional.scaled_grouped_mm(x, w, *scales, offs=ends)
    tensor([[4., 4., 4.],
            [4., 4., 4.]], dtype=torch.bfloat16)
    """
    _refuse_swizzles(swizzle_a, swizzle_b)
    recipes = [_single("recipe", r) for r in (scale_recipe_a, scale_recipe_b)]
    if any(r is not ScalingType.RowWise for r in recipes) or mat_b.dim() != 3:
        raise NotImplementedError(
            "scaled_grouped_mm takes a scale for each row (ScalingType.RowWise) and a mat_b of "
            f"three dimensions, but got {recipes} and {mat_b.dim()}D"
        )
    _check(mat_a.float(), mat_b.float(), offs)
    rows, columns = _single("scale_a", scale_a), _single("scale_b", scale_b)
    a = mat_a.float() * rows.float().reshape(mat_a.shape[:-1]).unsqueeze(-1)
    b = mat_b.float() * columns.float().reshape(mat_b.shape[0], 1, mat_b.shape[2])
    made = a @ b if offs is None else _joined(a, b, offs)
    return (made if bias is None else made + bias.float()).to(output_dtype or mat_a.dtype)


def _refuse_swizzles(*given: Any) -> None:
    for kinds in given:
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind not in (None, SwizzleType.NO_SWIZZLE):
                raise NotImplementedError(
                    f"scales in the order {kind} are for one maker's kernels: give them row by row"
                )


def _single(name: str, given: Any) -> Any:
    if not isinstance(given, list):
        return given
    if len(given) != 1:
        raise NotImplementedError(
            f"scaled products take one {name} for an operand, but got {len(given)}"
        )
    return given[0]


def _unscaled(name: str, matrix: Tensor, scales: Any, recipes: Any) -> Tensor:
    """A matrix, whose last dimension is summed, in float32 and multiplied by its scales."""
    scale, recipe = _single(f"scale_{name}", scales).float(), _single("recipe", recipes)
    wide = matrix.float()
    rows, columns = matrix.shape
    if recipe is ScalingType.TensorWise:
        return wide * _shaped(name, scale, [()])
    if recipe is ScalingType.RowWise:
        return wide * _shaped(name, scale, [(rows, 1)])
    height, width = _BLOCKS[recipe]
    wanted = (-(-rows // height), -(-columns // width))
    spread = _shaped(name, scale, [wanted])
    for dim, (size, count) in enumerate(zip((height, width), (rows, columns), strict=True)):
        spread = spread.repeat_interleave(size, dim).narrow(dim, 0, count)
    return wide * spread


def _shaped(name: str, scale: Tensor, shapes: list[tuple[int, ...]]) -> Tensor:
    for shape in shapes:
        if scale.numel() == math.prod(shape):
            return scale.reshape(shape)
    raise RuntimeError(
        f"scale_{name} has to have {' or '.join(str(math.prod(s)) for s in shapes)} elements, of "
        f"shape {shapes[0]}, but got {list(scale.shape)}"
    )
