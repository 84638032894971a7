"""The cases, one module for each family of primitives; each module has ``cases()``."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Sequence

from tensorbus_conformance.case import LEVELS, Case
from tensorbus_conformance.cases import (
    aliasing,
    aliasing_errors,
    aliasing_gradients,
    backward,
    casts,
    channels_last,
    copying,
    creation,
    deterministic,
    dtype_rules,
    empty_batches,
    exchange,
    factories,
    fused_kernels,
    fused_state,
    gradient_digits,
    graphs,
    hashing,
    host,
    interchange,
    kernel_casts,
    kernel_faults,
    kernel_layouts,
    kernel_ranges,
    kernel_sizes,
    kernel_state,
    kinks,
    large,
    layer_behaviour,
    layers,
    matmul,
    movement,
    newer_optimizers,
    op_compiled,
    op_gradients,
    op_in_place,
    op_one_tensor,
    op_paths,
    op_state,
    op_values,
    optimizer_lists,
    optimizers,
    ordering,
    other_devices,
    pointwise,
    promotion,
    properties,
    random_errors,
    random_generators,
    random_streams,
    reductions,
    refusals,
    saved_tensors,
    scalars,
    scans,
    scattering,
    schedules,
    serialization,
    shapes,
    sizes,
    sparse_tensors,
    storage,
    streams,
    training_helpers,
    user_kernels,
    views,
    weight_helpers,
    whole_numbers,
    written_gradients,
)
from tensorbus_conformance.profile import find

MODULES = (
    host, exchange, streams, user_kernels, storage, copying, views,
    pointwise, reductions, hashing, scans, matmul, movement, scattering, ordering, creation, graphs,
    sizes, kernel_sizes, kernel_ranges, kernel_casts, kernel_layouts, kernel_state, kernel_faults,
    aliasing, aliasing_gradients, aliasing_errors,
    op_values, op_gradients, op_in_place, op_paths, op_compiled, op_state, op_one_tensor,
    shapes,
    fused_kernels, fused_state, kinks,
    promotion, dtype_rules, properties, interchange, factories, deterministic,
    scalars, casts, whole_numbers, other_devices, sparse_tensors,
    random_streams, random_generators, random_errors, refusals,
    layers, layer_behaviour, empty_batches, channels_last, training_helpers,
    weight_helpers, optimizer_lists, optimizers, newer_optimizers, schedules, serialization,
    large, backward, saved_tensors, gradient_digits, written_gradients,
)  # fmt: skip


def each_case() -> Iterator[Case]:
    """Every case of the suite, in the order it is run, made when it is reached."""
    return (case for module in MODULES for case in module.cases())


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the suite, in the order it is run; ids are unique."""
    return tuple(each_case())


def select(
    levels: Sequence[str] | None = None, pattern: str | None = None, profile: str = "full"
) -> list[Case]:
    """The cases of a profile, of some levels, whose id is *pattern*, matches it or contains it."""
    chosen = _of_profile(profile)
    unknown = sorted(set(levels or ()) - set(LEVELS))
    if unknown:
        raise ValueError(f"unknown level {', '.join(unknown)}; there are {', '.join(LEVELS)}")
    wanted = set(levels or LEVELS)
    by_id = [c for c in chosen if c.id == pattern and c.level in wanted]
    matcher = _matcher(pattern)
    return by_id or [c for c in chosen if matcher(c.id) and c.level in wanted]


@functools.cache
def _of_profile(name: str) -> tuple[Case, ...]:
    return tuple(find(name).choose(all_cases()))


def matches(id: str, pattern: str | None) -> bool:
    """Whether an id matches a glob, or contains a text that has no wildcard."""
    return bool(_matcher(pattern)(id))


@functools.cache
def _matcher(pattern: str | None) -> Callable[[str], object]:
    if not pattern:
        return lambda id: True
    if any(mark in pattern for mark in "*?["):
        return re.compile(fnmatch.translate(pattern)).match
    return lambda id: pattern in id
