"""Averages of models now and then, and optimizers that wrap others."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn, optim
from tensorbus.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from tensorbus.distributed.algorithms.model_averaging import averagers, utils
from tensorbus.distributed.algorithms.model_averaging.hierarchical_model_averager import (
    HierarchicalModelAverager,
)
from tensorbus.distributed.optim import (
    PostLocalSGDOptimizer,
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
    _NamedOptimizer,
)
from tensorbus.nn.parallel import DistributedDataParallel as DDP


def weight(value: float, dtype: Any = None) -> nn.Parameter:
    made = nn.Parameter(tb.tensor([value], dtype=dtype))
    made.grad = tb.zeros_like(made)
    return made


# -- averages ----------------------------------------------------------------------------------
def test_what_is_averaged() -> None:
    def rank() -> Any:
        r = float(dist.get_rank())
        w, double, still = weight(r), weight(r, tb.float64), nn.Parameter(tb.tensor([r]))
        utils.average_parameters_or_parameter_groups([w, double, still], None)
        group = {"params": [w]}
        assert utils.get_params_to_average([group, {"params": [still]}]) == [w]
        with pytest.raises(NotImplementedError, match="Parameter input of type <class 'int'>"):
            utils.get_params_to_average([1])
        return w.item(), double.item(), double.dtype, still.item()

    for r, found in enumerate(dist.local.run(rank, 3)):
        assert found == (1.0, 1.0, tb.float64, r)


def test_ranks_outside_of_the_group_keep_theirs() -> None:
    def rank() -> float:
        w = weight(float(dist.get_rank()))
        utils.average_parameters(iter([w]), dist.new_group([0, 1]))
        return w.item()

    assert dist.local.run(rank, 3) == [0.5, 0.5, 2.0]


def test_periods_and_the_steps_before() -> None:
    def rank() -> list[float]:
        w, seen = weight(0.0), []
        averager = averagers.PeriodicModelAverager(period=3, warmup_steps=2)
        for _ in range(7):
            w.data = tb.tensor([float(dist.get_rank())])
            averager.average_parameters([w])
            seen.append(w.item())
        assert averager.step == 7
        return seen

    assert dist.local.run(rank, 2)[1] == [1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 1.0]


def test_smaller_groups_more_often() -> None:
    def rank() -> list[float]:
        w, seen = weight(0.0), []
        averager = HierarchicalModelAverager({2: 2, 4: 4}, warmup_steps=1)
        for _ in range(5):
            w.data = tb.tensor([float(dist.get_rank())])
            averager.average_parameters([w])
            seen.append(w.item())
        return seen

    found = dist.local.run(rank, 4)
    assert found[0] == [0.0, 0.0, 0.5, 0.0, 1.5] and found[3] == [3.0, 3.0, 2.5, 3.0, 1.5]


def test_what_averagers_refuse() -> None:
    def rank() -> None:
        for given, text in (
            ({"period": 0}, "``period`` must be a positive value"),
            ({"period": 2, "warmup_steps": -1}, "``warmup_steps`` must be a non-negative number"),
        ):
            with pytest.raises(ValueError, match=text):
                averagers.PeriodicModelAverager(**given)
        for sizes, text in (
            ({}, "must not be empty"),
            ({0: 1}, "minimum period in arg"),
            ({2: 3}, r"``period_group_size_dict`` 3 must be equal to the size of arg .* 1\."),
        ):
            with pytest.raises(ValueError, match=text):
                HierarchicalModelAverager(sizes)
        with pytest.warns(UserWarning, match="When period is 1, no need"):
            averagers.PeriodicModelAverager(1)
        with pytest.warns(UserWarning, match="When the maximum period in arg"):
            HierarchicalModelAverager({1: 1})

    dist.local.run(rank, 1)


# -- optimizers --------------------------------------------------------------------------------
def test_local_steps_and_averages_then() -> None:
    def rank() -> Any:
        r = float(dist.get_rank())
        w = weight(r)
        averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
        optimizer = PostLocalSGDOptimizer(optim.SGD([w], lr=1.0, momentum=0.5), averager)
        seen = []
        for _ in range(3):
            optimizer.zero_grad()
            (w * (r + 1)).sum().backward()
            optimizer.step()
            seen.append(w.item())
        state = copy.deepcopy(optimizer.state_dict())
        assert repr(optimizer) == repr(optimizer.optim) and optimizer.state is optimizer.optim.state
        optimizer.add_param_group({"params": [weight(1.0)], "lr": 0.5})
        assert len(optimizer.param_groups) == 2 and optimizer.param_groups[1]["lr"] == 0.5
        return seen, state

    (first, state), (second, _) = dist.local.run(rank, 2)
    # Rank 0 goes down by 1, 1.5, 1.75, rank 1 by twice as much; they meet after the second step.
    assert first == [-1.0, -3.25, -5.0] and second == [-1.0, -3.25, -6.75]
    assert state["step"] == 3


def test_checkpoints_hold_the_averagers_step() -> None:
    def rank() -> None:
        w = weight(1.0)
        made = PostLocalSGDOptimizer(optim.SGD([w], lr=1.0), averagers.PeriodicModelAverager(4))
        state = made.state_dict()
        made.load_state_dict({**state, "step": 9})
        assert made.averager.step == 9
        del state["step"]
        with pytest.warns(UserWarning, match="does not contain a step counter"):
            made.load_state_dict(state)
        assert made.averager.step == 0

    dist.local.run(rank, 1)


def test_the_hook_averages_over_all_and_then_over_the_subgroup() -> None:
    def rank() -> list[float]:
        net = nn.Linear(1, 1, bias=False)
        ddp = DDP(net)
        subgroup, _ = dist.new_subgroups(group_size=2)
        state = PostLocalSGDState(None, subgroup, start_localSGD_iter=1)
        ddp.register_comm_hook(state, post_localSGD_hook)
        seen = []
        for _ in range(3):
            ddp.zero_grad()
            ddp(tb.tensor([[float(dist.get_rank())]])).sum().backward()
            seen.append(net.weight.grad.item())
            state.post_local_gradient_allreduce = len(seen) < 2
        return seen

    found = dist.local.run(rank, 4)
    assert found[0] == [1.5, 0.5, 0.0] and found[3] == [1.5, 2.5, 3.0]


def test_optimizers_in_the_backward_pass() -> None:
    net = nn.Linear(2, 1, bias=False)
    start = net.weight.detach().clone()
    _apply_optimizer_in_backward(optim.SGD, net.parameters(), {"lr": 0.5})
    net(tb.tensor([[1.0, 2.0]])).sum().backward()
    assert net.weight.grad is None
    tb.testing.assert_close(net.weight.detach(), start - tb.tensor([[0.5, 1.0]]))
    _apply_optimizer_in_backward(optim.SGD, net.parameters(), {"lr": 0.25})
    net(tb.tensor([[1.0, 2.0]])).sum().backward()
    tb.testing.assert_close(net.weight.detach(), start - tb.tensor([[1.25, 2.5]]))
    assert [o.param_groups[0]["lr"] for o in _get_in_backward_optimizers(net)] == [0.5, 0.25]
    alone = nn.Linear(1, 1)
    _apply_optimizer_in_backward(optim.SGD, alone.parameters(), {}, register_hook=False)
    alone(tb.ones(1, 1)).sum().backward()
    assert alone.weight.grad is not None and len(_get_in_backward_optimizers(alone)) == 2


def named(torch: Any, module: Any, cls: Any) -> Any:
    """A checkpoint of a named optimizer in another, and what is refused."""
    torch.manual_seed(0)
    nets = [torch.nn.Linear(2, 2) for _ in range(2)]
    for net in nets:
        torch.nn.init.ones_(net.weight)
        torch.nn.init.zeros_(net.bias)
    first, second = (
        cls(net.named_parameters(), torch.optim.Adagrad, None, None, lr=0.5) for net in nets
    )
    nets[0](torch.ones(1, 2)).sum().backward()
    first.step()
    state = first.state_dict()
    texts = []
    second.init_state()
    second.load_state_dict(state)
    broken: dict[str, Any] = copy.deepcopy(state)
    del broken["state"]["weight"]["sum"]
    other = copy.deepcopy(state)
    other["state"]["bias"]["total"] = other["state"]["bias"].pop("sum")
    more = copy.deepcopy(state)
    more["param_groups"][0]["more"] = 1
    for given in (broken, other, more):
        try:
            second.load_state_dict(given)
        except ValueError as error:
            texts.append(str(error))
    fresh = cls(nets[0].named_parameters(), torch.optim.SGD)
    for call in (
        lambda: fresh.load_state_dict(state),
        lambda: fresh.add_param_group({"params": torch.ones(1)}),
        lambda: cls(nets[0].named_parameters(), torch.optim.SGD, [{"params": torch.ones(1)}]),
        lambda: cls(nets[0].named_parameters(), torch.optim.SGD, [[1]]),
        lambda: cls(nets[0].named_parameters(), torch.optim.SGD, [{}]),
        lambda: cls(nets[0].named_parameters(), torch.optim.SGD, [{"params": [1]}]),
    ):
        try:
            call()
        except (ValueError, AssertionError, TypeError) as error:
            texts.append(f"{type(error).__name__}: {error}")
    found = second.state_dict()
    numbers = {k: {n: v.tolist() for n, v in s.items()} for k, s in found["state"].items()}
    names = [group["params"] for group in found["param_groups"]]
    return numbers, names, found["param_groups"][0]["lr"], texts


def test_states_by_name_are_pytorchs(live_torch: Any) -> None:
    from torch.distributed.optim import _NamedOptimizer as Theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = named(live_torch, live_torch.nn, Theirs)
        found = named(tb, nn, _NamedOptimizer)
    assert found == expected
