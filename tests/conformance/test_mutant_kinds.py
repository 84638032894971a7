"""Each way of ``mutant_kinds`` is caught by profile core, whichever primitive goes that way."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import mutant_kernels
import mutant_kinds
import pytest

import tensorbus
from tensorbus import discovery
from tensorbus.plugin import KERNEL_GROUPS, PRIMITIVES, Backend, may_decline
from tensorbus.plugin import POINTWISE as POINTWISE_PRIMITIVES
from tensorbus.rows.registry import ROWS
from tensorbus_conformance import select
from tensorbus_conformance.cases.kernel_state import identities
from tensorbus_conformance.primitives import CREATING, OF_ARRAYS, WRITING, domain
from tensorbus_conformance.runner import run_case
from tensorbus_conformance.trial import Device

CPU = discovery.backend("cpu")
OF_PRIMITIVES = {**mutant_kinds.ANY_KERNEL, **mutant_kinds.OF_POINTWISE}


def mutant(op: str, mutate: Callable[[Any], Any]) -> Backend:
    """The cpu backend with one kernel changed."""
    clone = copy.copy(CPU)

    def kernel(name: str, dtype: Any, index: int) -> Any:
        own = CPU.kernel(name, dtype, index)
        if name != op or own is None:
            return own
        return _declining(own, mutate) if getattr(own, "may_decline", False) else mutate(own)

    clone.kernel = kernel
    return clone


class _Declined(Exception):
    """A kernel leaves a call to the composition."""


def _declining(own: Any, mutate: Callable[[Any], Any]) -> Any:
    """A changed kernel that declines what its own declines: those calls nothing can spoil."""

    def taken(*args: Any, **options: Any) -> Any:
        made = own(*args, **options)
        if made is NotImplemented:
            raise _Declined
        return made

    wrong = mutate(taken)

    @may_decline
    def kernel(*args: Any, **options: Any) -> Any:
        try:
            return wrong(*args, **options)
        except _Declined:
            return NotImplemented

    return kernel


@functools.cache
def _cases(profile: str = "core") -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for case in select(profile=profile):
        found.setdefault(f"{case.level}/{case.op}", []).append(case)
    return found


_TELLING: list[str] = []
"""Variants of which a case fell, the latest first: what is wrong in one way falls by the same."""


def catches(backend: Backend, *ops: str, profile: str = "core") -> str | None:
    """The first case of those ops in a profile that falls."""
    # Those with the most to say of such mutants come last in a file of cases.
    cases = [case for op in ops for case in reversed(_cases(profile)[op])]
    places = {variant: place for place, variant in enumerate(_TELLING)}
    cases.sort(key=lambda case: places.get(case.variant, len(places)))
    with discovery.plugged(backend) as type:
        device = Device(backend, 0, type)
        try:
            for case in cases:
                if run_case(case, device, watch=False).bad:
                    if case.variant in places:
                        _TELLING.remove(case.variant)
                    _TELLING.insert(0, case.variant)
                    return case.id
        finally:
            device.close()
    return None


def concerned(kind: str) -> tuple[str, ...]:
    """The primitives that can be wrong in that way."""
    if kind == "aliases-its-operand":
        return tuple(
            op for op in OF_ARRAYS
            if op not in WRITING and any(any(identities(op, d)) for d in domain(op))
        )  # fmt: skip
    if kind in mutant_kinds.OF_POINTWISE:
        return tuple(op for op in OF_ARRAYS if op in POINTWISE_PRIMITIVES)
    if kind in ("memo-by-identity", "memo-by-first-value", "shared-scratch",
                "large-results-in-turn"):  # fmt: skip
        return tuple(op for op in OF_ARRAYS if op not in WRITING)
    if kind == "strided-integers":
        return tuple(op for op in OF_ARRAYS if any(not d.is_floating_point for d in domain(op))
                     and op != "where")  # fmt: skip
    return tuple(OF_ARRAYS)


def pairs() -> Iterator[tuple[str, str]]:
    for kind in OF_PRIMITIVES:
        yield from ((kind, op) for op in concerned(kind))


ALL = sorted(pairs())
SAMPLE = ALL[::19]


def _is_caught(kind: str, op: str) -> None:
    mutate = functools.partial(OF_PRIMITIVES[kind], op)
    assert catches(mutant(op, mutate), f"L1/{op}"), f"{op} that is wrong as {kind} conforms"


@pytest.mark.parametrize(("kind", "op"), SAMPLE)
def test_a_kind_of_mutant_is_caught(kind: str, op: str) -> None:
    _is_caught(kind, op)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_PRIMITIVES)
def test_every_primitive_wrong_in_that_way_is_caught(kind: str) -> None:
    for op in concerned(kind):
        _is_caught(kind, op)


@pytest.mark.parametrize("kind", mutant_kinds.FAULTY)
def test_a_kernel_of_indices_that_faults_wrongly_is_caught(kind: str) -> None:
    ops, mutate = mutant_kinds.FAULTY[kind]
    for op in ops:
        assert catches(mutant(op, functools.partial(mutate, op)), f"L1/{op}"), op


@pytest.mark.parametrize("name", mutant_kernels.KERNELS)
def test_a_kernel_wrong_in_its_own_way_is_caught(name: str) -> None:
    op, mutate, where = mutant_kernels.KERNELS[name]
    assert catches(mutant(op, mutate), where or f"L1/{op}"), name


@pytest.mark.parametrize("name", mutant_kernels.RUNTIMES)
def test_a_runtime_wrong_in_its_own_way_is_caught(name: str) -> None:
    make, where = mutant_kernels.RUNTIMES[name]
    assert catches(make(), where), name


# -- kernels beyond the primitives ---------------------------------------------------------------
POINTWISE = (
    "remainder hypot copysign gt ge neg sign ceil trunc rsqrt square reciprocal exp2 log2 log10 "
    "tan asin acos atan sinh cosh asinh acosh atanh sigmoid relu clamp clamp_min clamp_max isnan "
    "isinf isfinite logical_not digamma erf erfc erfinv igamma igammac lgamma logit"
).split()
ALONG = "softmax log_softmax logcumsumexp mean any all var".split()
ORDERS = "argsort_down top_indices kth_index".split()
NORMS = "nn.functional.layer_norm nn.functional.rms_norm nn.functional.batch_norm"
BACKWARD = {
    "conv2d_input": "nn.functional.conv2d", "conv2d_weight": "nn.functional.conv2d",
    "max_pool2d_backward": "nn.functional.max_pool2d",
    "avg_pool2d_backward": "nn.functional.avg_pool2d",
    "cross_entropy_backward": "nn.functional.cross_entropy",
    "softmax_backward": "softmax", "log_softmax_backward": "log_softmax",
    "gelu_backward": "nn.functional.gelu", "relu_backward": "nn.functional.relu",
    **dict.fromkeys(
        ("bag_spread", "bag_products", "bag_max_backward"), "nn.functional.embedding_bag"
    ),
    "bag_rows": "nn.functional.embedding_bag-sparse",
    "ctc_loss_backward": "nn.functional.ctc_loss",
    **dict.fromkeys(("sampled_spread", "sampled_products"), "nn.functional.grid_sample"),
    "lstm_layer_backward": "lstm",
    "gru_layer_backward": "gru", "rnn_layer_backward": "rnn_tanh",
    "recurrent_products": "gru rnn_tanh",
    **dict.fromkeys(("normalize_input", "normalize_weight"), NORMS),
}  # fmt: skip
RECURRENT = ("lstm_layer", "gru_layer", "rnn_layer")
OF_MANY = ("var layer_norm rms_norm batch_norm batch_norm_inference normalize_input "
           "normalize_weight softmax_backward log_softmax_backward gelu gelu_tanh "
           "gelu_backward").split()  # fmt: skip
"""Those that decline all calls but those with thousands of elements."""
CALLED = {
    "max_pool2d_indices": "nn.functional.max_pool2d", "flatnonzero": "nonzero",
    "cross_entropy": "nn.functional.cross_entropy", "concatenate": "cat",
    **{name: f"special.{name}" for name in ("erfcx", "ndtr", "log_ndtr", "ndtri", "xlog1py")},
    **{name: f"special.{name}" for name in ("bessel_y0", "bessel_y1")},
    "vector_norm": "linalg.vector_norm", "extreme_sum": "linalg.matrix_norm",
    **dict.fromkeys(("layer_norm", "rms_norm", "batch_norm", "batch_norm_inference"), NORMS),
    **dict.fromkeys(("gelu", "gelu_tanh"), "nn.functional.gelu"),
    **dict.fromkeys(("bag_sum", "bag_max"), "nn.functional.embedding_bag"),
    "sampled": "nn.functional.grid_sample",
    "lstm_layer": "lstm", "gru_layer": "gru", "rnn_layer": "rnn_tanh",
    "argsort_down": "sort", "top_indices": "topk", "kth_index": "kthvalue", "uniform": "rand",
    "normal": "randn", "linear": "nn.functional.linear",
    **BACKWARD,
}  # fmt: skip
"""Kernels that are called by ops of other names."""
FUSED = (*POINTWISE, *ALONG, "conv2d", "max_pool2d", "avg_pool2d", "ctc_loss", *CALLED)
OF_INTEGERS = (
    "remainder gt ge neg sign square relu clamp clamp_min clamp_max logical_not any all "
    "max_pool2d max_pool2d_indices concatenate argsort_down top_indices kth_index"
).split()
"""Those that take integers as they lie."""
FIXED = (
    "remainder hypot copysign neg sign ceil trunc rsqrt square reciprocal tan asin atan sinh asinh "
    "atanh relu clamp clamp_min clamp_max softmax log_softmax logcumsumexp mean any all conv2d "
    "max_pool2d avg_pool2d concatenate var layer_norm rms_norm batch_norm batch_norm_inference "
    "top_indices kth_index"
).split()
"""Those whose result can be an operand."""


FEW_RESULTS = ("mean", "any", "all", "max_pool2d_indices", "flatnonzero", "cross_entropy",
               "ctc_loss", "vector_norm", "extreme_sum", "normalize_weight",
               *(op for op in BACKWARD if op not in OF_MANY))  # fmt: skip
"""Those whose results have few elements in every call of the suite, or are read at once."""


def harmless(kind: str, op: str) -> bool:
    """Whether no program can see that a fused kernel is wrong in that way.

    Each backward pass has a gradient of its own to begin with; what ``flatnonzero`` gets is flat,
    and what it returns is not kept. What ``uniform`` and ``normal`` get are numbers, which alone
    say what is drawn. ``argsort_down`` takes no int64, which it returns. A bag and sampled planes
    get views made for each call, a recurrent layer such a product, and weights that lie apart, all
    but the simplest several; its products get views made for each call, and slopes, which differ
    where their other operands do. CTC gets a softmax of its own for each call; its backward pass
    gets the losses too, which differ where its other operands do.
    """
    if op in ("uniform", "normal"):
        return kind not in ("third-call", "shared-scratch", "large-results-in-turn", "two-threads")
    if kind == "large-results-in-turn":
        return op in FEW_RESULTS
    if kind == "aliases-its-operand":
        return op not in FIXED
    if kind == "strided-integers":
        return op not in OF_INTEGERS
    if kind == "memo-by-identity":
        return op in BACKWARD or op in (
            "flatnonzero",
            "bag_sum",
            "bag_max",
            "sampled",
            "ctc_loss",
            *RECURRENT,
        )
    if kind == "memo-by-first-value":
        return op in ("ctc_loss_backward", "recurrent_products")
    if kind == "nine-dimensions":
        return op not in (*POINTWISE, *ALONG, *ORDERS, *OF_MANY, "concatenate")
    if kind == "one-element":  # the gradient of a mean has no dimensions
        few = "lstm", "gru", "bag", "sampled", "ctc"
        return op == "cross_entropy_backward" or op in OF_MANY or op.startswith(few)
    if kind == "windows":
        few = "flatnonzero", "bag_rows", "ctc_loss", "recurrent_products", *RECURRENT
        return op.partition("_backward")[0] in few
    return kind == "shared-scratch" and op == "flatnonzero"


def fused_pairs() -> Iterator[tuple[str, str]]:
    for kind in mutant_kinds.ANY_KERNEL:
        yield from ((kind, op) for op in FUSED if not harmless(kind, op))


def profile_of(op: str) -> str:
    """Core; the exact streams of random numbers, and int32, are in no lesser profile than full."""
    return "full" if op in ("uniform", "normal", "argsort_down") else "core"


def cases_of(op: str) -> list[str]:
    """The ops of its profile that call a kernel."""
    names = (op, f"nn.functional.{op}", *CALLED.get(op, "").split())
    return [found for found in _cases(profile_of(op)) if found.partition("/")[2] in names]


def _fused_is_caught(kind: str, op: str) -> None:
    mutate = functools.partial(mutant_kinds.ANY_KERNEL[kind], op)
    caught = catches(mutant(op, mutate), *cases_of(op), profile=profile_of(op))
    assert caught, f"{op} that is wrong as {kind} conforms"


@pytest.mark.parametrize(("kind", "op"), sorted(fused_pairs())[::47])
def test_a_fused_kernel_wrong_in_that_way_is_caught(kind: str, op: str) -> None:
    _fused_is_caught(kind, op)


@pytest.mark.slow
@pytest.mark.parametrize("kind", mutant_kinds.ANY_KERNEL)
def test_every_fused_kernel_wrong_in_that_way_is_caught(kind: str) -> None:
    for op in (op for k, op in fused_pairs() if k == kind):
        _fused_is_caught(kind, op)


def test_all_fused_kernels_of_the_cpu_are_tried() -> None:
    float32 = tensorbus.float32
    own = {
        name for name, row in ROWS.items()
        if name not in PRIMITIVES and row.composite is not None and row.form != "view"
        and row.kernel is not None and CPU.kernel(name, float32, 0) is not None
        and name not in GROUPED
    }  # fmt: skip
    assert own == set(FUSED)


# -- kernels of the groups: decompositions and transforms ----------------------------------------
GROUPED = {name for group in KERNEL_GROUPS.values() for name in group}
OTHER_NAMES = {
    "fft_c2c": "fft.fft", "fft_real": "fft.fft", "fft_r2c": "fft.rfft", "fft_c2r": "fft.irfft",
    "fft_real_half": "fft.ihfft", "fft_c2r_forward": "fft.hfft",
    "linalg_geqrf": "geqrf",
}  # fmt: skip
DTYPES = dict.fromkeys(("fft_c2c", "fft_c2r", "fft_c2r_forward"), tensorbus.complex64)


def grouped() -> list[str]:
    """The kernels of groups that the cpu brings and an op calls."""
    return [n for n in sorted(GROUPED) if CPU.kernel(n, DTYPES.get(n, tensorbus.float32), 0)]


def _one_wrong(position: int, only_laid_out: bool, kernel: Any) -> Any:
    """A kernel with one of its results wrong, where an operand is not row-major or always."""

    def call(*args: Any) -> Any:
        laid_out = any(not a.flags.c_contiguous for a in mutant_kinds.arrays(args))
        made = kernel(*args)
        if only_laid_out and not laid_out:
            return made
        if not isinstance(made, tuple):
            return mutant_kinds.spoilt(made)
        at = position % len(made)
        return tuple(mutant_kinds.spoilt(r) if i == at else r for i, r in enumerate(made))

    return call


@pytest.mark.parametrize("only_laid_out", [False, True], ids=["always", "laid out"])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("name", grouped())
def test_a_decomposition_or_transform_that_is_wrong_is_caught(
    name: str, position: int, only_laid_out: bool
) -> None:
    op = OTHER_NAMES.get(name, name.replace("linalg_", "linalg."))
    wanted = [found for found in _cases("full") if found.partition("/")[2].startswith(op)]
    mutate = functools.partial(_one_wrong, position, only_laid_out)
    # Complex numbers are in no lesser profile.
    assert catches(mutant(name, mutate), *wanted, profile="full"), name


def test_the_sound_backend_passes() -> None:
    assert set(PRIMITIVES) == {*OF_ARRAYS, *CREATING}
    for op in ("add", "put", "sum", "argsort"):
        assert catches(copy.copy(CPU), f"L1/{op}") is None
