"""What is known of an op besides its schema: ``torch.Tag``."""

from __future__ import annotations

import enum
from collections.abc import Sequence

Tag = enum.Enum(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated "
    "inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides "
    "needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant "
    "pointwise pt2_compliant_tag reduction view_copy",
    start=0,
    module="tensorbus",
)
Tag.__doc__ = """A mark of an op that ``library.define`` and ``library.custom_op`` are given.

``inplace`` is an op that writes to its first argument and returns it, ``out`` one that fills
arguments given by keyword and returns them. The others are kept and change nothing.
"""


def tuple_of(tags: Tag | Sequence[Tag] | None) -> tuple[Tag, ...]:
    """One tag, several or none, each once."""
    if tags is None:
        return ()
    return (tags,) if isinstance(tags, Tag) else tuple(dict.fromkeys(tags))
