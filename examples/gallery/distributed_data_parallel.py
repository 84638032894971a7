"""Two processes whose gradients are averaged. Reaches accuracy above 0.85 on handwritten digits.

$ python examples/gallery/distributed_data_parallel.py
accuracy 0.90
"""

import sys
from tempfile import TemporaryDirectory

import tensorbus as torch
from tensorbus import distributed, multiprocessing, nn
from tensorbus.demo.digits import load


def train(rank, folder, device="cpu", steps=100):
    distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    images, labels, unseen, answers = (torch.tensor(x, device=device) for x in load())
    net = nn.parallel.DistributedDataParallel(nn.Linear(784, 10).to(device))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for chosen in torch.randint(len(images), (2, int(steps), 64), device=device)[rank]:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images[chosen].flatten(1)), labels[chosen]).backward()
        optimizer.step()
    print(f"accuracy {(net(unseen.flatten(1)).argmax(1) == answers).float().mean():.2f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        multiprocessing.spawn(train, (folder, *sys.argv[1:]), nprocs=2)
