"""Level 5: weights made of others (norms, parametrizations), pruned or fused: ``nn.utils``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import nn
from tensorbus.nn import utils
from tensorbus.nn.utils import parametrizations, parametrize, prune
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch, expect
from tensorbus_conformance.trial import Trial

FAMILY = "training"
DTYPES = (formats.FLOAT32, formats.FLOAT64)
_ULP = 32.0
"""Allowed error of products and norms of a dozen numbers, at the largest element."""

Check = Callable[[Dtype, Trial], None]


def cases() -> Iterator[Case]:
    for (name, variant), check in UTILS.items():
        for dtype in DTYPES:
            yield Case(
                f"L5/nn.utils.{name}/{dtype.name}/{variant}",
                FAMILY,
                functools.partial(check, dtype),
                (dtype,),
            )


def _drawn(dtype: Dtype, *shape: int) -> np.ndarray:
    host = values.rng("weight", *shape).uniform(0.25, 2.0, shape)
    return np.asarray(formats.round_to(host, dtype), np.float64)


def _linear(bench: Bench, dtype: Dtype, inputs: int = 4, outputs: int = 3) -> Any:
    layer = nn.Linear(inputs, outputs, dtype=dtype, device=bench.device)
    with tensorbus.no_grad():
        layer.weight.copy_(_send(bench, dtype, outputs, inputs))
    return layer


def _send(bench: Bench, dtype: Dtype, *shape: int) -> Any:
    return bench.send(_drawn(dtype, *shape).astype(formats.value_dtype(dtype)), dtype)


# -- norms -----------------------------------------------------------------------------------
def _made(make: Callable[..., Any], layer: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the older forms say that they are old
        return make(layer, **options)


def _weight_norm(
    make: Callable[..., Any], names: tuple[str, str], remove: Any, dtype: Dtype, t: Trial
) -> None:
    """Rows of a length that is trained: v * g / |v|, its gradients, and a plain weight again."""
    bench = Bench(t)
    layer = _made(make, _linear(bench, dtype))
    v = _drawn(dtype, 3, 4)
    g, length = 2 * np.linalg.norm(v, axis=1, keepdims=True), np.linalg.norm(v, axis=1)[:, None]
    length_of, direction = (layer.get_parameter(name) for name in names)
    with tensorbus.no_grad():
        length_of.mul_(2)
    layer(tensorbus.ones(1, 4, dtype=dtype, device=bench.device)).sum().backward()
    bench.same(layer.weight, v * g / length, dtype, _ULP, "norm")
    along = (v / length).sum(1, keepdims=True)
    bench.same(length_of.grad, along, dtype, _ULP, "norm", where="gradient of the length: ")
    across = g / length * (1 - v / length * along)
    bench.same(direction.grad, across, dtype, _ULP, "norm", where="gradient of the direction: ")
    remove(layer)
    expect(sorted(dict(layer.named_parameters())) == ["bias", "weight"], "it is no plain layer")
    bench.same(layer.weight, v * g / length, dtype, _ULP, "norm")


def _spectral_norm(make: Callable[..., Any], remove: Any, dtype: Dtype, t: Trial) -> None:
    """After many calls the largest singular value is 1, and stays so when the norm is removed."""
    bench = Bench(t)
    layer = _made(make, _linear(bench, dtype), n_power_iterations=4)
    for _ in range(20):
        layer(tensorbus.ones(1, 4, dtype=dtype, device=bench.device))
    layer.eval()
    layer(tensorbus.ones(1, 4, dtype=dtype, device=bench.device))
    weight = _drawn(dtype, 3, 4)
    want = weight / np.linalg.svd(weight)[1][0]
    bench.same(layer.weight, want, dtype, _ULP, "norm")
    remove(layer)
    expect(isinstance(layer.weight, nn.Parameter), "the weight is no parameter")
    bench.same(layer.weight, want, dtype, _ULP, "norm")


def _orthogonal(how: str, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    layer = parametrizations.orthogonal(_linear(bench, dtype, 3, 5), orthogonal_map=how)
    for _ in range(2):
        q = bench.read(layer.weight).astype(np.float64)
        error = np.abs(q.T @ q - np.eye(3)).max()
        bound = 64 * formats.unit_roundoff(dtype)
        expect(error <= bound, f"off orthogonality by {error:.3g}, allowed {bound:.3g}")
        (layer.weight * _send(bench, dtype, 5, 3)).sum().backward()
        original = layer.parametrizations.weight.original
        with tensorbus.no_grad():
            original.sub_(original.grad * 0.125)
    moved = np.abs(bench.read(layer.weight) - q).max()
    expect(moved > 1e-3, "a step along the gradient left the matrix where it was")


# -- pruning ---------------------------------------------------------------------------------
def _least(weight: np.ndarray) -> np.ndarray:
    return np.abs(weight) > np.sort(np.abs(weight), axis=None)[4]


def _rows(weight: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(weight, axis=1, keepdims=True)
    return np.broadcast_to(norms > norms.min(), weight.shape)


_CHECKER = np.indices((3, 4)).sum(0) % 2


def _pruned(
    prunes: Callable[[Any, Bench], Any],
    mask_of: Callable[[np.ndarray], np.ndarray],
    dtype: Dtype,
    t: Trial,
) -> None:
    bench = Bench(t)
    layer, weight = _linear(bench, dtype), _drawn(dtype, 3, 4)
    prunes(layer, bench)
    mask = mask_of(weight).astype(np.float64)
    bench.same(layer.weight_mask, mask, dtype, 0)
    layer(tensorbus.ones(1, 4, dtype=dtype, device=bench.device)).sum().backward()
    bench.same(layer.weight, weight * mask, dtype, 0)
    bench.same(layer.weight_orig.grad, mask, dtype, 0)
    prune.remove(layer, "weight")
    bench.same(layer.weight, weight * mask, dtype, 0)


def _pruned_at_random(prunes: Callable[[Any], Any], zeros: int, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    mask = bench.read(prunes(_linear(bench, dtype)).weight_mask)
    expect(int((mask == 0).sum()) == zeros, f"{mask} has other than {zeros} zeros")
    expect(set(np.unique(mask)) <= {0.0, 1.0}, f"{mask} is no mask")


# -- fused layers ----------------------------------------------------------------------------
def _with_statistics(bench: Bench, dtype: Dtype, norm: Any) -> Any:
    norm = norm.to(device=bench.device, dtype=dtype).eval()
    with tensorbus.no_grad():
        for i, tensor in enumerate((norm.running_mean, norm.running_var, norm.weight, norm.bias)):
            tensor.copy_(_send(bench, dtype, i + 1, len(tensor))[i])
    return norm


def _fused(
    first: Any, norm: Any, shape: tuple[int, ...], fuse: Any, dtype: Dtype, t: Trial
) -> None:
    bench = Bench(t)
    layer = first().to(device=bench.device, dtype=dtype).eval()
    after = _with_statistics(bench, dtype, norm())
    x = _send(bench, dtype, *shape)
    want = bench.read(after(layer(x))).astype(np.float64)
    bench.same(fuse(layer, after)(x), want, dtype, _ULP, "norm")


def _by_weights(fuse: Any, layer: Any, norm: Any) -> Any:
    layer.weight, layer.bias = fuse(
        layer.weight, layer.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight,
        norm.bias,
    )  # fmt: skip
    return layer


_CONV = (lambda: nn.Conv2d(2, 3, 2), lambda: nn.BatchNorm2d(3), (1, 2, 4, 4))
_LINEAR = (lambda: nn.Linear(4, 3), lambda: nn.BatchNorm1d(3), (2, 4))


# -- others ----------------------------------------------------------------------------------
def _skipped(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    layer = utils.skip_init(nn.Linear, 4, 3, device=bench.device, dtype=dtype)
    found, other = layer.weight, _linear(bench, dtype)
    if (found.device, found.dtype, found.shape) != (other.weight.device, dtype, (3, 4)):
        raise Mismatch(f"made {found.dtype} of {tuple(found.shape)} on {found.device}")
    layer.load_state_dict(other.state_dict())
    bench.same(layer.weight, _drawn(dtype, 3, 4), dtype, 0)


def _memory_format(rank: int, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    layer = getattr(nn, f"Conv{rank}d")(4, 2, 3).to(device=bench.device, dtype=dtype)
    before = bench.read(layer.weight)
    format = tensorbus.channels_last if rank == 2 else tensorbus.channels_last_3d
    getattr(utils, f"convert_conv{rank}d_weight_memory_format")(layer, format)
    expect(layer.weight.is_contiguous(memory_format=format), "the weight has another format")
    bench.same(layer.weight, before.astype(np.float64), dtype, 0)


_OLD_NAMES = ("weight_g", "weight_v")
_NEW_NAMES = ("parametrizations.weight.original0", "parametrizations.weight.original1")
_plain = functools.partial(parametrize.remove_parametrizations, tensor_name="weight")
_old_weight = functools.partial(
    _weight_norm, utils.weight_norm, _OLD_NAMES, utils.remove_weight_norm
)
_old_spectral = functools.partial(_spectral_norm, utils.spectral_norm, utils.remove_spectral_norm)

UTILS: dict[tuple[str, str], Check] = {
    ("weight_norm", "plain"): _old_weight,
    ("remove_weight_norm", "plain"): _old_weight,
    ("spectral_norm", "plain"): _old_spectral,
    ("remove_spectral_norm", "plain"): _old_spectral,
    ("parametrizations.weight_norm", "plain"): functools.partial(
        _weight_norm, parametrizations.weight_norm, _NEW_NAMES, _plain
    ),
    ("parametrizations.spectral_norm", "plain"): functools.partial(
        _spectral_norm, parametrizations.spectral_norm, _plain
    ),
    **{
        ("parametrizations.orthogonal", how): functools.partial(_orthogonal, how)
        for how in ("matrix_exp", "cayley", "householder")
    },
    ("prune.l1_unstructured", "plain"): functools.partial(
        _pruned, lambda layer, bench: prune.l1_unstructured(layer, "weight", 5), _least
    ),
    ("prune.ln_structured", "plain"): functools.partial(
        _pruned, lambda layer, bench: prune.ln_structured(layer, "weight", 1, 2, 0), _rows
    ),
    ("prune.custom_from_mask", "plain"): functools.partial(
        _pruned,
        lambda layer, bench: prune.custom_from_mask(
            layer, "weight", tensorbus.tensor(_CHECKER).to(bench.device)
        ),
        lambda weight: _CHECKER,
    ),
    ("prune.global_unstructured", "plain"): functools.partial(
        _pruned,
        lambda layer, bench: prune.global_unstructured(
            [(layer, "weight")], prune.L1Unstructured, amount=5
        ),
        _least,
    ),
    ("prune.random_unstructured", "plain"): functools.partial(
        _pruned_at_random, lambda layer: prune.random_unstructured(layer, "weight", 5), 5
    ),
    ("prune.random_structured", "plain"): functools.partial(
        _pruned_at_random, lambda layer: prune.random_structured(layer, "weight", 1, 0), 4
    ),
    ("fuse_conv_bn_eval", "plain"): functools.partial(_fused, *_CONV, utils.fuse_conv_bn_eval),
    ("fuse_linear_bn_eval", "plain"): functools.partial(
        _fused, *_LINEAR, utils.fuse_linear_bn_eval
    ),
    ("fuse_conv_bn_weights", "plain"): functools.partial(
        _fused, *_CONV, functools.partial(_by_weights, utils.fuse_conv_bn_weights)
    ),
    ("fuse_linear_bn_weights", "plain"): functools.partial(
        _fused, *_LINEAR, functools.partial(_by_weights, utils.fuse_linear_bn_weights)
    ),
    ("skip_init", "plain"): _skipped,
    ("convert_conv2d_weight_memory_format", "plain"): functools.partial(_memory_format, 2),
    ("convert_conv3d_weight_memory_format", "plain"): functools.partial(_memory_format, 3),
}  # fmt: skip
