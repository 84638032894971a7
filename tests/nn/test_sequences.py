"""Padding and packing sequences, beside PyTorch."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import tensorbus
from tensorbus.nn.utils.rnn import PackedSequence, pack_sequence


def told(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [told(part) for part in value]
    return value if value is None else [value.tolist(), list(value.shape), str(value.dtype)]


def programs(torch: Any) -> dict[str, Any]:
    rnn = torch.nn.utils.rnn
    x = torch.arange(12.0).view(3, 4)
    deep = torch.arange(24).view(4, 3, 2)
    parts = [torch.tensor(part) for part in ([1, 2], [3, 4, 5], [6])]
    unsorted = rnn.pack_sequence(parts, enforce_sorted=False)
    in_order = rnn.pack_padded_sequence(x, [3, 2, 1, 1])
    return {
        "packed": lambda: in_order,
        "packed by a tensor": lambda: rnn.pack_padded_sequence(x, torch.tensor([2, 2, 2, 1])),
        "packed by int32": lambda: rnn.pack_padded_sequence(x, torch.tensor([2, 2, 2, 1]).int()),
        "packed, batch first": lambda: rnn.pack_padded_sequence(deep, [3, 3, 1, 1], True),
        "packed in any order": lambda: rnn.pack_padded_sequence(deep, [2, 1, 4], False, False),
        "packed from a list": lambda: unsorted,
        "padded": lambda: rnn.pad_packed_sequence(in_order),
        "padded with -1": lambda: rnn.pad_packed_sequence(in_order, True, -1, 4),
        "padded in the first order": lambda: rnn.pad_packed_sequence(unsorted),
        "the same, batch first": lambda: rnn.pad_packed_sequence(unsorted, batch_first=True),
        "pad_sequence": lambda: rnn.pad_sequence(parts),
        "pad_sequence, batch first": lambda: rnn.pad_sequence(parts, True, 7),
        "pad_sequence at the left": lambda: rnn.pad_sequence(parts, padding_side="left"),
        "pad_sequence of a tensor": lambda: rnn.pad_sequence(deep),
        "pad_sequence of a tuple": lambda: rnn.pad_sequence(tuple(parts), True),
        "pad_sequence of other dtypes": lambda: rnn.pad_sequence([parts[0], parts[1].float()]),
        "unpad_sequence": lambda: rnn.unpad_sequence(x, torch.tensor([3, 1, 2, 1])),
        "unpad_sequence, batch first": lambda: rnn.unpad_sequence(deep, parts[1], True),
        "unpack_sequence": lambda: rnn.unpack_sequence(unsorted),
        "invert_permutation": lambda: rnn.invert_permutation(torch.tensor([2, 0, 3, 1])),
        "invert_permutation of None": lambda: rnn.invert_permutation(None),
        "a pair": lambda: rnn.PackedSequence((x[0], torch.tensor([2, 2]))),
        "to a dtype": lambda: unsorted.to(torch.float64),
        "double": lambda: unsorted.double(),
        "half": lambda: unsorted.half(),
        "char": lambda: unsorted.char(),
        "fewer lengths": lambda: rnn.pack_padded_sequence(x, [3, 2, 1]),
        "a length of 0": lambda: rnn.pack_padded_sequence(x, [3, 2, 1, 0]),
        "lengths that rise": lambda: rnn.pack_padded_sequence(x, [3, 2, 3, 1]),
        "no steps": lambda: rnn.pack_padded_sequence(x[:0], [3, 2, 3, 1]),
        "no sequences": lambda: rnn.pad_sequence([]),
        "pack no sequences": lambda: rnn.pack_sequence([]),
        "pack sequences that rise": lambda: rnn.pack_sequence(parts),
        "lengths in two dimensions": lambda: rnn.pack_padded_sequence(x, torch.tensor([[3, 2]])),
        "total_length": lambda: rnn.pad_packed_sequence(in_order, total_length=2),
        "padding_side": lambda: rnn.pad_sequence(parts, padding_side="top"),
        "a number": lambda: rnn.pad_sequence(5),
        "one dimension": lambda: rnn.pack_padded_sequence(torch.ones(3), [3]),
        "what is not packed": lambda: rnn.pad_packed_sequence(x),
    }


@pytest.mark.parametrize("case", programs(tensorbus))
def test_as_pytorch(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        try:
            return told(programs(torch)[case]())
        except (RuntimeError, ValueError, IndexError, AttributeError) as error:
            return [type(error).__name__, str(error)]

    assert program(tensorbus) == oracle(program)


def test_lengths_beyond_the_batch_are_refused():
    x = tensorbus.ones(3, 2)
    with pytest.raises(RuntimeError, match="at most 3, .* but got 5"):
        tensorbus.nn.utils.rnn.pack_padded_sequence(x, [5, 2])


def test_batch_sizes_elsewhere_are_refused():
    sizes = tensorbus.tensor([2], device="meta")
    with pytest.raises(ValueError, match="batch_sizes should always be on CPU"):
        PackedSequence(tensorbus.ones(2), sizes)


def test_gradients_reach_each_element_once():
    x = tensorbus.ones(3, 4, requires_grad=True)
    packed = tensorbus.nn.utils.rnn.pack_padded_sequence(x, [1, 3, 2, 1], enforce_sorted=False)
    (packed.data * tensorbus.arange(7)).sum().backward()
    assert x.grad.tolist() == [[2, 0, 1, 3], [0, 4, 5, 0], [0, 6, 0, 0]]


def test_what_changes_nothing_is_the_same_object():
    packed = pack_sequence([tensorbus.tensor([1, 2]), tensorbus.tensor([3])])
    assert packed.to("cpu") is packed and packed.cpu() is packed and packed.long() is packed
    assert not packed.is_cuda and not packed.is_pinned()


def test_it_moves_with_its_indices():
    packed = pack_sequence([tensorbus.ones(1), tensorbus.ones(2)], enforce_sorted=False)
    moved = packed.to("meta")
    assert {moved.data.device.type, moved.sorted_indices.device.type} == {"meta"}
    assert moved.batch_sizes.device.type == "cpu"


def test_it_is_pickled():
    packed = pack_sequence([tensorbus.ones(1), tensorbus.ones(2)], enforce_sorted=False)
    again = pickle.loads(pickle.dumps(packed))
    assert type(again) is PackedSequence and told(again) == told(packed)
