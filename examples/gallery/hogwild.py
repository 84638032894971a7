"""Hogwild: eight processes train one network in shared memory. Reaches accuracy above 0.8.

$ python examples/gallery/hogwild.py
accuracy 0.89
"""

import sys
from copy import deepcopy

import tensorbus as torch
from tensorbus import multiprocessing, nn
from tensorbus.demo.digits import load

images, labels, unseen, answers = map(torch.tensor, load())


def train(rank, shared, device="cpu", steps=60):
    for chosen in torch.randint(len(images), (8, int(steps), 32))[rank]:
        net = deepcopy(shared).to(device)  # as it is now: others write there, without locks
        x, y = images[chosen].to(device), labels[chosen].to(device)
        nn.functional.cross_entropy(net(x), y).backward()
        for ours, weights in zip(net.parameters(), shared.parameters(), strict=True):
            weights.data -= 0.05 * ours.grad.cpu()  # host: the shared memory is there


if __name__ == "__main__":
    layers = nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)
    net = nn.Sequential(*layers).share_memory()
    multiprocessing.spawn(train, (net, *sys.argv[1:]), nprocs=8)
    print(f"accuracy {(net(unseen).argmax(1) == answers).float().mean():.2f}")
