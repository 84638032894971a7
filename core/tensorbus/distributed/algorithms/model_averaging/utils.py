"""The average over ranks of parameters that have gradients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed.collectives import all_reduce
from tensorbus.distributed.lifecycle import group_or_default
from tensorbus.distributed.process_group import GroupMember, ProcessGroup
from tensorbus.nn.parameter import Parameter

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterator[Tensor], process_group: Any) -> None:
    """Give all parameters their averages over the ranks of a group, by one message.

    Nothing happens on ranks outside of the group. Parameters of other dtypes than the joined one
    travel as that, and keep their own.
    """
    if process_group == GroupMember.NON_GROUP_MEMBER:
        return
    group, given = group_or_default(process_group), list(params)
    joined = tensorbus.cat([p.detach().reshape(-1) for p in given]) / group.size()
    all_reduce(joined, group=group)
    with tensorbus.no_grad():
        for p, values in zip(given, joined.split([p.numel() for p in given]), strict=True):
            p.data = values.view(p.shape).to(p.dtype, copy=True)


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have a gradient, of parameters or of an optimizer's groups.

    >>> import tensorbus.distributed.algorithms.model_averaging.utils as utils
    >>> len(utils.get_params_to_average(nn.Linear(2, 2).parameters()))
    0
    """
    found: list[Tensor] = []
    for each in params:
        if isinstance(each, Parameter):
            found.append(each)
        elif isinstance(each, dict):
            found += each["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")
    return [p for p in found if p.grad is not None]


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: ProcessGroup | None
) -> None:
    """``average_parameters`` of those that have a gradient."""
    average_parameters(iter(get_params_to_average(params)), process_group)
