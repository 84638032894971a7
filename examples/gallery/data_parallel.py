"""DataParallel: batches of digits are split over all devices of a type, each with its own copy.

    $ python examples/gallery/data_parallel.py
    1 devices: loss 0.05, accuracy 0.955

PoCL, OpenCL for processors, makes nine devices of one: after
`export POCL_DEVICES="basic basic basic basic basic basic basic basic basic"` the program with
`opencl` trains on nine. Reaches accuracy above 0.94 over held-out digits.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn, optim
from tensorbus.demo.digits import load


def main(device="cpu", steps=150):
    torch.manual_seed(0)
    images, labels, unseen, answers = (torch.from_numpy(x).to(device) for x in load())
    net = nn.Sequential(
        nn.Unflatten(1, (1, 28)), nn.Conv2d(1, 16, 5, 2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 5, 2), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    net = nn.DataParallel(net.to(device))
    optimizer = optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for _ in range(int(steps)):
        chosen = torch.randint(len(images), (90,), device=device)
        loss = F.cross_entropy(net(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        read = net.eval()(unseen).argmax(1)
    right = (read == answers).float().mean().item()
    print(f"{max(1, len(net.device_ids))} devices: loss {loss.item():.2f}, accuracy {right:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
