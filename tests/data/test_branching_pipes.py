"""Pipes that share a stream, group its samples, or read files, beside PyTorch's."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

import tensorbus as torch
from tensorbus.utils.data import DataLoader
from tensorbus.utils.data.datapipes.iter import IterableWrapper

FILES = ["a.png", "b.png", "a.json", "b.json", "a.jpg", "c.json"]


def stem(name: str) -> str:
    return name.partition(".")[0]


def parity(number: int) -> int:
    return number % 2


def alternating(pipes: list[Any], count: int) -> list[Any]:
    iterators = [iter(pipe) for pipe in pipes]
    return [next(iterators[i % len(pipes)]) for i in range(count)]


def restarted(pipes: list[Any]) -> list[Any]:
    first, second = pipes
    begun = iter(first)
    told = [next(begun), next(begun), *list(second)]
    again = iter(first)
    told += [next(again), next(iter(second))]
    try:
        next(begun)
    except RuntimeError as error:
        told.append("invalidated" in str(error))
    return told


def number_of(pipe: Any) -> Any:
    try:
        return len(pipe)
    except TypeError:
        return "no length"


CASES = {
    "fork": lambda p: [list(branch) for branch in p(range(5)).fork(3)],
    "fork in turn": lambda p: alternating(p(range(4)).fork(num_instances=2), 8),
    "fork, twice": lambda p: [list(b) for b in 2 * p(range(3)).fork(2)],
    "one branch": lambda p: list(p(range(3)).fork(1)),
    "ahead": lambda p: alternating(p(range(9)).fork(2, buffer_size=1)[:1], 2),
    "ahead by one": lambda p: alternating(p(range(9)).fork(2, buffer_size=1)[:1], 1),
    "restarted": lambda p: restarted(p(range(4)).fork(2)),
    "lengths": lambda p: [number_of(b) for b in [*p(range(4)).fork(2), *p([1]).demux(2, parity)]],
    "no branch": lambda p: p(range(3)).fork(0),
    "copies": lambda p: [a is b for a, b in zip(*p([[1], [2]]).fork(2, copy="deep"), strict=True)],
    "same": lambda p: [a is b for a, b in zip(*p([[1], [2]]).fork(2), strict=True)],
    "unknown copy": lambda p: p([1]).fork(2, copy="most"),
    "demux": lambda p: [list(branch) for branch in p(range(7)).demux(2, parity)],
    "demux in turn": lambda p: alternating(p(range(7)).demux(2, parity), 6),
    "dropped": lambda p: [
        list(b) for b in p(range(7)).demux(2, lambda x: None if x > 4 else x % 2, drop_none=True)
    ],
    "not dropped": lambda p: list(p([1]).demux(2, lambda x: None)[0]),
    "beyond": lambda p: list(p(range(7)).demux(2, lambda x: x)[0]),
    "demux, small": lambda p: list(p(range(9)).demux(2, parity, buffer_size=2)[0]),
    "mapped": lambda p: list(p(range(4)).fork(2)[0].map(lambda x: x + 1).batch(3)),
    "zipped": lambda p: list(p(range(4)).fork(2)[0].zip(p("abcd"))),
    "groupby": lambda p: list(p(FILES).groupby(stem)),
    "keys": lambda p: list(p(FILES).groupby(stem, keep_key=True)),
    "sizes": lambda p: list(p(FILES).groupby(stem, group_size=2)),
    "guaranteed": lambda p: list(
        p(FILES).groupby(stem, buffer_size=3, group_size=3, guaranteed_group_size=2)
    ),
    "full": lambda p: list(p("abcd").groupby(stem, buffer_size=2, group_size=2)),
    "dropped groups": lambda p: list(
        p("aabcab").groupby(stem, buffer_size=2, group_size=2, drop_remaining=True)
    ),
    "full without sizes": lambda p: list(p("abacc").groupby(stem, buffer_size=3)),
    "group of none": lambda p: p(FILES).groupby(stem, group_size=0),
    "guaranteed more": lambda p: p(FILES).groupby(stem, group_size=2, guaranteed_group_size=3),
}


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def told(case: str, wrapper: Any) -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            made = plain(CASES[case](wrapper))
        except Exception as error:
            made = [type(error).__name__, [str(a).partition("\n")[0] for a in error.args]]
    return [made, len({str(w.message) for w in seen if "pickle" not in str(w.message)})]


@pytest.mark.parametrize("case", CASES)
def test_streams_are_pytorchs(oracle: Any, case: str) -> None:
    def program(torch: Any) -> Any:
        from torch.utils.data.datapipes.iter import IterableWrapper

        return told(case, IterableWrapper)

    assert told(case, IterableWrapper) == oracle(program)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "c.bin", "below/d.txt", "below/deep/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"in {name}")
    return tmp_path


def test_files_are_listed_as_pytorch_lists_them(tree: Path, oracle: Any) -> None:
    def listed(iter: Any) -> Any:
        root = str(tree)
        pipes = [
            iter.FileLister(root),
            iter.FileLister(root, "*.txt"),
            iter.FileLister(root, ["*.bin", "a*"]),
            iter.FileLister(root, recursive=True),
            iter.FileLister([f"{root}/below", f"{root}/c.bin"]),
            iter.IterableWrapper([root]).list_files(masks="*.txt", recursive=True),
        ]
        return [[path.removeprefix(root) for path in pipe] for pipe in pipes]

    def program(torch: Any) -> Any:
        from torch.utils.data.datapipes import iter

        return listed(iter)

    assert listed(torch.utils.data.datapipes.iter) == oracle(program)


def test_files_are_opened_and_read(tree: Path) -> None:
    files = torch.utils.data.datapipes.iter.FileLister(str(tree), "*.txt", length=2)
    assert len(files) == 2
    read = list(files.open_files().read_from_stream())
    assert read == [(str(tree / n), f"in {n}") for n in ("a.txt", "b.txt")]
    parts = [part for _, part in files.open_files(mode="b").read_from_stream(chunk=4)]
    assert parts == [b"in a", b".txt", b"in b", b".txt"]
    with pytest.raises(ValueError, match="Invalid mode w"):
        files.open_files(mode="w")
    with pytest.raises(TypeError, match="valid length"):
        len(files.open_files())
    with pytest.raises(OSError, match="nowhere"):
        list(torch.utils.data.datapipes.iter.FileLister(str(tree / "nowhere")))


@pytest.mark.parametrize("workers", [0, 2])
def test_branches_under_a_loader(workers: int) -> None:
    odd, even = IterableWrapper(range(20)).sharding_filter().demux(2, parity)
    joined = even.map(str).concat(odd.map(str)).shuffle()
    joined = pickle.loads(pickle.dumps(joined))
    loader = DataLoader(joined, batch_size=None, num_workers=workers)
    for _ in range(2):
        assert sorted(loader, key=int) == [str(i) for i in range(20)]
