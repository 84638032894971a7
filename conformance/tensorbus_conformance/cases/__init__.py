"""The cases, one module for each family of primitives; each module has ``cases()``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tensorbus_conformance.case import LEVELS, Case
from tensorbus_conformance.cases import (
    aliasing,
    aliasing_errors,
    aliasing_gradients,
    backward,
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
    op_gradients,
    op_in_place,
    op_paths,
    op_state,
    op_values,
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
    storage,
    streams,
    training_helpers,
    views,
    written_gradients,
)
from tensorbus_conformance.profile import find

MODULES = (
    host, exchange, streams, storage, copying, views,
    pointwise, reductions, scans, matmul, movement, scattering, ordering, creation,
    sizes, kernel_sizes, kernel_ranges, kernel_casts, kernel_layouts, kernel_state, kernel_faults,
    aliasing, aliasing_gradients, aliasing_errors,
    op_values, op_gradients, op_in_place, op_paths, op_state, shapes,
    fused_kernels, fused_state, kinks,
    promotion, dtype_rules, properties, interchange, factories, deterministic,
    scalars, other_devices,
    random_streams, random_generators, random_errors, refusals,
    layers, layer_behaviour, empty_batches, channels_last, training_helpers,
    optimizers, schedules, serialization,
    large, backward, saved_tensors, gradient_digits, written_gradients,
)  # fmt: skip


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the suite, in the order it is run; ids are unique."""
    return tuple(case for module in MODULES for case in module.cases())


def select(
    levels: Sequence[str] | None = None, pattern: str | None = None, profile: str = "full"
) -> list[Case]:
    """The cases of a profile, of some levels, whose id is *pattern*, matches it or contains it."""
    chosen = find(profile).choose(all_cases())
    unknown = sorted(set(levels or ()) - set(LEVELS))
    if unknown:
        raise ValueError(f"unknown level {', '.join(unknown)}; there are {', '.join(LEVELS)}")
    wanted = set(levels or LEVELS)
    found = [c for c in chosen if c.level in wanted]
    return [c for c in found if c.id == pattern] or [c for c in found if matches(c.id, pattern)]


def matches(id: str, pattern: str | None) -> bool:
    """Whether an id matches a glob, or contains a text that has no wildcard."""
    if not pattern:
        return True
    if any(mark in pattern for mark in "*?["):
        return fnmatchcase(id, pattern)
    return pattern in id
