"""DataParallel: batches of digits are split over all devices of a type, each with its own copy.

    $ python examples/gallery/data_parallel.py
    1 devices: accuracy 0.932

PoCL makes nine OpenCL devices of a processor where POCL_DEVICES is "basic" nine times, with spaces
between. Reaches accuracy above 0.9 over held-out digits.
"""

import sys

import tensorbus as torch
from tensorbus import nn
from tensorbus.demo.digits import load

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
images, labels, unseen, answers = map(torch.tensor, load())
layers = nn.Flatten(), nn.Linear(784, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10)
net = nn.DataParallel(nn.Sequential(*layers))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 150):
    chosen = torch.randint(len(images), (90,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(images[chosen]), labels[chosen]).backward()
    optimizer.step()
right = (net.eval()(unseen).argmax(1) == answers).float().mean()
print(f"{max(1, len(net.device_ids))} devices: accuracy {right:.3f}")
