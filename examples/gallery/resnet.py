"""A residual network reads digits. Reaches accuracy above 0.93 on held-out ones.

$ python examples/gallery/resnet.py
accuracy 0.950
"""

import sys

import tensorbus as torch
from tensorbus.demo.digits import load
from tensorbus.nn import BatchNorm2d, Conv2d, Flatten, Linear, Sequential, Unflatten


class Residual(Sequential):
    def forward(self, x):
        return torch.relu(x + super().forward(x))


torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
images, labels, unseen, answers = map(torch.tensor, load())
blocks = [Residual(Conv2d(32, 32, 3, padding=1), BatchNorm2d(32)) for _ in range(4)]
net = Sequential(Unflatten(1, (1, 28)), Conv2d(1, 32, 4, 4), *blocks, Flatten(), Linear(1568, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 150):
    chosen = torch.randint(len(images), (64,))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(images[chosen]), labels[chosen]).backward()
    optimizer.step()
print(f"accuracy {(net.eval()(unseen).argmax(1) == answers).float().mean():.3f}")
