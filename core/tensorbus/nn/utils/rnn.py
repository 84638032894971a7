"""Batches of sequences of several lengths: padded to one length, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import tensorbus
from tensorbus._tensor.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences of several lengths, step by step and without padding, as recurrent layers take it.

    ``data`` has the elements of the first step, then those of the second, and so on: (sum of the
    lengths, *). ``batch_sizes``, int64 on the CPU, says how many sequences have a step.
    ``sorted_indices`` says how the batch was sorted by length, ``unsorted_indices`` is its inverse;
    both are None where it was in order. Made by ``pack_padded_sequence`` and ``pack_sequence``;
    ValueError for batch sizes on another device than the CPU.

    >>> from tensorbus.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([tensorbus.tensor([1, 2, 3]), tensorbus.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:  # the older form, with a pair
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        assert batch_sizes is not None
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _moved(self, data: Tensor) -> Self:
        """With other data; the indices follow it to its device."""
        if data is self.data:
            return self
        indices = (i if i is None else i.to(data.device) for i in self[2:])
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The data converted as by ``Tensor.to``; itself where nothing changes."""
        return self._moved(self.data.to(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The data on a GPU, as by ``Tensor.cuda``."""
        return self._moved(self.data.cuda(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The data on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def pin_memory(self) -> Self:
        """The data in pinned memory."""
        indices = (i if i is None else i.pin_memory() for i in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def double(self) -> Self:
        """The data as float64."""
        return self.to(dtype=tensorbus.float64)

    def float(self) -> Self:
        """The data as float32."""
        return self.to(dtype=tensorbus.float32)

    def half(self) -> Self:
        """The data as float16."""
        return self.to(dtype=tensorbus.float16)

    def long(self) -> Self:
        """The data as int64."""
        return self.to(dtype=tensorbus.int64)

    def int(self) -> Self:
        """The data as int32."""
        return self.to(dtype=tensorbus.int32)

    def short(self) -> Self:
        """The data as int16."""
        return self.to(dtype=tensorbus.int16)

    def char(self) -> Self:
        """The data as int8."""
        return self.to(dtype=tensorbus.int8)

    def byte(self) -> Self:
        """The data as uint8."""
        return self.to(dtype=tensorbus.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The indices that undo those of *permutation*, (n,) of int64; None of None.

    >>> from tensorbus.nn.utils.rnn import invert_permutation
    >>> invert_permutation(tensorbus.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    order = tensorbus.arange(permutation.numel(), device=permutation.device)
    return tensorbus.empty_like(permutation).scatter_(0, permutation, order)


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """The first elements of each sequence of a padded batch, packed.

    *input* is (L, N, *), or (N, L, *) with *batch_first*; *lengths* has N numbers from 1 to L, on
    the CPU. They have to fall unless *enforce_sorted* is False, which sorts the batch first.
    RuntimeError for other lengths, ValueError for an input without elements.

    >>> from tensorbus.nn.utils.rnn import pack_padded_sequence
    >>> padded = tensorbus.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False).data
    tensor([4, 1, 3, 5, 2, 6])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=tensorbus.int64)
    else:
        lengths = tensorbus.as_tensor(lengths, dtype=tensorbus.int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = tensorbus.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    steps = input.transpose(0, 1) if batch_first else input
    sizes = _batch_sizes(steps, lengths)
    found = [steps[t, :n] for t, n in enumerate(sizes)]
    return PackedSequence(tensorbus.cat(found), tensorbus.tensor(sizes), order)


def _batch_sizes(steps: Tensor, lengths: Tensor) -> list[int]:
    """How many sequences have each step."""
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D "
            f"{lengths.device.type} Long tensor"
        )
    if not steps.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    numbers = lengths.tolist()
    if len(numbers) != steps.size(1):
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{len(numbers)} (batch_size={steps.shape[1]})"
        )
    if numbers[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if any(a < b for a, b in pairwise(numbers)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if numbers[0] > steps.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {steps.shape[0]}, the size of the batch's sequences, "
            f"but got {numbers[0]}"
        )
    return [sum(n > t for n in numbers) for t in range(numbers[0])]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch of packed sequences, and their lengths: the inverse of
    ``pack_padded_sequence``.

    (L, N, *), or (N, L, *) with *batch_first*, and N of int64 on the CPU. L is the greatest length,
    or *total_length*; ValueError where that is less.

    >>> from tensorbus.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> packed = pack_sequence([tensorbus.tensor([1, 2, 3]), tensorbus.tensor([4, 5])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_packed_sequence.html
    """
    sizes = sequence.batch_sizes.tolist()
    data, restored = sequence.data, sequence.unsorted_indices
    length = len(sizes) if total_length is None else total_length
    if length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {len(sizes)}"
        )
    rest = data.shape[1:]
    steps = []
    for step, n in zip(data.split(sizes), sizes, strict=True):
        steps.append(step)
        if n < sizes[0]:
            steps.append(data.new_full((sizes[0] - n, *rest), padding_value))
    if length > len(sizes):
        steps.append(data.new_full(((length - len(sizes)) * sizes[0], *rest), padding_value))
    padded = tensorbus.cat(steps).view(length, sizes[0], *rest)
    lengths = tensorbus.tensor([sum(n > k for n in sizes) for k in range(sizes[0])])
    if batch_first:
        padded = padded.transpose(0, 1)
    if restored is not None:
        padded = padded.index_select(0 if batch_first else 1, restored)
        lengths = lengths[restored.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of several lengths, (length, *) each, padded to the greatest one.

    (L, N, *), or (N, L, *) with *batch_first*; padded at the end, or at the beginning with
    *padding_side* ``"left"``. RuntimeError for no sequences, or other sizes than the first's.

    >>> from tensorbus.nn.utils.rnn import pad_sequence
    >>> pad_sequence([tensorbus.tensor([1, 2, 3]), tensorbus.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html
    """
    if not isinstance(sequences, (Tensor, Iterable)):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    given = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    for k, s in enumerate(given):
        if not isinstance(s, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(s).__name__}"
            )
    longest = max(s.shape[0] for s in given)
    padded = given[0].new_full((len(given), longest, *given[0].shape[1:]), padding_value)
    for k, sequence in enumerate(given):
        n = sequence.shape[0]
        padded[k, slice(longest - n, None) if padding_side == "left" else slice(n)] = sequence
    return padded if batch_first else padded.transpose(0, 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch: the inverse of ``pad_sequence``.

    *lengths* has N numbers.

    >>> from tensorbus.nn.utils.rnn import unpad_sequence
    >>> padded = tensorbus.tensor([[1, 2, 3], [4, 0, 0]])
    >>> unpad_sequence(padded, tensorbus.tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.unpad_sequence.html
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of several lengths, (length, *) each, packed.

    Their lengths have to fall unless *enforce_sorted* is False. Errors as ``pack_padded_sequence``.

    >>> from tensorbus.nn.utils.rnn import pack_sequence
    >>> pack_sequence([tensorbus.tensor([1, 2]), tensorbus.tensor([3])]).data
    tensor([1, 3, 2])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_sequence.html
    """
    lengths = tensorbus.as_tensor([s.shape[0] for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed: the inverse of ``pack_sequence``.

    >>> from tensorbus.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([tensorbus.tensor([1, 2]), tensorbus.tensor([3])]))
    [tensor([1, 2]), tensor([3])]

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.unpack_sequence.html
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
