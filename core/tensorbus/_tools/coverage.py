"""Writes ``docs/coverage.md``: which of PyTorch's names are there, which differ or are absent.

``scripts/coverage`` writes the page; a test compares it with what this module makes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorbus
from tensorbus._base import absent
from tensorbus._base.refused_names import is_refused
from tensorbus._tools.left_out import LEFT_OUT, reasons

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"

DIFFERENCES = {
    "`conj`": "computes at once: no view, `is_conj` is False, a write to it leaves its source",
    "integer division by zero": "raises; on asynchronous devices a zero in a tensor gives 0",
    "floats that int8, int16 and uint8 have no number for": "the lower bits of the int64 "
    "number, on each device; PyTorch's hang on the way it takes",
    "uint16, uint32, uint64, float8": "hold values on `cpu`, `meta` and devices whose kernels are "
    "generated; indexing, masks and ranges work for all, where PyTorch lacks some",
    "complex32": "on `cpu` and `meta`",
    "float16 with a complex number": "gives complex64, for few ops compute on complex32",
    "derivatives at kinks": "PyTorch's, but second derivatives of norms and `sgn` "
    "at zero are finite zeros",
    "`use_deterministic_algorithms`": "refuses no op: all have a deterministic way on each device",
    "hooks for saved tensors": "see what the rules here read, which may be other tensors",
    "`has_lapack`, `has_spectral`": "True: linear algebra and transforms work on every device, by "
    "whatever library a backend brings; `has_mkl` and `has_openmp` are False",
    "`SymInt`, `SymFloat`, `SymBool`": "types that nothing is an instance of: nothing is traced",
    "`cond`, `while_loop`": "run as they come, and record; in `vmap`, `cond` runs both branches",
    "`Tensor.grad_dtype`": "gradients that meet at a leaf are added in the leaf's dtype first; "
    "with None they have that dtype, and what is assigned to `.grad` may have any",
    "`hash_tensor`": "needs uint64, and float64 for floating point: TypeError on other devices",
    "`linalg.eigh`, `svd`, their values": "LinAlgError on every device for what is not finite",
    "`symeig`, `eig`, `solve`, `lstsq`, `matrix_rank`": "PyTorch has removed them from `torch`; "
    "here they work and warn, as `gesv`, `trtrs`, `potrf` and `btrifact` do",
    "factors of matrices": "of LU, LDL and `geqrf` they are column-major; Q and others are "
    "row-major, which in PyTorch are column-major, too",
    "`torch.compile`": "returns what it is given, and warns once that nothing is compiled",
    "`torch.backends`, `set_float32_matmul_precision`": "flags are kept and change no result; the "
    "libraries are not used, so `is_available()` is False",
    "sparse tensors": "objects of a class of their own, made of dense tensors: `values()` is the "
    "tensor that carries the history, so the gradient of a sparse leaf has its places; coordinates "
    "are checked unless `check_invariants=False`; products of equal sparse tensors are coalesced",
    "`Tensor`, `FloatTensor` and `x.new`": "take `requires_grad`, too, which PyTorch's refuse",
    "`torch.version`": "`cuda` and `hip` are None on every machine: plugins bring their libraries",
    "`profiler`, `autograd.profiler`": "what devices take is not measured: launches are timed on "
    "the host; ops have the names of the rows here behind `aten::`, mostly PyTorch's; memory is "
    "what results hold, for nothing tells when it is freed, so `export_memory_timeline` is refused"
    "; a profile inside another is refused",
    "`emit_nvtx`, `emit_itt`, `load_nvprof`": "always an error: no such profiler listens here",
    "`autocast`": "PyTorch's list for the CPU there, its list for CUDA on all other devices, where "
    "`2 / x` stays as it is; `linalg.pinv`, `det` and `max_pool3d` with indices compute in "
    "float32, recurrent layers and cells in the dtype of 16 bits, also on the CPU; sparse matrices "
    "stay; a parameter that is written to is converted again",
    "`GradScaler`": "fused optimisers do not unscale themselves: none is here",
    "`set_flush_denormal`": "returns False: no device is asked to treat denormal numbers as zeros",
    "`poisson`, `binomial`": "an infinite rate or count gives infinity; `binomial` has no graph",
    "`Tensor.as_strided` inside `vmap`": "refused: an element of a batch has no storage of its own",
    "`func.rearrange`": "ValueError where PyTorch raises its DimensionBindError",
    "`autograd.Function` inside `vmap`": "without a rule its static methods run on batches, as "
    "with `generate_vmap_rule`, where PyTorch refuses it",
    "`create_selective_checkpoint_contexts`": "policies see the ops of the rows here, so that `mm` "
    "is `matmul`; views, writes and ops that convert operands first always run again",
    "`nn.attention.flex_attention`": "has gradients on every device and computes in blocks of "
    "queries, without a warning that it is not compiled; blocks that a `BlockMask` does not list "
    "are not seen, whatever its function says; `_adjust` cuts the mask that is there",
    "`nn.attention.varlen_attn`": "takes every floating point dtype on every device; the ends of "
    "sequences are read on the host",
    "`nn.attention.sdpa_kernel`": "keeps the choice and changes no result; an error where no way "
    "is left",
    "`causal_lower_right` with more queries than keys": "queries that see no key get zeros, where "
    "PyTorch warns of NaN",
    "`grouped_mm`, `scaled_mm`": "take any strides; what no group has is zero; ends are read on "
    "the host; scales in the order of one maker's kernels are refused",
    "graphs, pools and sensors of `torch.cuda`": "the names are there, and raise when used: no "
    "backend offers them",
    "`__future__`": "parameters stay the same objects in conversions, as with PyTorch's swap",
    "`utils.swap_tensors`": "refuses tensors that a node has, where PyTorch lets the backward pass "
    "fail",
    "`random.fork_rng`": "keeps the one stream of all devices, whatever devices it is given",
    "`share_memory_` where other tensors use the storage": "refused, for they would stay behind; a "
    "tensor's own moves it with its base, before others are made",
    "`torch.Stream`": "`device_type` is the type's name; `stream_id` is the driver's number",
    "streams and backward passes": "a pass runs in the current stream, not in those of the forward "
    "pass; all streams that were used wait for each other around it",
    "`memory_stats`": "bytes allocated and reserved, with peaks: no pools, no counts",
    "`cuda.get_arch_list`": "is empty on every machine: kernels are compiled when needed",
    "overlapping writes": "`x[1:] = x[:-1]` reads its source first; PyTorch leaves it undefined",
    "numbers beside float16 and bfloat16": "are rounded to the dtype first; PyTorch's CPU computes "
    "with all their digits",
    "dtypes that an op of PyTorch's CPU lacks": "are computed where the op has a meaning for them",
    "`detach_` of a tensor that a rule reads": "the backward pass goes on; PyTorch refuses it",
    "writes to a view whose base got a history after it was taken": "are recorded; PyTorch refuses "
    "those that come before the view was used. Nodes of further views are AsStridedBackward0",
    "`slogdet`": "the sign of a real determinant is a constant, and does not require a gradient",
    "`linalg.solve_triangular` with zeros on the diagonal": "which numbers are NaN and which are "
    "infinite may differ",
    "faults of PyTorch 2.13": "are not copied: it fails inside some products of halves by "
    "`index_reduce_` and in backward passes from `sgn` to a norm or through a number written to an "
    "expanded tensor; gradients through `view_as_real` of what was transposed in place since are "
    "refused or wrong; second derivatives of `logcumsumexp` are NaN or wrong where the gradient is "
    "0, those of `angle` and `sgn` of complex numbers NaN at 0; gradients of `cummax` and `cummin` "
    "of no elements depend on their input; `inner` of booleans works for some strides; "
    "`max_pool3d` refuses four dimensions that lie channels last",
    "complex sums with NaN or infinity in one part": "leave the other part as it is; PyTorch "
    "multiplies by `alpha`, which is 1, and makes both NaN",
    "signs of NaN": "are nobody's promise: those of `bfloat16` may differ in `signbit`",
    "`remainder` and `%` of floats": "zeros have the divisor's sign, as the numbers do and "
    "Python's; PyTorch's have the dividend's",
    "`logcumsumexp` of complex numbers": "imaginary parts may be a whole number of turns apart",
    "`neg` of complex numbers": "zeros change their sign in every element; those of PyTorch's "
    "vectorised loop are 0",
    "views taken without a history, as in `no_grad`, of what has one": "gradients towards them are "
    "computed and thrown away, so what these read may not be written to before",
    "`i0`, `i1`, Bessel functions and `airy_ai` of infinite numbers": "their limits, where "
    "PyTorch has NaN",
    "powers of a complex 0 to negative exponents": "NaN, where PyTorch has inf in one part",
    "`fft.*` of some dimensions but the last": "the result is row-major, where PyTorch's strides "
    "hang on which dimensions were transformed",
    "`library`": "kernels are for device types, `Autograd` and the two composites, and for no ops "
    "of `aten`; fallbacks of a key are refused; gradients through what an op without a formula "
    "wrote to are an error; formulas work in `func` and forward mode, and batches of lists too",
    "`distributions.LKJCholesky.sample`": "correlations have the paper's distribution, that of "
    "`log_prob`; PyTorch's have another one from three dimensions on",
    "`distributions.kl_divergence`": "finite for `ContinuousBernoulli` and `Uniform(0, 1)`; "
    "infinite ones have the shape of both batches; between two `Wishart` gradients reach both",
    "`distributions.Kumaraswamy.mode`": "PyTorch's is NaN wherever `concentration0` exceeds 1",
    "`distributions.Wishart.rsample`": "warns of singular samples, PyTorch of regular ones",
}
"""Present names that do not do all that PyTorch's do; each line is the whole difference."""


FIGURES = PAGE.parents[1] / "tests" / "support" / "array_api_figures.json"
"""How many functions of the array API standard are called, and how many programs give what
array-api-strict gives, by device, and why others do not; a test holds them."""


def _array_api(figures: Any) -> list[str]:
    lines = []
    for device, (passed, others) in figures["programs"].items():
        left = "; ".join(f"{n} {why}" for why, n in others.items()) or "none"
        lines.append(f"| `{device}` | {passed + sum(others.values())} | {passed} | {left} |")
    return lines


def _namespace(space: str) -> Any:
    if space == "Tensor":
        return tensorbus.Tensor
    return importlib.import_module("tensorbus" if space == "torch" else f"tensorbus.{space}")


def present(space: str) -> set[str]:
    """The documented names of a namespace that are there."""
    try:
        home = _namespace(space)
    except ModuleNotFoundError:
        return set()
    return {
        name
        for name in absent.documented()[space]
        if hasattr(home, name) and not is_refused(name if space == "torch" else f"{space}.{name}")
    }


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _left_out() -> list[str]:
    """Each reason, and the names that it is the reason for."""
    lines = []
    for reason, spaces in LEFT_OUT:
        lines.append(f"{reason}\n")
        for space, names in spaces.items():
            title = "torch" if space == "torch" else f"torch.{space}"
            lines.append(f"- **{title}**: {_listed(names.split())}")
        lines.append("")
    return lines


def page() -> str:
    """The text of the page."""
    rows, missing, have, total = [], [], 0, 0
    figures = json.loads(FIGURES.read_text("utf-8"))
    explained = reasons()
    for space, names in absent.documented().items():
        there = present(space)
        have, total = have + len(there), total + len(names)
        title = "torch" if space == "torch" else f"torch.{space}"
        rows.append(f"| `{title}` | {len(there)} | {len(names) - len(there)} |")
        if len(there) < len(names):
            later = [n for n in names - there if (space, n) not in explained]
            if later:
                missing.append(f"**{title}**: {_listed(later)}\n")
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
            "## The array API standard",
            "`tensorbus.array_api` has all names of the standard, 2025.12. Its "
            f"{figures['functions']} functions are called",
            "by programs, whose results are compared with array-api-strict in dtype, shape,",
            "values and signs of zeros. The tests also draw programs at random and ask the "
            "standard's tables of special",
            "values. Its own suite, `array-api-tests`, is on no package index and is not run.",
            "",
            "| device | programs | equal | others |",
            "|---|---|---|---|",
            *_array_api(figures),
            "",
            "## Different",
            "| what | how it differs |",
            "|---|---|",
            *differences,
            "",
            "## Left out",
            *_left_out(),
            "## Not there yet",
            *missing,
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
