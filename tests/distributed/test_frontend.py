"""What the frontend adds to a comm: order, staging, autograd's rules, checks, debug mode."""

from __future__ import annotations

import sys
import threading
import warnings

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus.discovery.metadata import COMMS
from tensorbus.distributed import ReduceOp, staging
from tensorbus.plugin import ArrayLibraryBackend
from tensorbus_conformance.devices.strict import StrictBackend


# -- order -----------------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_asynchronous_collectives_keep_their_order_among_synchronous_ones(backend):
    def rank():
        x = torch.full((20_000,), dist.get_rank() + 1.0)
        works = []
        for _ in range(5):
            works.append(dist.all_reduce(x, async_op=True))
            works.append(dist.broadcast(x, 1, async_op=True))
        dist.all_reduce(x)
        assert all(w.is_completed() for w in works)
        assert (x == 3.0 * 2**5).all()
        first = works[0]
        assert first.result()[0] is x and first.get_future().done() and first.exception() is None
        assert first.get_future().then(lambda f: f.value()[0].sum().item()).wait() == x.sum().item()

    dist.local.run(rank, 2, backend=backend)


def test_waiting_for_work_can_time_out_while_it_goes_on():
    timed_out = threading.Event()

    def rank():
        x = torch.ones(1)
        if dist.get_rank():
            timed_out.wait()
        work = dist.all_reduce(x, async_op=True)
        if not dist.get_rank():
            with pytest.raises(
                dist.DistBackendError, match="all_reduce number 1 .* not done after 0.1"
            ):
                work.wait(0.1)
            timed_out.set()
        assert work.wait() and x.item() == 2

    dist.local.run(rank, 2)


# -- autograd --------------------------------------------------------------------------------
def test_collectives_write_outside_autograd_and_count_as_writes():
    def rank():
        leaf = torch.ones(3, requires_grad=True)
        dist.all_reduce(leaf)
        assert leaf.tolist() == [2, 2, 2] and leaf.is_leaf and leaf.grad_fn is None
        out = [torch.zeros(3, requires_grad=True) for _ in range(2)]
        dist.all_gather(out, leaf)
        assert out[1].tolist() == [2, 2, 2] and out[1].grad_fn is None
        saved = torch.full((2,), 3.0, requires_grad=True)
        y = saved.exp()
        dist.all_reduce(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        dist.broadcast(saved, 0, async_op=True).wait()

    dist.local.run(rank, 2)


# -- devices ---------------------------------------------------------------------------------
def test_tensors_of_any_device_go_through_the_host_and_it_is_told_once():
    staging._warned.clear()
    with discovery.plugged(StrictBackend()) as device, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `simplefilter` is every thread's: the count comes below

        def rank():
            me = dist.get_rank()
            for dtype in ("float32", "float16", "bool", "int64"):
                x = torch.ones(4, 3, device=device).to(getattr(torch, dtype))
                dist.all_reduce(x.t()[1:])
                assert x.device.type == device and x.dtype == getattr(torch, dtype)
                want = np.ones((4, 3))
                want[:, 1:] = 1 if dtype == "bool" else 2
                assert np.array_equal(x.float().cpu().numpy(), want), dtype
            outs = [torch.zeros(2, device=device) for _ in range(2)]
            dist.all_gather(outs, torch.full((2,), float(me), device=device))
            assert [t.tolist() for t in outs] == [[0, 0], [1, 1]]
            (dist.send if me else dist.recv)(outs[me], 1 - me)
            assert outs[me].tolist() == [1, 1]
            flat = torch.zeros(2, device=device)
            dist.all_to_all_single(flat, torch.tensor([10.0 + me, 20.0 + me], device=device))
            assert flat.tolist() == [[10, 11], [20, 21]][me]
            half = torch.full((3,), 1.5, device=device)
            dist.all_reduce(half, ReduceOp.AVG)
            assert half.tolist() == [1.5] * 3

        dist.local.run(rank, 2, backend="tcp")
        assert staging._warned == {("tcp", device)}


def test_a_comm_that_takes_a_devices_memory_gets_its_arrays(install):
    class Mirror(ArrayLibraryBackend):
        name = "mirror"

        def to_host(self, array, dtype):
            assert array.size < 2, "only single results go through the host"
            return super().to_host(array, dtype)

        def from_host(self, array, dtype, index):
            assert array.size < 2, "only single values come from the host"
            return super().from_host(array, dtype, index)

    source = """
from tensorbus_comm_local.comm import DTYPES, LocalComm
from tensorbus.plugin import CommSpec, hookimpl
class Direct(LocalComm):
    name = "direct"
    def capabilities(self):
        return {DEVICE: DTYPES}
@hookimpl
def tensorbus_comm():
    return CommSpec("direct", lambda: Direct, priority=-1)
"""
    install("acme-direct", {COMMS: {"direct": "acme_direct"}}, {"acme_direct": source})
    discovery.comm("direct")
    with discovery.plugged(Mirror()) as device:
        sys.modules["acme_direct"].DEVICE = device

        def rank():
            me = dist.get_rank()
            x = torch.ones(4, 3, device=device) * (me + 1)
            dist.all_reduce(x.t()[1:])
            assert x.sum().item() == 4 * (me + 1) + 8 * 3
            outs = [torch.zeros(2, device=device) for _ in range(2)]
            dist.all_gather(outs, torch.full((2,), me + 1.0, device=device))
            assert [t.sum().item() for t in outs] == [2, 4]
            flat = torch.zeros(6, device=device)
            dist.all_to_all_single(flat, torch.arange(6.0, device=device) + 10 * me)
            assert flat.sum().item() == [3 + 33, 12 + 42][me]
            dist.reduce(flat, 0)
            assert flat.sum().item() == [90, 54][me]
            empty = torch.zeros(0, 2, device=device)
            dist.all_to_all_single(empty, empty)
            with pytest.raises(RuntimeError, match="'direct' cannot move float32 .* device 'cpu'"):
                dist.all_reduce(torch.ones(1))

        dist.local.run(rank, 2, backend="direct")


@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_comms_combine_the_bits_of_bfloat16_as_numbers(backend):
    """Against float32, rounded to nearest even by hand; every rank has the same bits."""
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal(9000).astype(np.float32) for _ in range(3)]
    bits = [(p.view(np.uint32) >> 16).astype(np.uint16) for p in parts]
    bits[1][:3] = [0x7F80, 0x7FC1, 0x7F7F]  # infinity, NaN, the largest number
    bits[0][2] = 0x7F7F

    def rank():
        comm = dist.group.WORLD.comm_for("cpu")
        results = {}
        for op in ("sum", "max"):
            x = bits[dist.get_rank()].copy()
            comm.all_reduce(x, torch.bfloat16, op, 10)
            results[op] = x
        return results

    with np.errstate(all="ignore"):
        done = dist.local.run(rank, 3, backend=backend)
    for op in ("sum", "max"):
        assert all(np.array_equal(d[op], done[0][op]) for d in done)
    got = (done[0]["sum"].astype(np.uint32) << 16).view(np.float32)
    exact = sum((b.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for b in bits)
    assert np.isinf(got[0]) and np.isnan(got[1]) and np.isinf(got[2])
    # Two additions, each rounded to 8 bits, of partial sums no larger than the parts' sizes.
    size = sum(np.abs((b[3:].astype(np.uint32) << 16).view(np.float32)) for b in bits)
    assert (np.abs(got[3:] - exact[3:]) <= 2 * size * 2.0**-8).all()


def test_a_dtype_that_the_comm_lacks_is_an_error_with_ways_out(install):
    source = """
from tensorbus_comm_local.comm import LocalComm
from tensorbus.plugin import CommSpec, float32, hookimpl
class Small(LocalComm):
    name = "small"
    def capabilities(self):
        return {"host": frozenset({float32})}
@hookimpl
def tensorbus_comm():
    return CommSpec("small", lambda: Small)
"""
    install("acme-small", {COMMS: {"small": "acme_small"}}, {"acme_small": source})

    def rank():
        with pytest.raises(
            RuntimeError, match=r"'small' cannot move int64 .* host memory: float32"
        ):
            dist.all_reduce(torch.ones(1, dtype=torch.int64))
        x = torch.ones(1)
        dist.all_reduce(x)
        return x.item()

    assert dist.local.run(rank, 2, backend="small") == [2, 2]


# -- arguments -------------------------------------------------------------------------------
def test_what_collectives_refuse():
    def rank():
        f, i, c = torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(2) + 0j
        tensor, lists = "Expected parameter `tensor` of type torch.Tensor", r"List\[torch.Tensor\]"
        band, maximum = ReduceOp.BAND, ReduceOp.MAX
        for error, text, call in [
            (TypeError, tensor, lambda: dist.all_reduce(1)),
            (TypeError, lists, lambda: dist.all_gather([1], f)),
            (ValueError, "different dtypesFound", lambda: dist.all_gather([i], f)),
            (ValueError, "for each of the group's 1 ranks", lambda: dist.all_gather([], f)),
            (ValueError, "equally many", lambda: dist.all_gather([torch.ones(3)], f)),
            (ValueError, "ReduceOp.MAX on complex", lambda: dist.all_reduce(c, maximum)),
            (RuntimeError, "BAND with non-integral", lambda: dist.all_reduce(f, band)),
            (TypeError, "op must be a ReduceOp", lambda: dist.all_reduce(f, "sum")),
            (ValueError, "specified on destination rank", lambda: dist.gather(f)),
            (ValueError, "specified on source rank", lambda: dist.scatter(f)),
            (ValueError, "world_size times", lambda: dist.all_gather_into_tensor(c[:0], c)),
            (ValueError, "Number of tensor splits", lambda: dist.all_to_all_single(f, f, [1, 1])),
            (ValueError, "doesn't match", lambda: dist.all_to_all_single(f, f, [1], [2])),
            (ValueError, "duplicate entries", lambda: dist.new_group([0, 0])),
            (ValueError, "Valid ranks are 0 to 0", lambda: dist.new_group([-1])),
            (ValueError, "split_ranks cannot be None or empty", lambda: dist.split_group()),
            (ValueError, "Can't specify both", lambda: dist.broadcast(f, 0, group_src=0)),
        ]:  # fmt: skip
            with pytest.raises(error, match=text):
                call()
        dist.all_reduce(f)
        assert f.tolist() == [1, 1]

    dist.local.run(rank, 1)


def test_a_destroyed_group_says_so():
    def rank():
        group = dist.new_group()
        dist.destroy_process_group(group)
        with pytest.raises(ValueError, match="process group '1' was destroyed"):
            dist.barrier(group)
        with pytest.raises(ValueError, match="Invalid process group specified"):
            dist.destroy_process_group(group)
        dist.barrier()

    dist.local.run(rank, 2)


@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_the_monitored_barrier_names_who_is_missing_and_the_group_lives(backend):
    told = threading.Barrier(3)

    def rank():
        me = dist.get_rank()
        dist.monitored_barrier()
        if me == 0:
            with pytest.raises(
                dist.DistBackendError, match="Rank 2 failed to pass monitoredBarrier in 3000 ms"
            ):
                dist.monitored_barrier(timeout=3, wait_all_ranks=True)
        elif me == 1:
            with pytest.raises(dist.DistBackendError, match="Please check rank 0 logs for faulty"):
                dist.monitored_barrier(timeout=3)
        told.wait()

    dist.local.run(rank, 3, backend=backend)


def test_subgroups_of_neighbours():
    def rank():
        me = dist.get_rank()
        mine, every = dist.new_subgroups(2)
        x = torch.tensor([float(me)])
        dist.all_reduce(x, group=mine)
        assert x.item() == {0: 1, 1: 1, 2: 5, 3: 5}[me] and len(every) == 2
        odd, _ = dist.new_subgroups_by_enumeration([[1, 3], [0]])
        assert (odd is None) == (me == 2)
        for size, text in [(0, "must be positive"), (5, "not exceed"), (3, "divisible by")]:
            with pytest.raises(ValueError, match=text):
                dist.new_subgroups(size)
        with pytest.raises(ValueError, match="Rank 1 has appeared in both subgroup 0 and 1"):
            dist.new_subgroups_by_enumeration([[0, 1], [1]])

    dist.local.run(rank, 4)


def test_names_of_comms():
    assert dist.Backend("TcP") == "tcp" == dist.Backend.TCP and dist.Backend.LOCAL == "local"
    with pytest.raises(ValueError, match="string-ish"):
        dist.Backend(3)
    with pytest.raises(AttributeError, match="no attribute 'NOTHING'"):
        _ = dist.Backend.NOTHING
