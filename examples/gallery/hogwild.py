"""Hogwild: eight processes train one network in shared memory, without locks.

    $ python examples/gallery/hogwild.py
    accuracy 0.89

Reaches accuracy above 0.8 on handwritten digits.
"""

import sys

import tensorbus as torch
from tensorbus import multiprocessing, nn
from tensorbus.demo import digits


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


def train(rank, shared, device, steps):
    torch.manual_seed(rank)
    images, labels = map(torch.from_numpy, digits.load()[:2])
    net, optimizer = network().to(device), torch.optim.SGD(shared.parameters(), lr=0.05)
    for _ in range(steps):
        net.load_state_dict(shared.state_dict())
        chosen = torch.randint(len(labels), (32,))
        nn.functional.cross_entropy(
            net(images[chosen].to(device)), labels[chosen].to(device)
        ).backward()
        for mine, theirs in zip(net.parameters(), shared.parameters(), strict=True):
            theirs.grad, mine.grad = mine.grad.cpu(), None  # host: the shared memory is there
        optimizer.step()


def main(device="cpu", steps=60):
    torch.manual_seed(0)
    net = network().share_memory()
    multiprocessing.spawn(train, (net, device, int(steps)), nprocs=8)
    images, labels = map(torch.from_numpy, digits.load()[2:])
    print(f"accuracy {(net(images).argmax(1) == labels).float().mean().item():.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
