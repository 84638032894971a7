"""Saving and loading: everything that is saved comes back, here and in PyTorch."""

from __future__ import annotations

import io
import sys
import types
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tensorbus
from tensorbus import nn
from tensorbus.serialization import archive
from tensorbus.serialization.archive import ArchiveWriter

CPU = tensorbus.discovery.backend("cpu").capabilities(0)
DTYPES = [d.name for d in tensorbus._base.dtypes.ALL if d in CPU.dtypes]


@pytest.fixture(params=["tensorbus", "torch"])
def load(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Both readers of what is saved here."""
    if request.param == "tensorbus":
        return tensorbus.load
    return request.getfixturevalue("live_torch").load


def same(got: Any, expected: Any) -> None:
    """Equal structure, types and values; either side may be PyTorch's."""
    if hasattr(expected, "untyped_storage"):
        assert str(got.dtype) == str(expected.dtype)
        assert tuple(got.shape) == tuple(expected.shape)
        if 0 not in expected.shape:
            assert tuple(got.stride()) == tuple(expected.stride())
        assert got.storage_offset() == expected.storage_offset()
        assert got.requires_grad == expected.requires_grad
        assert type(got).__name__ == type(expected).__name__
        assert got.tolist() == expected.tolist()
    elif isinstance(expected, dict):
        assert type(got) is type(expected)
        assert list(got) == list(expected)
        for key in expected:
            same(got[key], expected[key])
    elif isinstance(expected, list | tuple):
        assert type(got).__name__ == type(expected).__name__
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b)
    elif type(expected).__name__ in ("dtype", "device", "layout"):
        assert str(got) == str(expected)
    else:
        assert type(got) is type(expected)
        assert got == expected


def tensors(t: Any) -> dict[str, Any]:
    base = t.arange(12.0).view(3, 4)
    return {
        "views": [base, base.t(), base[1:, ::2], base[2, 3]],
        "empty": t.empty(0, 3),
        "scalar": t.tensor(5),
        "expanded": t.ones(1).expand(5),
        "leaf": t.ones(2, requires_grad=True),
        "parameter": t.nn.Parameter(t.ones(2, 2)),
        "frozen": t.nn.Parameter(t.ones(2), requires_grad=False),
        "special": t.tensor([float("nan"), float("inf"), -0.0])[1:],
        "dtypes": {name: (t.arange(6) % 3).to(getattr(t, name)) for name in DTYPES},
    }


def containers(t: Any) -> dict[str, Any]:
    shared = [1, 2]
    return {
        "nested": {"a": [1, (2.5, None, True, False)], 3: {"b": {}}},
        "ordered": OrderedDict([("z", 1), ("a", 2)]),
        "size": t.Size([2, 3]),
        "dtype": [t.int8, t.float32],
        "device": t.device("cpu"),
        "layout": t.strided,
        "bytes": b"ab\xff",
        "array of bytes": bytearray(b"x\x80"),
        "set": {1, 8},  # of ints: the order of texts differs from process to process
        "set of a text": {"b"},
        "counter": Counter("aab"),
        "complex": 1 - 2j,
        "big": [2**100, -(2**70), 255, 256, 65536, -1, 2**31, -(2**31)],
        "floats": [float("inf"), -0.5, 1e-300],
        "text": "é\ud800\N{SNOWMAN}" + "x" * 300,
        "shared": [shared, shared],
        "many": list(range(2000)),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("make", [tensors, containers])
def test_what_pytorch_saves_loads_here(pytorch_file: Any, make: Any, protocol: int) -> None:
    file = pytorch_file(make, pickle_protocol=protocol)
    same(tensorbus.load(file), make(tensorbus))
    same(tensorbus.load(file, weights_only=False), make(tensorbus))


@pytest.mark.parametrize("make", [tensors, containers])
def test_what_is_saved_here_loads_in_pytorch(live_torch: Any, make: Any, tmp_path: Path) -> None:
    tensorbus.save(make(tensorbus), tmp_path / "a.b.pt")
    same(live_torch.load(tmp_path / "a.b.pt", weights_only=True), make(live_torch))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("make", [tensors, containers])
def test_a_round_trip_changes_nothing(make: Any, protocol: int) -> None:
    file = io.BytesIO()
    tensorbus.save(make(tensorbus), file, pickle_protocol=protocol)
    same(tensorbus.load(file), make(tensorbus))
    same(tensorbus.load(file, weights_only=False), make(tensorbus))


@pytest.mark.filterwarnings("ignore:.* has no bfloat16")
def test_bfloat16_keeps_its_values_even_where_the_device_lacks_it(pytorch_file: Any) -> None:
    def program(torch: Any) -> Any:
        values = torch.tensor([1.5, -3.0e38, float("inf"), 1e-40, 3.140625]).to(torch.bfloat16)
        return {"all": values, "part": values[1:4:2], "grad": values.clone().requires_grad_()}

    # Rounded to eight bits: 3.140625 is exact, the others are the nearest.
    values = [1.5, -226 * 2.0**120, float("inf"), 2.0**-133, 3.140625]
    loaded = tensorbus.load(pytorch_file(program))
    expected = tensorbus.bfloat16 if "bfloat16" in DTYPES else tensorbus.float32
    assert loaded["all"].dtype is expected
    assert loaded["all"].tolist() == values
    assert loaded["part"].tolist() == values[1:4:2]
    assert loaded["part"].stride() == (2,)
    assert loaded["grad"].requires_grad


def trained(t: Any) -> Any:
    """A small network and its optimisers after two steps, equal on both sides."""
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
    with t.no_grad():
        for p in net.parameters():
            p.copy_((t.arange(p.numel()).to(t.float32) / 7 - 1).view(p.shape))
    x = (t.arange(15).to(t.float32) / 3).view(5, 3)
    optimisers = [
        t.optim.Adam(net.parameters(), lr=0.01),
        t.optim.SGD(net.parameters(), lr=0.01, momentum=0.9),
        t.optim.AdamW(net.parameters(), lr=0.01),
    ]
    for _ in range(2):
        for optimiser in optimisers:
            optimiser.zero_grad()
            net(x).sum().backward()
            optimiser.step()
    return net, optimisers


def test_state_dicts_of_networks_and_optimisers_cross_both_ways(live_torch: Any) -> None:
    torch = live_torch
    ours, our_optimisers = trained(tensorbus)
    theirs, their_optimisers = trained(torch)
    ours_file, theirs_file = io.BytesIO(), io.BytesIO()
    tensorbus.save([ours.state_dict(), *(o.state_dict() for o in our_optimisers)], ours_file)
    torch.save([theirs.state_dict(), *(o.state_dict() for o in their_optimisers)], theirs_file)
    ours_file.seek(0)
    net_there, *optimisers_there = torch.load(ours_file, weights_only=True)
    net_here, *optimisers_here = tensorbus.load(theirs_file)
    assert type(net_here) is type(net_there) is OrderedDict
    assert net_here._metadata == theirs.state_dict()._metadata
    assert net_there._metadata == ours.state_dict()._metadata
    theirs.load_state_dict(net_there)
    ours.load_state_dict(net_here)
    for mine, state in zip(our_optimisers, optimisers_here, strict=True):
        mine.load_state_dict(state)
    for mine, state in zip(their_optimisers, optimisers_there, strict=True):
        mine.load_state_dict(state)
    same(ours.state_dict()["0.weight"], net_here["0.weight"].detach())
    same(theirs.state_dict()["0.weight"], net_there["0.weight"].detach())
    # They go on training from the other's state.
    for net, t, optimisers in (
        (ours, tensorbus, our_optimisers),
        (theirs, torch, their_optimisers),
    ):
        net(t.ones(5, 3)).sum().backward()
        for optimiser in optimisers:
            optimiser.step()


def test_sharing_is_kept(load: Any) -> None:
    base = tensorbus.zeros(4, 4)
    file = io.BytesIO()
    tensorbus.save({"all": base, "row": base[1], "again": base, "other": tensorbus.zeros(2)}, file)
    loaded = load(file.seek(0) or file)
    loaded["row"][2] = 7
    assert loaded["all"][1, 2].item() == 7
    assert loaded["again"] is loaded["all"]
    assert loaded["other"].tolist() == [0, 0]
    assert base[1, 2].item() == 0


class Celsius(tensorbus.Tensor):
    """A subclass of the user's."""


def test_attributes_are_kept(load: Any) -> None:
    tensor = tensorbus.ones(2)
    tensor.note = [1, "x"]
    parameter = tensorbus.nn.Parameter(tensorbus.ones(3))
    parameter.note = "p"
    file = io.BytesIO()
    tensorbus.save([tensor, parameter, nn.Buffer(tensorbus.ones(1))], file)
    loaded = load(file.seek(0) or file, weights_only=True)
    assert [loaded[0].note, loaded[1].note] == [[1, "x"], "p"]
    assert loaded[1].requires_grad
    assert not hasattr(loaded[2], "persistent")


def test_subclasses_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, types.SimpleNamespace(Celsius=Celsius))
    file = io.BytesIO()
    tensorbus.save(tensorbus.tensor([20.5]).as_subclass(Celsius), file)
    with pytest.raises(tensorbus.serialization.UnsafeCheckpointError, match="Celsius"):
        tensorbus.load(file)
    with tensorbus.serialization.safe_globals([Celsius]):
        again = tensorbus.load(file)
    assert type(again) is Celsius
    assert again.tolist() == [20.5]


def test_a_view_brings_its_whole_storage_and_a_clone_does_not() -> None:
    base = tensorbus.zeros(1000)
    sizes = []
    for tensor in (base[:1], base[:1].clone()):
        file = io.BytesIO()
        tensorbus.save(tensor, file)
        sizes.append(len(file.getvalue()))
    assert sizes[0] - sizes[1] >= 3900


def test_one_storage_seen_as_two_dtypes_is_refused() -> None:
    base = tensorbus.zeros(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        tensorbus.save([base, base.view(tensorbus.int32)], io.BytesIO())


def test_a_whole_module_is_more_than_weights() -> None:
    net = nn.Linear(2, 3)
    file = io.BytesIO()
    tensorbus.save(net, file)
    with pytest.raises(tensorbus.serialization.UnsafeCheckpointError, match="Linear"):
        tensorbus.load(file, weights_only=True)
    x = tensorbus.ones(1, 2)
    for again in (tensorbus.load(file), tensorbus.load(file, weights_only=False)):
        assert again(x).tolist() == net(x).tolist()


def test_a_module_of_pytorchs_gives_ours_when_trusted(pytorch_file: Any) -> None:
    def program(torch: Any) -> Any:
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.fill_(0.5)
        return net

    net = tensorbus.load(pytorch_file(program), weights_only=False)
    assert isinstance(net, nn.Sequential)
    assert isinstance(net[0], nn.Linear)
    unknown = io.BytesIO()
    writer = ArchiveWriter(unknown, "archive")
    writer.add("data.pkl", b"ctorch.nn.modules.none\nNoSuchLayer\n.")
    writer.finish()
    with pytest.raises(
        tensorbus.serialization.CheckpointError,
        match=r"torch\.nn\.modules\.none\.NoSuchLayer, which tensorbus does not have",
    ):
        tensorbus.load(unknown, weights_only=False)


def test_records_are_aligned_plain_and_the_same_each_time(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "model.pt"
    data = {"a": tensorbus.ones(33), "b": tensorbus.ones(7, dtype=tensorbus.int8)}
    tensorbus.save(data, path)
    first = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        names = [
            "data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1",
            "version", ".data/serialization_id",
        ]  # fmt: skip
        assert opened.namelist() == [f"model/{name}" for name in names]
        assert opened.read("model/version") == b"3\n"
        assert opened.read("model/byteorder") == b"little"
        for info in opened.infolist():
            head = first[info.header_offset : info.header_offset + 30]
            lengths = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
            assert (info.header_offset + 30 + lengths) % 64 == 0
            assert info.compress_type == zipfile.ZIP_STORED
    tensorbus.save(data, path)
    assert path.read_bytes() == first


def test_large_archives_use_wide_numbers(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The limit of 4 GiB is lowered, so that every record counts as large.
    writer = ArchiveWriter.__init__
    monkeypatch.setattr(
        ArchiveWriter, "__init__", lambda self, file, folder: writer(self, file, folder, large=20)
    )
    file = io.BytesIO()
    tensorbus.save({"a": tensorbus.arange(100), "b": tensorbus.ones(2)}, file)
    assert b"PK\6\6" in file.getvalue()
    file.seek(0)
    loaded = load(file)
    assert loaded["a"].tolist() == list(range(100))
    assert loaded["b"].tolist() == [1, 1]


def test_a_file_of_the_other_byte_order_is_turned(pytorch_file: Any) -> None:
    def values(t: Any) -> Any:
        return {
            "a": t.tensor([1.5, -2.0], dtype=t.float64),
            "c": t.tensor([1 + 2j]),
            "i": t.tensor([1, 256], dtype=t.int16),
            "b": t.tensor([True, False]),
        }

    reader = archive.ArchiveReader(pytorch_file(values))
    turned = io.BytesIO()
    writer = ArchiveWriter(turned, "archive")
    widths = {"data/0": 8, "data/1": 4, "data/2": 2, "data/3": 1}
    for name in reader.names():
        data = reader.read(name)
        if name in widths:
            data = data.reshape(-1, widths[name])[:, ::-1].reshape(-1)
        writer.add(name, b"big" if name == "byteorder" else data.tobytes())
    writer.finish()
    same(tensorbus.load(turned), values(tensorbus))


def test_places_may_be_mapped(device: str) -> None:
    file = io.BytesIO()
    tensorbus.save(
        {"a": tensorbus.arange(3.0), "b": tensorbus.nn.Parameter(tensorbus.ones(2))}, file
    )
    for place in (
        device,
        tensorbus.device(device),
        {"cpu": device},
        lambda storage, where: tensorbus.UntypedStorage.from_host(
            storage.to_host(), tensorbus.device(device)
        ),
    ):
        loaded = tensorbus.load(file, map_location=place)
        assert loaded["a"].device.type == device
        assert loaded["b"].device.type == device
        assert loaded["a"].cpu().tolist() == [0, 1, 2]
        assert loaded["b"].requires_grad
    seen = []
    loaded = tensorbus.load(file, map_location=lambda storage, where: seen.append(where))
    assert seen == ["cpu", "cpu"]
    assert loaded["a"].device.type == "cpu"
    with pytest.raises(TypeError, match="must return a storage or None, got int"):
        tensorbus.load(file, map_location=lambda storage, where: 3)
    with pytest.raises(TypeError, match="map_location must be a device, a dict"):
        tensorbus.load(file, map_location=3)


def test_a_device_keeps_its_tensors(device: str) -> None:
    base = tensorbus.arange(6.0, device=device)
    file = io.BytesIO()
    tensorbus.save([base, base[2:4]], file)
    loaded = tensorbus.load(file)
    assert [x.device.type for x in loaded] == [device, device]
    assert [x.cpu().tolist() for x in loaded] == [list(range(6)), [2, 3]]
    assert tensorbus.load(file, map_location="cpu")[1].tolist() == [2, 3]


def test_a_device_that_is_missing_is_named(pytorch_file: Any) -> None:
    data = pytorch_file(lambda torch: torch.ones(2)).getvalue()
    moved = io.BytesIO(data.replace(b"X\3\0\0\0cpu", b"X\3\0\0\0xpu"))
    tensorbus.serialization.set_crc32_options(False)
    try:
        with pytest.raises(RuntimeError, match=r"tagged with xpu\).*map_location='cpu'"):
            tensorbus.load(moved)
        assert tensorbus.load(moved, map_location="cpu").tolist() == [1, 1]
    finally:
        tensorbus.serialization.set_crc32_options(True)


def test_tensors_with_pending_conjugation_load_resolved(pytorch_file: Any) -> None:
    def pending(torch: Any) -> Any:
        value = torch.tensor([1 + 2j, 3j]).conj()
        assert value.is_conj() and value.imag.is_neg()
        return value

    assert tensorbus.load(pytorch_file(pending)).tolist() == [1 - 2j, -3j]
    assert tensorbus.load(pytorch_file(lambda t: pending(t).imag)).tolist() == [-2.0, -3.0]
