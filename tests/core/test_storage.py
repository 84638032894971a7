"""Storages: what shares memory, told, set and resized."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import pickle
from typing import Any

import pytest

import tensorbus as torch


def test_views_share_and_copies_do_not(device: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    views = [x[1], x.T, x[:, ::2], x.view(-1), x.detach(), x.data, x.expand(4, 2, 3)]
    assert all(v.untyped_storage() == x.untyped_storage() for v in views)
    assert len({v.untyped_storage() for v in [x, *views]}) == 1
    for other in (x.clone(), x + 0, x.T.contiguous(), x[[0, 1]], x.to(torch.int64)):
        assert other.untyped_storage() != x.untyped_storage()


def test_what_a_storage_tells(device: str) -> None:
    x = torch.arange(6.0, device=device)
    storage = x[2:].untyped_storage()
    assert storage.nbytes() == len(storage) == 24
    assert storage.device == x.device
    told = f"[torch.storage.UntypedStorage(device={x.device}) of size 24]"
    assert repr(storage).splitlines() == [f" {byte}" for byte in storage.tolist()] + [told]
    assert x[2:].storage_offset() == 2 and x[2:].stride() == (1,)
    assert x[2:].data_ptr() - x.data_ptr() == 8
    assert storage.data_ptr() == x.data_ptr()
    assert bytes(storage.tolist()) == x.cpu().numpy().tobytes()


def test_nothing_keeps_a_storage_object(device: str) -> None:
    x = torch.zeros(4, device=device)
    a = x.untyped_storage()
    x[0] = 1
    assert a == x.untyped_storage() and a.tolist()[3] == 63


def test_as_strided_reaches_the_whole_storage(device: str) -> None:
    x = torch.arange(12.0, device=device)[4:8]
    y = torch.as_strided(x, (3, 2), (4, 1), 1)
    assert y.tolist() == [[1, 2], [5, 6], [9, 10]]
    y[0, 0] = 50
    assert torch.as_strided(x, (12,), (1,), 0)[1].item() == 50
    with pytest.raises(RuntimeError, match=r"storage size of 52 are out of bounds .* of size 48"):
        torch.as_strided(x, (13,), (1,), 0)
    with pytest.raises(RuntimeError, match="length of strides and shape"):
        torch.as_strided(x, (2, 2), (1,), 0)


def test_set_makes_a_view_of_anothers_storage(device: str) -> None:
    x, y = torch.zeros(3, device=device), torch.arange(4.0, device=device)
    assert x.set_(y) is x
    y[1] = 9
    assert x.tolist() == [0, 9, 2, 3]
    z = torch.empty(0, device=device).set_(y.untyped_storage(), 1, (2,), (2,))
    assert z.tolist() == [9, 3] and z.stride() == (2,)
    z.fill_(5)
    assert y.tolist() == [0, 5, 2, 5]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="out of bounds"):
        z.set_(y.untyped_storage(), 3, (2,), (1,))


def test_resize_keeps_values_as_far_as_they_fit(device: str) -> None:
    x = torch.arange(6.0, device=device)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    version = x._version
    x.resize_(2, 4)
    assert x.shape == (2, 4) and x.view(-1)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x._version > version


def test_growth_is_refused_where_memory_is_shared(device: str) -> None:
    x = torch.arange(4.0, device=device)
    row = x[1:]
    for t, shape in ((x, (8,)), (row, (5,))):
        with pytest.raises(RuntimeError, match="not resizable"):
            t.resize_(*shape)
    assert x.tolist() == [0, 1, 2, 3] and row.resize_(2).tolist() == [1, 2]
    del row, t
    gc.collect()
    assert x.resize_(5).shape == (5,)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True, device=device).resize_(3)


def test_reinterpreted_bytes(device: str) -> None:
    x = torch.tensor([1.0, -2.0], device=device)
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000, 0xC0000000 - 2**32]
    bits[0] = 0x40400000
    assert x.tolist() == [3.0, -2.0] and bits.untyped_storage() == x.untyped_storage()
    assert x.view(torch.uint8).shape == (8,)
    with pytest.raises(RuntimeError):
        torch.zeros(3, dtype=torch.uint8, device=device).view(torch.int32)


def test_writes_where_elements_share_a_place_are_refused(device: str) -> None:
    x = torch.zeros(1, 3, device=device).expand(4, 3)
    attempts: list[Any] = [lambda: x.add_(1), lambda: x.mul_(x), lambda: x.copy_(x + 1)]
    for attempt in attempts:
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            attempt()
    assert x.sum().item() == 0 and x._version == 0
    assert x.fill_(2).sum().item() == 24  # one value everywhere is no contradiction


def test_storage_outlives_its_tensor(device: str) -> None:
    storage = torch.arange(3, device=device, dtype=torch.uint8).untyped_storage()
    gc.collect()
    assert storage.tolist() == [0, 1, 2]
    view = torch.arange(1000.0, device=device)[998:]
    assert view.tolist() == [998.0, 999.0]


# -- indices and slices ----------------------------------------------------------------------
def test_untyped_storages_index_and_slice_bytes(device: str) -> None:
    x = torch.tensor([1, 2, 3], dtype=torch.uint8, device=device)
    bytes_ = x.untyped_storage()
    assert (bytes_[0], bytes_[-1], list(bytes_)) == (1, 3, [1, 2, 3])
    part = bytes_[1:]
    assert (part.tolist(), len(part), part[0]) == ([2, 3], 2, 2)
    part[0] = 7
    bytes_[2:] = 300
    assert x.tolist() == [1, 7, 44]
    bytes_.copy_(torch.UntypedStorage([4, 5, 6], device=device))
    assert x.tolist() == [4, 5, 6] and bytes_.clone().fill_(0).tolist() == [0, 0, 0]
    assert x.tolist() == [4, 5, 6]


def test_typed_storages_index_elements(device: str) -> None:
    x = torch.arange(4.0, device=device)[1:]
    with pytest.warns(UserWarning, match="deprecated") if not told() else nothing():
        elements = x.storage()
    assert (len(elements), elements[0], elements[-1]) == (4, 0.0, 3.0)
    assert elements.tolist() == list(elements) == [0.0, 1.0, 2.0, 3.0]
    assert elements.dtype is torch.float32 and elements.device == x.device
    assert elements.nbytes() == 16 and elements.element_size() == 4
    elements[1] = 7.5
    elements[2:] = -1
    assert x.tolist() == [7.5, -1.0, -1.0]
    assert elements.long().tolist() == [0, 7, -1, -1]
    other = elements.clone()
    other.fill_(2)
    assert x.tolist() == [7.5, -1.0, -1.0] and other.tolist() == [2.0] * 4
    assert elements.untyped() == x.untyped_storage()
    home = torch if device == "cpu" else getattr(torch, device)
    assert isinstance(elements, home.FloatStorage) and not isinstance(elements, home.IntStorage)


def told() -> bool:
    from tensorbus._base import warning

    return "TypedStorage" in warning._SHOWN


def nothing() -> Any:
    return contextlib.nullcontext()


def test_legacy_storages_make_tensors() -> None:
    elements = torch.FloatStorage([1, 2, 3])
    assert repr(elements) == (
        " 1.0\n 2.0\n 3.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]"
    )
    assert torch.FloatTensor(elements).tolist() == [1.0, 2.0, 3.0]
    view = torch.empty(0).set_(elements, 1, (2,), (1,))
    view.fill_(0)
    assert elements.tolist() == [1.0, 0.0, 0.0]
    assert len(torch.LongStorage(3)) == 3 and torch.LongStorage([4])[0] == 4
    assert torch.is_storage(elements) and not torch.is_storage(view)


REFUSED = {
    "bytes_[3]": IndexError,
    "bytes_[-4]": IndexError,
    "bytes_['a']": TypeError,
    "bytes_[0.5]": TypeError,
    "bytes_[::2]": RuntimeError,
    "bytes_.__setitem__(5, 1)": RuntimeError,
    "bytes_.__setitem__(0, 1.5)": RuntimeError,
    "elements[3]": IndexError,
    "elements[0:2]": RuntimeError,
    "elements['a']": RuntimeError,
    "elements.__setitem__(7, 1)": IndexError,
    "elements.__setitem__('a', 1)": RuntimeError,
}


@pytest.mark.parametrize("program", REFUSED)
def test_what_no_storage_has_is_refused(program: str) -> None:
    names = {"bytes_": torch.UntypedStorage([1, 2, 3]), "elements": torch.FloatStorage([1, 2, 3])}
    with pytest.raises(REFUSED[program]):
        eval(program, names)


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_pytorch_refuses_the_same(live_torch: Any) -> None:
    for program, expected in REFUSED.items():
        bytes_ = live_torch.UntypedStorage([1, 2, 3])
        names = {"bytes_": bytes_, "elements": live_torch.FloatStorage([1, 2, 3])}
        with pytest.raises(expected):
            eval(program, names)


def test_a_storage_is_not_resized() -> None:
    with pytest.raises(RuntimeError, match="not resizable"):
        torch.ones(4).untyped_storage().resize_(0)
    assert torch.ones(4).untyped_storage().resize_(16).nbytes() == 16


def test_a_slice_that_no_element_begins_at_holds_no_tensor() -> None:
    part = torch.zeros(4).untyped_storage()[2:]
    with pytest.raises(RuntimeError, match="multiples of 4"):
        torch.empty(0).set_(part)
    later = torch.arange(4.0).untyped_storage()[8:]
    assert torch.empty(0).set_(later).tolist() == [2.0, 3.0]


def test_storages_pickle_copy_and_are_saved() -> None:
    elements = torch.FloatStorage([1, 2, 3])
    for again in (pickle.loads(pickle.dumps(elements)), copy.deepcopy(elements)):
        again[0] = 9
        assert again.tolist() == [9.0, 2.0, 3.0] and elements[0] == 1.0
    file = io.BytesIO()
    torch.save({"typed": elements, "bytes": torch.UntypedStorage([1, 2])}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["typed"].tolist() == [1.0, 2.0, 3.0] and loaded["typed"].dtype is torch.float32
    assert loaded["bytes"].tolist() == [1, 2]
