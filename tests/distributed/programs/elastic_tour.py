"""A program for torchrun in the style of PyTorch's pages: its ranks come from the environment."""

import os
import socket

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def objects():
    rank, size = dist.get_rank(), dist.get_world_size()
    names = [None for _ in range(size)]
    dist.all_gather_object(names, {"rank": rank, "host": socket.gethostname()})
    assert [each["rank"] for each in names] == list(range(size))
    settings = ["lr", 0.1, {12: None}] if rank == 0 else [None, None, None]
    dist.broadcast_object_list(settings, src=0)
    assert settings == ["lr", 0.1, {12: None}]


def messages():
    rank, size = dist.get_rank(), dist.get_world_size()
    sent, received = torch.full((2,), float(rank)), torch.empty(2)
    ops = [
        dist.P2POp(dist.isend, sent, (rank + 1) % size),
        dist.P2POp(dist.irecv, received, (rank - 1) % size),
    ]
    for request in dist.batch_isend_irecv(ops):
        request.wait()
    assert received.tolist() == [float((rank - 1) % size)] * 2
    tensor = torch.arange(2, dtype=torch.int64) + 1 + 2 * rank
    dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    assert tensor.tolist() == [size * size, size * (size + 1)]


@record
def main():
    env_dict = {key: os.environ[key] for key in ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")}
    assert dist.is_available() and dist.is_torchelastic_launched()
    assert dist.is_gloo_available() and dist.Backend.GLOO == "gloo"
    dist.init_process_group(backend="cpu:gloo,cuda:nccl")
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    assert dist.get_node_local_rank() == local_rank
    assert dist.get_world_size() == int(env_dict["WORLD_SIZE"])
    device = f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu"

    model = ToyModel().to(device)
    ddp_model = DDP(model, device_ids=[local_rank] if device != "cpu" else None)
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10).to(device))
    labels = torch.randn(20, 5).to(device)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    objects()
    messages()
    group = dist.new_group([0], backend=dist.Backend.GLOO)
    if rank == 0:
        dist.barrier(group)
    dist.destroy_process_group()
    print(f"{os.environ['TORCHELASTIC_RUN_ID']}: rank {rank} is done.\n", end="", flush=True)


if __name__ == "__main__":
    main()
