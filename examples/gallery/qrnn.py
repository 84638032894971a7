"""QRNN: its recurrence is a kernel of the program's own. Reaches loss below 1.6.

$ python examples/gallery/qrnn.py
loss 1.44
"""

import sys
from functools import cache

from data.sonnets import batches

import tensorbus as torch
from tensorbus.nn import Embedding, Linear, Sequential
from tensorbus.nn.functional import cross_entropy, pad

SOURCE = """
kernel void scan(global const float *a, global const float *b, global float *h, int n, int end) {
    float s = 0; for (int k = get_global_id(0); k < end; k += n) h[k] = s = a[k] * s + b[k];
}"""
compiled = cache(torch.library.compile_kernel)


def scan(a, b):  # h[t] = a[t] * h[t - 1] + b[t]
    h, n, state = torch.empty_like(b), b[0].numel(), 0
    if b.device.type != "opencl":
        return torch.stack([state := x * state + y for x, y in zip(a, b, strict=True)])
    compiled(SOURCE, "scan", b.device)(a, b, h, n, n * len(b), threads=n)
    return h


class Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, h := scan(a, b))
        return h

    @staticmethod
    def backward(ctx, grad):
        a, h = ctx.saved_tensors
        grad = scan(a.roll(-1, 0).flip(0), grad.flip(0)).flip(0)
        return grad * pad(h, (0, 0, 0, 0, 1, -1)), grad


class QRNN(Linear):
    def forward(self, x):  # (time, batch, features): each step sees its input and the one before
        x, f, o = super().forward(torch.cat([pad(x, (0, 0, 0, 0, 1, -1)), x], 2)).chunk(3, 2)
        return Scan.apply(f.sigmoid(), (1 - f.sigmoid()) * x.tanh()) * o.sigmoid()


if __name__ == "__main__":
    torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
    torch.manual_seed(0)
    net = Sequential(Embedding(128, 32), QRNN(64, 3 * 128), Linear(128, 128))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for seen, coming in batches(int(sys.argv[2]) if sys.argv[2:] else 300, length=64):
        optimizer.zero_grad()
        loss = cross_entropy(net(seen.T).movedim(0, 2), coming)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.2f}")
