"""A residual network reads digits; the learning rate goes up and down once.

$ python examples/gallery/resnet.py
    epoch 1: loss 0.16
    epoch 2: loss 0.09
    accuracy 0.960

Reaches accuracy above 0.94 on held-out digits.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn, optim
from tensorbus.demo.digits import load


def conv(inputs, outputs, size=3, stride=1):
    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.first, self.second = conv(inputs, outputs, 3, stride), conv(outputs, outputs)
        self.skip = nn.Identity() if stride == 1 else conv(inputs, outputs, 1, stride)

    def forward(self, x):
        out = self.second(F.relu(self.first(x), inplace=True))
        out += self.skip(x)
        return F.relu(out, inplace=True)


def main(device="cpu", steps=126):
    torch.manual_seed(0)
    images, labels, unseen, answers = (torch.from_numpy(x).to(device) for x in load())
    net = nn.Sequential(
        nn.Unflatten(1, (1, 28)), conv(1, 16, 5, 2), nn.ReLU(inplace=True),
        Block(16, 16), Block(16, 32, 2), Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    ).to(device)  # fmt: skip
    optimizer = optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=int(steps))
    for step in range(1, int(steps) + 1):
        chosen = torch.randint(len(images), (64,), device=device)
        loss = F.cross_entropy(net(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 63 == 0:
            print(f"epoch {step // 63}: loss {loss.item():.2f}")
    read = net.eval()(unseen).argmax(1)
    print(f"accuracy {(read == answers).float().mean().item():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
