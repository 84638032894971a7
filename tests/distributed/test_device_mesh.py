"""Meshes of ranks: their groups, parts and places, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed.device_mesh import DeviceMesh, init_device_mesh

NAMES = ("a", "b", "c")


def test_groups_go_along_each_dimension() -> None:
    cube: Any = np.arange(8).reshape(2, 2, 2)

    def rank() -> Any:
        mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=NAMES)
        sums = []
        for name in NAMES:
            x = torch.tensor([float(dist.get_rank())])
            dist.all_reduce(x, group=mesh.get_group(name))
            sums.append(x.item())
        ranks = [dist.get_process_group_ranks(g) for g in mesh.get_all_groups()]
        locals_ = [mesh.get_local_rank(d) for d in range(3)]
        return sums, ranks, locals_, mesh.get_coordinate(), mesh.get_rank()

    for r, (sums, ranks, local, place, me) in enumerate(dist.local.run(rank, 8)):
        at: tuple[Any, ...] = tuple(int(i) for i in np.argwhere(cube == r)[0])
        lines = [cube[(*at[:d], slice(None), *at[d + 1 :])].tolist() for d in range(3)]
        assert (ranks, sums) == (lines, [float(sum(line)) for line in lines])
        assert (place, tuple(local), me) == (at, at, r)


def test_parts_by_name() -> None:
    def rank() -> Any:
        mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=NAMES)
        part = mesh["c", "a"]
        assert part.get_group("a") is mesh.get_group("a") and mesh[NAMES] is mesh
        assert part["a"] == mesh["a"] and hash(part["a"]) == hash(mesh["a"])
        assert mesh["a"] != mesh["c"]
        assert mesh["b"].get_group() is mesh.get_group(1)
        assert mesh["b"].get_local_rank() == mesh.get_local_rank("b")
        return part.mesh.tolist(), part.shape, part.mesh_dim_names, part.get_coordinate()

    found = dist.local.run(rank, 8)
    assert found[5] == ([[0, 4], [1, 5]], (2, 2), ("c", "a"), (1, 1))
    assert found[2] == ([[2, 6], [3, 7]], (2, 2), ("c", "a"), (0, 0))


def test_what_a_mesh_says_of_itself() -> None:
    def rank() -> Any:
        mesh = DeviceMesh("opencl", torch.tensor([[2, 0], [1, 3]]))
        assert (mesh.ndim, mesh.shape, mesh.size(), mesh.size(1)) == (2, (2, 2), 4, 2)
        assert mesh.mesh.dtype is torch.int32 and mesh.mesh_dim_names is None
        assert repr(mesh) == "DeviceMesh((2, 2), 'opencl', ranks=[[2, 0], [1, 3]])"
        with pytest.raises(RuntimeError, match="Cannot slice a DeviceMesh without mesh_dim_names!"):
            mesh["a"]
        return mesh.device_type, mesh.get_coordinate()

    found = dist.local.run(rank, 4)
    assert [place for _, place in found] == [(0, 1), (1, 0), (0, 0), (1, 1)]
    assert found[0][0] == "opencl"


def test_a_line_of_all_ranks_is_the_default_group() -> None:
    def rank() -> bool:
        mesh = init_device_mesh("cpu", (2,))
        return mesh.get_group() is dist.group.WORLD and mesh.get_local_rank() == dist.get_rank()

    assert dist.local.run(rank, 2) == [True, True]


def test_ranks_outside_have_no_groups() -> None:
    def rank() -> Any:
        mesh = DeviceMesh("cpu", [0, 2])
        if mesh.get_coordinate() is not None:
            return mesh.get_local_rank()
        with pytest.raises(RuntimeError, match="process groups not initialized! Rank 1 is not in"):
            mesh.get_group()
        return None

    assert dist.local.run(rank, 3) == [0, None, 1]


def test_meshes_over_groups_that_exist() -> None:
    def rank() -> Any:
        rows, _ = dist.new_subgroups_by_enumeration([[0, 1], [2, 3]])
        columns, _ = dist.new_subgroups_by_enumeration([[0, 2], [1, 3]])
        grid = [[0, 1], [2, 3]]
        mesh = DeviceMesh.from_group([columns, rows], "cpu", grid, mesh_dim_names=("x", "y"))
        line = DeviceMesh.from_group(rows, "cpu")
        assert mesh.get_group("y") is rows is line.get_group() and mesh["x"].get_group() is columns
        with pytest.raises(ValueError, match="Must pass mesh if passing multiple ProcessGroups"):
            DeviceMesh.from_group([rows, columns], "cpu")
        with pytest.raises(ValueError, match="at least one ProcessGroup"):
            DeviceMesh.from_group([], "cpu")
        with pytest.raises(ValueError, match="Expects mesh with ndim equal"):
            DeviceMesh.from_group([rows], "cpu", grid)
        with pytest.raises(ValueError, match=r"Invalid mesh \[3, 0\] for ProcessGroup with ranks"):
            DeviceMesh.from_group(rows, "cpu", [3, 0])
        return line.mesh.tolist()

    assert dist.local.run(rank, 4) == [[0, 1], [0, 1], [2, 3], [2, 3]]


def test_what_is_refused() -> None:
    def rank() -> None:
        with pytest.raises(RuntimeError, match="Each mesh_dim_name must be unique"):
            init_device_mesh("cpu", (1, 2), mesh_dim_names=("a", "a"))
        with pytest.raises(RuntimeError, match="should have same length! Found len"):
            init_device_mesh("cpu", (1, 2), mesh_dim_names=("a",))
        with pytest.raises(RuntimeError, match="Device type with index is not supported"):
            init_device_mesh("cpu:0", (2,))
        with pytest.raises(RuntimeError, match="bigger than default world size 2, but found 4"):
            init_device_mesh("cpu", (2, 2))
        with pytest.raises(RuntimeError, match="Each rank may be in a mesh once"):
            DeviceMesh("cpu", [1, 1])
        with pytest.raises(TypeError, match="a mesh holds ranks"):
            DeviceMesh("cpu")
        with pytest.raises(RuntimeError, match="Found invalid keys in backend_override"):
            init_device_mesh("cpu", (2,), backend_override={3: "tcp"})
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("a", "b"))
        with pytest.raises(KeyError, match="Invalid mesh_dim_name 'z'"):
            mesh["z"]
        with pytest.raises(RuntimeError, match="Found the DeviceMesh have 2 dimensions"):
            mesh.get_group()

    dist.local.run(rank, 2)


def test_a_comm_for_a_dimension() -> None:
    def rank() -> Any:
        override: dict[int | str, Any] = {"b": "local", 0: ("local", None)}
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("a", "b"), backend_override=override)
        return [dist.get_backend(group) for group in mesh.get_all_groups()]

    assert dist.local.run(rank, 2) == [["local", "local"]] * 2
