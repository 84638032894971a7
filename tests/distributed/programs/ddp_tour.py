"""A tour of DistributedDataParallel as PyTorch's pages teach it, started by ``mp.spawn``."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = sys.argv[1]
    accelerator = torch.accelerator.current_accelerator() or torch.device("cpu")
    backend = torch.distributed.get_default_backend_for_device(accelerator)
    assert backend in ("gloo", "tcp"), backend
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    if torch.cuda.is_available():
        torch.cuda.set_device(rank % torch.cuda.device_count())


def cleanup():
    dist.destroy_process_group()


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_basic(rank, world_size):
    setup(rank, world_size)
    torch.manual_seed(rank)
    ddp_model = DDP(ToyModel())
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)

    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    weights = [torch.zeros(10, 10) for _ in range(world_size)]
    dist.all_gather(weights, ddp_model.module.net1.weight.detach())
    assert all(torch.equal(weights[0], other) for other in weights)
    cleanup()
    print(f"Finished running basic DDP example on rank {rank}.\n", end="", flush=True)


def demo_checkpoint(rank, world_size):
    setup(rank, world_size)
    ddp_model = DDP(ToyModel())
    path = os.path.join(sys.argv[2], "model.checkpoint")
    if rank == 0:
        torch.save(ddp_model.state_dict(), path)
    dist.barrier()
    map_location = {"cuda:0": f"cuda:{rank}"}
    ddp_model.load_state_dict(torch.load(path, map_location=map_location, weights_only=True))

    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    dist.barrier()
    if rank == 0:
        os.remove(path)
    cleanup()
    print(f"Finished running DDP checkpoint example on rank {rank}.\n", end="", flush=True)


def demo_hook(rank, world_size):
    setup(rank, world_size)
    ddp_model = DDP(ToyModel(), bucket_cap_mb=1, gradient_as_bucket_view=True)

    def compress(state, bucket):
        tensor = bucket.buffer().to(torch.float16).div_(world_size)
        future = dist.all_reduce(tensor, async_op=True).get_future()

        def decompress(future):
            return bucket.buffer().copy_(future.value()[0])

        return future.then(decompress)

    ddp_model.register_comm_hook(state=None, hook=compress)
    ddp_model(torch.ones(4, 10) * rank).sum().backward()
    # Of the outputs' sum, the bias of the last layer has the number of samples as gradient.
    assert ddp_model.module.net2.bias.grad.tolist() == [4.0] * 5

    ones = torch.futures.Future()
    ones.set_result(torch.ones(3))
    assert ones.then(lambda f: f.value().sum().item()).wait() == 3.0
    with ddp_model.no_sync():
        ddp_model(torch.ones(4, 10)).sum().backward()
    assert ddp_model.module.net2.bias.grad.tolist() == [8.0] * 5
    cleanup()
    print(f"Finished running DDP hook example on rank {rank}.\n", end="", flush=True)


def run_demo(demo_fn, world_size):
    mp.spawn(demo_fn, args=(world_size,), nprocs=world_size, join=True)


if __name__ == "__main__":
    n_devices = torch.accelerator.device_count()
    world_size = max(2, n_devices)
    assert tempfile.gettempdir()
    run_demo(demo_basic, world_size)
    run_demo(demo_checkpoint, world_size)
    run_demo(demo_hook, world_size)
