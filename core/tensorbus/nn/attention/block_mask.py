"""Block masks: for each block of queries, the blocks of keys that some of them see."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any, NoReturn

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.func.vmap import vmap

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

BLOCK = 128
"""The default number of queries and keys of a block."""

Mod = Callable[..., Tensor]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask in which every query sees every key."""
    return batch.new_ones((), dtype=tensorbus.bool)


def _sliced_mask_mod_error(
    batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor
) -> NoReturn:
    """What an indexed ``BlockMask`` has for a *mask_mod*: RuntimeError."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the "
        "mask_mod attribute is reset. You must set it from the original BlockMask's mask_mod."
    )


def _all_masks(mask_mods: tuple[Any, ...]) -> None:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask in which a query sees what any of the given ones lets it see."""
    _all_masks(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=tensorbus.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask in which a query sees what all of the given ones let it see."""
    _all_masks(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=tensorbus.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def takes_scores(fn: Mod) -> bool:
    """Whether a function modifies scores: it has five parameters, and a mask has four."""
    given = inspect.signature(fn).parameters.values()
    count = sum(1 for p in given if p.default is p.empty and p.kind is not p.KEYWORD_ONLY)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def for_all(fn: Mod, *positions: Tensor, scores: Tensor | None = None) -> Tensor:
    """What a function gives for each batch, head, query and key, given as four vectors."""
    before: tuple[Any, ...] = () if scores is None else (0,)
    for d in (3, 2, 1, 0):
        dims: list[Any] = [None] * 4
        dims[d] = 0
        fn = vmap(fn, in_dims=(*before, *dims))
    return fn(*(() if scores is None else (scores,)), *positions)


def _positions(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    return [tensorbus.arange(size, device=device) for size in sizes]


def create_mask(
    mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """Which query sees which key, as truth values (B, H, Q_LEN, KV_LEN).

    *mod_fn* is a mask of ``(b, h, q_idx, kv_idx)``, or modifies scores with a score before these:
    what it makes -inf is not seen. None for B or H is 1.

    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    device = _current(device)
    positions = _positions(sizes, device)
    if takes_scores(mod_fn):
        made = for_all(mod_fn, *positions, scores=tensorbus.zeros(sizes, device=device))
        return made != -math.inf
    return for_all(mod_fn, *positions)


def _current(device: Any) -> Any:
    return tensorbus.get_default_device() if device is None else device


def create_block_mask(
    mask_mod: Mod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK,
    _compile: bool = False,
    *,
    separate_full_blocks: bool = True,
    **options: Any,
) -> BlockMask:
    """The ``BlockMask`` of a mask, a function of ``(b, h, q_idx, kv_idx)``.

    None for B or H is 1, for masks that do not depend on it. The device is the default one unless
    given. AssertionError for a function of another number of arguments.

    Example:
        >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256)
        >>> causal.shape, causal.to_dense().tolist()
        ((1, 1, 256, 256), [[[[1, 0], [1, 1]]]])
    """
    if takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    seen = _sums_of_blocks(mask, rows, columns)
    full = seen == rows * columns
    partial = (seen > 0) & ~full if separate_full_blocks else seen > 0
    ordered: Any = (*_ordered(partial), *(_ordered(full) if separate_full_blocks else (None, None)))
    given: Any = (*ordered, (rows, columns), mask_mod, (Q_LEN, KV_LEN))
    return BlockMask.from_kv_blocks(*given)


def _sums_of_blocks(mask: Tensor, rows: int, columns: int) -> Tensor:
    """How many scores of each block are seen; what is beyond the mask is not."""
    *_, length, sources = mask.shape
    mask = tensorbus.nn.functional.pad(mask, (0, -sources % columns, 0, -length % rows))
    split = mask.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows))
    return split.sum((-3, -1))


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of a row there are, and the indices of all, those that are there first."""
    indices = dense.to(tensorbus.int32).argsort(-1, descending=True, stable=True)
    return dense.sum(-1).to(tensorbus.int32), indices.to(tensorbus.int32)


def _dense(counts: Tensor, indices: Tensor, columns: int) -> Tensor:
    """Which blocks are there, as int32 (..., rows, columns)."""
    there = tensorbus.arange(indices.shape[-1], device=indices.device) < counts.unsqueeze(-1)
    found = counts.new_zeros((*indices.shape[:-1], columns + 1))
    column = indices.where(there, columns).long()  # a column behind the others takes the rest
    return found.scatter(-1, column, 1)[..., :columns].contiguous()


class BlockMask:
    """For each block of queries, the blocks of keys of which some are seen, and of which all are.

    Made by ``create_block_mask``, or by ``from_kv_blocks`` of counts (B, H, rows) and indices
    (B, H, rows, columns) of blocks. In the blocks of ``kv_indices`` *mask_mod* says what is seen,
    in those of ``full_kv_indices`` all is, and elsewhere nothing.
    """

    _TENSORS = (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
        "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
    )  # fmt: skip

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK),
        mask_mod: Mod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, count, index in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (count is None) != (index is None):
                raise AssertionError(
                    f"full_{name}_num_blocks and full_{name}_indices must be both provided or "
                    "omitted"
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK,
        mask_mod: Mod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask of the blocks of keys for each block of queries; the other way is computed."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        turned: Any = []
        for counts, indices in (
            (kv_num_blocks, kv_indices),
            (full_kv_num_blocks, full_kv_indices),
        ):
            if counts is None or indices is None or not compute_q_blocks:
                turned += [None, None]
            else:
                turned += _ordered(_dense(counts, indices, indices.shape[-1]).transpose(-2, -1))
        rows, columns = kv_indices.shape[-2:]
        lengths = (rows * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        given: Any = (
            lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *turned,
            size, noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip
        return cls(*given)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Lengths, tensors, block size and mask, the pairs among them as two or as one."""
        lengths, size = tuple(self.seq_lengths), tuple(self.BLOCK_SIZE)
        tensors = [getattr(self, name) for name in self._TENSORS]
        if flatten:
            return (*lengths, *tensors, *size, self.mask_mod)
        return (lengths, *tensors, size, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many scores there are."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent of the scores lie in blocks that are not computed."""
        computed = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            computed = computed + self.full_kv_num_blocks.sum()
        return 100 * (1 - computed.item() * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Tensor:
        """Which blocks are computed, as int32 (B, H, rows, columns)."""
        columns = self.kv_indices.shape[-1]
        found = _dense(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return found
        return found | _dense(self.full_kv_num_blocks, self.full_kv_indices, columns)

    def full_blocks(self) -> Tensor | None:
        """Which blocks are seen whole; None where none is known to be."""
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return None
        return _dense(self.full_kv_num_blocks, self.full_kv_indices, self.kv_indices.shape[-1])

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads or rows of blocks; it needs a *mask_mod* of its own."""
        given = index if isinstance(index, tuple) else (index,)
        given = (*given, slice(None), slice(None), slice(None))[:3]
        parts = tuple(
            (slice(i, i + 1) if i >= 0 else slice(n + i, n + i + 1)) if isinstance(i, int) else i
            for i, n in zip(given, self.kv_num_blocks.shape, strict=True)
        )
        tensors: list[Any] = [getattr(self, name) for name in self._TENSORS[:4]]
        taken: Any = [t if t is None else t[parts] for t in tensors]
        made: Any = (
            *taken, self.BLOCK_SIZE, _sliced_mask_mod_error, self.seq_lengths,
            self.q_indices is not None,
        )  # fmt: skip
        return BlockMask.from_kv_blocks(*made)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part of the mask, for fewer queries and keys."""
        rows, columns = (
            -(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True)
        )
        cut: Any = []
        for name in ("kv", "full_kv"):
            counts, indices = getattr(self, f"{name}_num_blocks"), getattr(self, f"{name}_indices")
            if counts is None:
                cut += [None, None]
                continue
            dense = _dense(counts, indices, indices.shape[-1])[..., :rows, :columns]
            cut += _ordered(dense)
        made: Any = (
            *cut, self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len),
            self.q_indices is not None,
        )  # fmt: skip
        return BlockMask.from_kv_blocks(*made)

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on a device."""
        tensors: list[Any] = [getattr(self, name) for name in self._TENSORS]
        moved: Any = [t if t is None else t.to(device) for t in tensors]
        made: Any = (self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)
        return BlockMask(*made)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of at most *limit* batches and heads: blocks seen whole, in part, not at all.

        *grid_size* is how many rows and columns it has at most, -1 as many as there are blocks.
        """
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        limits = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        if grid_size == -1:
            limits = (rows, columns)
        step, stride = (max(1, -(-n // m)) for n, m in zip((rows, columns), limits, strict=True))
        pictures = []
        for number, place in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or "
                    "head",
                ]
                break
            table = dense[place].tolist()
            picture = f"{place}\n"
            for r in range(0, rows, step):
                for c in range(0, columns, stride):
                    part = [cell for row in table[r : r + step] for cell in row[c : c + stride]]
                    share = sum(part) / len(part)
                    picture += 2 * ("█" if share == 1 else "░" if share else " ")
                picture += "\n"
            pictures.append(picture)
        return "\n".join(pictures)

    def __str__(self) -> str:
        picture = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{picture}\n)"

    def __repr__(self) -> str:
        shapes = [
            f"{name}={None if (t := getattr(self, name)) is None else t.shape}"
            for name in self._TENSORS
        ]
        mask = getattr(self.mask_mod, "__name__", self.mask_mod)
        rest = [
            f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}",
            f"sparsity={self.sparsity():.2f}%", f"mask_mod={mask}",
        ]  # fmt: skip
        return "BlockMask(\n    " + ",\n    ".join(shapes + rest) + "\n)"
