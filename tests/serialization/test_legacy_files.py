"""Files of before PyTorch's zip format: pickles with storages behind, and 0.1's tar archives."""

from __future__ import annotations

import io
import pickle
import random
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.serialization import CheckpointError
from tensorbus.serialization.legacy import MAGIC

TAIL = 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
FLOATS = np.arange(6, dtype="<f4")


def things(t: Any) -> dict[str, Any]:
    base = t.arange(6.0).view(2, 3)
    names = ("float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool", "complex64")
    return {
        "views": [base, base.t(), base[1:, ::2]],
        "parameter": t.nn.Parameter(t.ones(2)),
        "leaf": t.ones(2, requires_grad=True),
        "dtypes": [(t.arange(4) % 2).to(getattr(t, name)) for name in names],
        "wide": t.tensor([1, 40000], dtype=t.uint16),
        "empty": t.empty(0, 3),
        "conjugate": t.tensor([1 + 2j]).conj(),
        "rest": [1, 2**70, True, None, "text", (b"bytes", 0.5), t.float32, t.Size([2])],
    }


def shown(value: Any) -> Any:
    """The contents of a loaded file, to compare and record; of either library."""
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        return [shown(each) for each in value]
    if not hasattr(value, "stride"):
        return str(value) if type(value).__module__ != "builtins" else value
    values = value.to("cpu").detach()
    if str(values.dtype) in ("torch.bfloat16", "torch.uint16"):
        values = values.float()
    stride = list(value.stride()) if value.numel() else None
    return [type(value).__name__, str(value.dtype), list(value.shape), stride,
            value.requires_grad, str(values.tolist())]  # fmt: skip


@pytest.mark.parametrize("protocol", [1, 2, 4])
def test_what_pytorch_writes_is_read(
    pytorch_file: Callable[..., io.BytesIO], protocol: int
) -> None:
    file = pytorch_file(things, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    expected = shown(things(tensorbus))
    for weights_only in (True, None, False):
        loaded = tensorbus.load(file, weights_only=weights_only)
        assert shown(loaded) == expected
        loaded["views"][0][1, 2] = 9
        assert loaded["views"][1][2, 1] == 9 and loaded["views"][2][0, 1] == 9
        file.seek(0)


def test_pytorch_reads_what_is_written(oracle: Callable[..., Any], tmp_path: Path) -> None:
    file = io.BytesIO()
    tensorbus.save(things(tensorbus), file, _use_new_zipfile_serialization=False)
    written = file.getvalue()
    assert shown(tensorbus.load(file)) == shown(things(tensorbus))
    assert oracle(lambda torch: shown(torch.load(io.BytesIO(written), weights_only=True))) == shown(
        things(tensorbus)
    )
    path = tmp_path / "old.pt"
    tensorbus.save(things(tensorbus), path, _use_new_zipfile_serialization=False)
    assert path.read_bytes() == written


def test_several_objects_in_one_file_are_read_in_turn(tmp_path: Path) -> None:
    with open(tmp_path / "two.pt", "wb") as file:
        for value in (tensorbus.ones(2), [tensorbus.zeros(3), 7], "end"):
            tensorbus.save(value, file, _use_new_zipfile_serialization=False)
    for weights_only in (None, False):
        with open(tmp_path / "two.pt", "rb") as file:
            assert tensorbus.load(file, weights_only=weights_only).tolist() == [1, 1]
            assert tensorbus.load(file, weights_only=weights_only)[1] == 7
            assert tensorbus.load(file, weights_only=weights_only) == "end"


def row(body: bytes, keys: list[str], *storages: np.ndarray) -> io.BytesIO:
    """A file of pickles around any object's."""
    data = b"".join(struct.pack("<q", s.size) + s.tobytes() for s in storages)
    head = [pickle.dumps(part, 2) for part in (MAGIC, *TAIL)]
    return io.BytesIO(b"".join([*head, body, pickle.dumps(keys, 2), data]))


def storage(view: bytes = b"N", count: int = 6) -> bytes:
    """A reference to the storage "5" as Python 2 wrote it: its texts are bytes."""
    return (b"(U\7storagectorch\nFloatStorage\nU\0015U\3cpuK" + bytes([count])) + view + b"tQ"


REBUILD = b"ctorch._utils\n_rebuild_tensor\n"
LAYOUT = b"K\0K\2K\3\x86K\3K\1\x86"
OLD = {
    "a tensor": REBUILD + b"(" + storage() + LAYOUT + b"tR",
    "an instance of its class": b"ctorch\nFloatTensor\n)\x81(" + storage() + LAYOUT + b"tb",
    "a Variable": b"ctorch.autograd.variable\nVariable\n"
    + (REBUILD + b"(" + storage() + LAYOUT + b"tR\x85R(\x89\x89N")
    + b"tb",
    "a Parameter": b"ctorch.nn.parameter\nParameter\n"
    + (REBUILD + b"(" + storage() + LAYOUT + b"tR\x85R(\x88\x89ccollections\nOrderedDict\n)Rtb"),
}


@pytest.mark.parametrize("case", OLD)
def test_tensors_as_versions_before_0_4_wrote_them(oracle: Callable[..., Any], case: str) -> None:
    file = row(b"\x80\2" + OLD[case] + b".", ["5"], FLOATS)
    loaded = tensorbus.load(file)
    assert shown(loaded)[1:4] == ["torch.float32", [2, 3], [3, 1]]
    assert loaded.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert loaded.requires_grad is (case == "a Parameter")
    if case in ("a tensor", "a Parameter"):  # what PyTorch's own restricted reader still takes
        contents = file.getvalue()
        told = oracle(lambda torch: shown(torch.load(io.BytesIO(contents), weights_only=False)))
        assert shown(loaded) == told
    else:
        oracle(lambda torch: None)


def test_views_of_storages_share_their_memory() -> None:
    view = b"(U\0017K\2K\3t"  # the key "7": three elements from the second on
    body = b"\x80\2" + REBUILD + b"(" + storage() + LAYOUT + b"tR" + REBUILD
    body += b"(" + storage(view) + b"K\0K\3\x85K\1\x85tR\x86."
    whole, part = tensorbus.load(row(body, ["5"], FLOATS))
    assert part.tolist() == [2, 3, 4]
    part[0] = 9
    assert whole[0, 2] == 9
    with pytest.raises(CheckpointError, match="view of a storage reaches beyond its 6 elements"):
        tensorbus.load(row(body.replace(b"K\2K\3t", b"K\4K\3t"), ["5"], FLOATS))


def test_classes_of_modules_come_with_their_source(pytorch_file: Callable[..., io.BytesIO]) -> None:
    file = pytorch_file(
        lambda torch: torch.nn.Sequential(torch.nn.ReLU()), _use_new_zipfile_serialization=False
    )
    assert b"class ReLU" in file.getvalue()
    assert str(tensorbus.load(file)) == str(tensorbus.nn.Sequential(tensorbus.nn.ReLU()))


def test_module_files_of_before_1_2_lack_newer_options() -> None:
    state = {"_backend": None, "training": True, "_parameters": {}, "_buffers": {}}
    state |= {"_backward_hooks": {}, "_forward_hooks": {}, "_forward_pre_hooks": {}}
    state |= {"_modules": {}, "p": 0.25}
    body = pickle.dumps(state, 2)[2:-1].replace(
        b"X\x08\0\0\0_backendq\1N",
        b"X\x08\0\0\0_backendq\1ctorch.nn.backends.thnn\n_get_thnn_function_backend\n)R",
    )
    assert b"thnn" in body
    body = b"\x80\2ctorch.nn.modules.dropout\nDropout\n)\x81" + body + b"b."
    dropout = tensorbus.load(row(body, []))
    assert str(dropout) == "Dropout(p=0.25, inplace=False)" and "_backend" not in vars(dropout)
    assert dropout.eval()(tensorbus.ones(2)).tolist() == [1, 1]


def tar(pickled: bytes, without: str = "", **parts: bytes) -> io.BytesIO:
    """A tar archive as 0.1 wrote it: two storages, one a part of the other, and their tensors."""
    kind = b"ctorch\nFloatStorage\n"
    contents = {
        "sys_info": pickle.dumps({"protocol_version": 1000}, 2),
        "pickle": pickled,
        "tensors": pickle.dumps(2, 2)
        + b"\x80\2K\x0bK\1ctorch\nFloatTensor\n\x87."
        + struct.pack("<i4x5q", 2, 2, 3, 3, 1, 0)
        + b"\x80\2K\x0cK\2ctorch\nFloatTensor\n\x87."
        + struct.pack("<i4x3q", 1, 3, 1, 0),
        "storages": pickle.dumps(1, 2)
        + (b"\x80\2K\1X\3\0\0\0cpu" + kind + b"\x87.")
        + (struct.pack("<q", 6) + FLOATS.tobytes())
        + pickle.dumps([(2, 1, 2, 3)], 2),
        **parts,
    }
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        contents.pop(without, None)
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1480000000.5  # type: ignore[assignment]
            archive.addfile(info, io.BytesIO(data))
    return file


IN_TAR = b"\x80\2}(X\1\0\0\0wX\2\0\0\x0011QX\1\0\0\0pX\2\0\0\x0012Qu."


def test_tar_archives_are_read(oracle: Callable[..., Any], tmp_path: Path) -> None:
    file = tar(IN_TAR)
    for weights_only in (True, False):
        loaded = tensorbus.load(file, weights_only=weights_only)
        loaded["p"][0] = 9
        assert loaded["w"].tolist() == [[0, 1, 9], [3, 4, 5]]

    def program(torch: Any) -> Any:
        path = tmp_path / "tar.pt"  # PyTorch reads such archives from files alone
        path.write_bytes(file.getvalue())
        return shown(torch.load(path, weights_only=False))

    assert oracle(program) == shown(tensorbus.load(file))


def test_damaged_tar_archives_are_refused() -> None:
    for name in ("storages", "tensors", "pickle"):
        with pytest.raises(CheckpointError, match=rf"tar archive without the part '{name}'"):
            tensorbus.load(tar(IN_TAR, without=name))
    for parts, said in (
        ({"tensors": pickle.dumps(2**40, 2)}, "number of its parts"),
        ({"tensors": pickle.dumps(1, 2) + pickle.dumps((1, 99, None), 2)}, "no key and storage"),
        ({"storages": pickle.dumps(0, 2) + pickle.dumps(5, 2)}, "a view of a storage has no key"),
        ({"storages": pickle.dumps(1, 2) + pickle.dumps(5, 2)}, "a storage has no key"),
    ):
        with pytest.raises(CheckpointError, match=said):
            tensorbus.load(tar(IN_TAR, **parts))


@pytest.mark.parametrize("form", ["legacy", "tar"])
def test_mutated_files_give_documented_errors(form: str) -> None:
    if form == "legacy":
        file = io.BytesIO()
        tensorbus.save(things(tensorbus), file, _use_new_zipfile_serialization=False)
        whole = file.getvalue()
    else:
        whole = tar(IN_TAR).getvalue()
    chance = random.Random(form)
    refused = 0
    for _ in range(250):
        mutant = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3))):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        if chance.random() < 0.3:
            del mutant[chance.randrange(len(mutant)) :]
        try:
            tensorbus.load(io.BytesIO(mutant))
        except CheckpointError as error:
            refused += 1
            assert str(error)
    assert refused > 50


HOSTILE = {
    "a storage larger than the file": (row(b"\x80\2" + OLD["a tensor"] + b".", ["5"])),
    "keys that nothing refers to": row(b"\x80\2N.", ["5"], FLOATS),
    "keys that are no texts": row(b"\x80\2N.", [5]),  # type: ignore[list-item]
    "the same key twice": row(b"\x80\2" + OLD["a tensor"] + b".", ["5", "5"], FLOATS, FLOATS),
    "another size than is told": row(b"\x80\2" + OLD["a tensor"] + b".", ["5"], FLOATS[:5]),
    "a storage that is not there": row(b"\x80\2" + OLD["a tensor"] + b".", []),
    "a tensor's state of its own": row(
        b"\x80\2ctorch\nFloatTensor\n)\x81(K\1K\2tb.", ["5"], FLOATS
    ),
    "a negative size": io.BytesIO(
        row(b"\x80\2" + OLD["a tensor"] + b".", ["5"]).getvalue() + struct.pack("<q", -1)
    ),
    "another version": io.BytesIO(pickle.dumps(MAGIC, 2) + pickle.dumps(7, 2)),
    "nothing behind the magic number": io.BytesIO(pickle.dumps(MAGIC, 2)),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(case: str) -> None:
    for weights_only in (True, None, False):
        HOSTILE[case].seek(0)
        with pytest.raises(CheckpointError):
            tensorbus.load(HOSTILE[case], weights_only=weights_only)
