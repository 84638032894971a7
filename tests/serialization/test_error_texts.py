"""Errors that programs match on: PyTorch's types, and the words that its texts begin with."""

import io
import pickle
import warnings
from typing import Any

import pytest

import tensorbus


class _Own:
    pass


def _saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    tensorbus.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, None])
def test_a_class_that_nobody_allowed(weights_only: bool | None) -> None:
    name = r"[\w.]*test_error_texts\._Own"
    text = rf"Weights only load failed.*Unsupported global: GLOBAL {name} was not an allowed global"
    with pytest.raises(pickle.UnpicklingError, match=text):
        tensorbus.load(_saved(_Own()), weights_only=weights_only)


def test_an_archive_that_is_cut_off() -> None:
    text = "PytorchStreamReader failed reading zip archive: failed finding central directory"
    with pytest.raises(RuntimeError, match=text):
        tensorbus.load(io.BytesIO(_saved([1]).getvalue()[:-100]))


def test_a_file_that_is_empty() -> None:
    with pytest.raises(EOFError, match="empty"):
        tensorbus.load(io.BytesIO())


@pytest.mark.parametrize("content", [b"<!DOCTYPE html>", pickle.dumps({"a": 1}, 2)])
def test_a_file_that_is_no_checkpoint(content: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        tensorbus.load(io.BytesIO(content))


def test_a_device_that_is_not_available() -> None:
    text = (
        r"Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is "
        r"False\. If you are running on a CPU-only machine, please use torch\.load with "
        r"map_location=torch\.device\('cpu'\) to map your storages to the CPU"
    )
    if tensorbus.cuda.device_count():
        pytest.skip("there is such a device")
    for where in ("cuda", tensorbus.device("cuda:0"), {"cpu": "cuda:0"}):
        with pytest.raises(RuntimeError, match=text):
            tensorbus.load(_saved(tensorbus.ones(2)), map_location=where)
    found = tensorbus.load(_saved(tensorbus.ones(2)), map_location="cpu")
    assert found.tolist() == [1, 1]


def test_an_index_that_no_device_has() -> None:
    text = (
        r"Attempting to deserialize object on CPU device 7 but torch\.cpu\.device_count\(\) is 1\. "
        "Please use torch.load with map_location to map your storages to an existing device"
    )
    with pytest.raises(RuntimeError, match=text):
        tensorbus.load(_saved(tensorbus.ones(2)), map_location="cpu:7")


def test_a_device_that_nobody_knows() -> None:
    text = r"don't know how to restore data location of torch\.storage\.UntypedStorage \(tagged "
    with pytest.raises(RuntimeError, match=text + r"with xyz\)"):
        tensorbus.load(_saved(tensorbus.ones(2)), map_location={"cpu": "xyz"})


def test_a_folder_that_is_missing(tmp_path: Any) -> None:
    with pytest.raises(RuntimeError, match="Parent directory .*none does not exist") as caught:
        tensorbus.save(1, tmp_path / "none" / "a.pt")
    assert isinstance(caught.value, FileNotFoundError)


def test_arguments_for_pickle_without_effect() -> None:
    file = _saved([1])
    with pytest.warns(UserWarning, match="pickle_load_args only works if") as caught:
        tensorbus.load(file, encoding="latin1")
    assert caught[0].filename == __file__
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensorbus.load(file, weights_only=False, encoding="latin1")
