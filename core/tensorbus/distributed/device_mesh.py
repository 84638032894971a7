"""Ranks in a grid, with a group of ranks along each of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed.lifecycle import (
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
)
from tensorbus.distributed.process_group import GroupMember, ProcessGroup

Names = tuple[str, ...] | None


class DeviceMesh:
    """A grid of global ranks, and for each dimension the group of this rank's line along it.

    *mesh* holds the ranks, as a tensor of the CPU or nested lists. All ranks of the job must make
    it, in the same order of calls; one outside of the mesh gets no groups. Without a process group
    the default one is made from the environment. RuntimeError for more ranks than the job has.

    Args:
        device_type: the type of the devices that the ranks compute on, for those who ask.
        mesh: the ranks, each once.
        mesh_dim_names: a name for each dimension, by which it can be taken.
        backend_override: for each dimension the comm of its groups and options, or None of both.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     mesh = dist.DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("data", "model"))
    ...     return mesh.get_coordinate(), mesh["model"].mesh.tolist()
    >>> dist.local.run(rank, 4)[2]
    ((1, 0), [2, 3])

    Source: https://pytorch.org/docs/stable/distributed.html
    """

    _groups: tuple[ProcessGroup, ...] | None
    """This rank's group along each dimension; None outside of the mesh."""

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Names = None,
        backend_override: Sequence[tuple[str | None, Any]] | None = None,
    ) -> None:
        if not is_initialized():
            init_process_group()
        self._set(device_type, _ranks_of(mesh), mesh_dim_names)
        world = get_world_size()
        if self._ranks.size > world:
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world}, but found "
                f"{self._ranks.size} ranks!"
            )
        if np.unique(self._ranks).size != self._ranks.size:
            raise RuntimeError(f"Each rank may be in a mesh once, got {self._ranks.tolist()}")
        backends = backend_override or [(None, None)] * self.ndim
        if len(backends) != self.ndim:
            raise RuntimeError(
                f"backend_override has {len(backends)} entries for a mesh of {self.ndim} dimensions"
            )
        made = [_along(self._ranks, dim, *backends[dim]) for dim in range(self.ndim)]
        found = [group for group in made if group is not None]
        self._groups = tuple(found) if self._place is not None else None

    def _set(self, device_type: str, ranks: NDArray[np.int64], names: Names) -> None:
        if names is not None and len(names) != ranks.ndim:
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found "
                f"len(mesh_dim_names): {len(names)} and len(mesh_shape):{ranks.ndim}."
            )
        if names is not None and len(set(names)) != len(names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
                f"{tuple(names)}"
            )
        self._device_type, self._ranks = device_type, ranks
        self._names = None if names is None else tuple(names)
        at = np.argwhere(ranks == get_rank())
        self._place = tuple(at[0].tolist()) if len(at) else None

    @classmethod
    def _with(
        cls, device_type: str, ranks: NDArray[np.int64], names: Names, groups: Any
    ) -> DeviceMesh:
        """A mesh of groups that exist."""
        made = cls.__new__(cls)
        made._set(device_type, ranks, names)
        made._groups = groups
        return made

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Names = None,
    ) -> DeviceMesh:
        """A mesh over a group, or over one group for each dimension of *mesh*.

        ValueError where the mesh and the groups do not fit.
        """
        if isinstance(group, ProcessGroup):
            own = get_process_group_ranks(group)
            ranks = np.array(own) if mesh is None else _ranks_of(mesh)
            if ranks.tolist() != own:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {own}")
            return DeviceMesh._with(device_type, ranks, mesh_dim_names, (group,))
        groups = tuple(group)
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        ranks = _ranks_of(mesh)
        if ranks.ndim != len(groups):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got mesh "
                f"{ranks.tolist()} and {len(groups)} ProcessGroups"
            )
        return DeviceMesh._with(device_type, ranks, mesh_dim_names, groups)

    # -- what it is ----------------------------------------------------------------------------
    @property
    def device_type(self) -> str:
        """The type of the devices."""
        return self._device_type

    @property
    def mesh(self) -> Tensor:
        """The ranks, a tensor of int32 on the CPU."""
        return tensorbus.tensor(self._ranks, dtype=tensorbus.int32, device="cpu")

    @property
    def mesh_dim_names(self) -> Names:
        """The names of the dimensions, or None."""
        return self._names

    @property
    def ndim(self) -> int:
        """How many dimensions the mesh has."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are along a dimension, or in all."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def get_rank(self) -> int:
        """This process's global rank."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This rank's place in the mesh; None outside of it."""
        return self._place

    # -- its groups ----------------------------------------------------------------------------
    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's rank in the group along a dimension, which only a line may leave out."""
        return get_rank(self.get_group(mesh_dim))

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """This rank's group along a dimension, which only a mesh of one may leave out.

        RuntimeError outside of the mesh, KeyError for a name that no dimension has.
        """
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                "needs to be specified when device_mesh.ndim > 1. If you want to get the list of "
                "all the ProcessGroups in the DeviceMesh, please use `get_all_groups()` instead."
            )
        groups = self._own_groups()
        return groups[self._dim(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0]

    def get_all_groups(self) -> list[ProcessGroup]:
        """This rank's group along each dimension."""
        return list(self._own_groups())

    def _own_groups(self) -> tuple[ProcessGroup, ...]:
        if self._groups is None:
            raise RuntimeError(
                "DeviceMesh process groups not initialized! "
                f"Rank {get_rank()} is not in the mesh {self._ranks.tolist()}"
            )
        return self._groups

    def _dim(self, name: str) -> int:
        if self._names is None or name not in self._names:
            raise KeyError(
                f"Invalid mesh_dim_name {name!r} specified. Valid mesh_dim_names are {self._names}."
            )
        return self._names.index(name)

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """This rank's part of the mesh along the named dimensions, in the order of the names."""
        if self._names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self._names:
            return self
        dims = [self._dim(name) for name in names]
        groups = self._own_groups()
        assert self._place is not None
        part = self._ranks[
            tuple(slice(None) if d in dims else at for d, at in enumerate(self._place))
        ]
        kept = sorted(dims)
        ranks = part.transpose([kept.index(d) for d in dims])
        return DeviceMesh._with(self._device_type, ranks, names, tuple(groups[d] for d in dims))

    # -- as a value ----------------------------------------------------------------------------
    def __repr__(self) -> str:
        sizes: Any = self.shape
        if self._names is not None:
            pairs = zip(self._names, self.shape, strict=True)
            sizes = f"({', '.join(f'{name}={n}' for name, n in pairs)})"
        return f"DeviceMesh({sizes}, {self._device_type!r}, ranks={self._ranks.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self._device_type, self.shape, tuple(self._ranks.flat), self._names


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: Names = None,
    backend_override: Mapping[int | str, Any] | None = None,
) -> DeviceMesh:
    """A mesh of the ranks from 0 on, row by row.

    All ranks of the job must call it. RuntimeError for names that are not one for each dimension,
    for more ranks than there are, and for a device with an index.

    Args:
        device_type: the type of the devices, such as ``"cpu"``.
        mesh_shape: how many ranks there are along each dimension.
        mesh_dim_names: a name for each dimension.
        backend_override: by dimension or its name, the comm of its groups, or that and options.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
    ...     x = tensorbus.tensor([float(dist.get_rank())])
    ...     dist.all_reduce(x, group=mesh.get_group("data"))
    ...     return x.item()
    >>> dist.local.run(rank, 4)
    [2.0, 4.0, 2.0, 4.0]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a "
            "'torch.device' object, it's recommended to pass in 'device.type'."
        )
    ranks = np.arange(math.prod(mesh_shape)).reshape(mesh_shape)
    backends = _backends(backend_override, ranks.ndim, mesh_dim_names)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backends)


def _backends(
    given: Mapping[int | str, Any] | None, ndim: int, names: Names
) -> list[tuple[str | None, Any]] | None:
    if given is None:
        return None
    made: list[tuple[str | None, Any]] = [(None, None)] * ndim
    for key, value in given.items():
        dim = names.index(key) if isinstance(key, str) and names and key in names else key
        if not isinstance(dim, int) or not 0 <= dim < ndim:
            raise RuntimeError(
                f"Found invalid keys in backend_override: got {list(given)}, expected integers in "
                f"range [0, {ndim}) or one of {names}"
            )
        made[dim] = value if isinstance(value, tuple) else (str(value), None)
    return made


def _ranks_of(mesh: Any) -> NDArray[np.int64]:
    if isinstance(mesh, Tensor):
        if mesh.device.type != "cpu":
            raise ValueError(f"`mesh` must be a CPU tensor, got {mesh}")
        mesh = mesh.detach().numpy()
    ranks = np.asarray(mesh)
    if ranks.dtype.kind not in "iu" or not ranks.ndim:
        raise TypeError(f"a mesh holds ranks, as nested lists or a tensor of integers, not {mesh}")
    return ranks.astype(np.int64)


def _along(
    ranks: NDArray[np.int64], dim: int, backend: str | None, options: Any
) -> ProcessGroup | None:
    """This rank's group along a dimension; all ranks make all groups."""
    if ranks.ndim == 1 and backend is None and ranks.tolist() == list(range(get_world_size())):
        whole: ProcessGroup | None = GroupMember.WORLD
        return whole
    own = None
    for line in np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist():
        group = new_group(line, backend=backend, pg_options=options)
        own = group if isinstance(group, ProcessGroup) else own
    return own
