"""QRNN: its recurrence is a kernel of the program's own. Reaches loss below 1.6.

$ python examples/gallery/qrnn.py
step 300: loss 1.44
"""

import sys
from functools import cache

from char_lstm import train

import tensorbus as torch
from tensorbus import nn

SOURCE = """
kernel void scan(global const float *a, global const float *b, global float *h, int n, int end) {
    float s = 0; for (int k = get_global_id(0); k < end; k += n) h[k] = s = a[k] * s + b[k];
}"""
compiled = cache(torch.library.compile_kernel)


def scan(a, b):  # h[t] = a[t] * h[t - 1] + b[t]
    h, n = torch.empty_like(b), b[0].numel()
    if b.device.type == "opencl":
        compiled(SOURCE, "scan", b.device)(a, b, h, n, n * len(b), threads=n)
    else:
        for t in range(len(b)):
            h[t] = torch.addcmul(b[t], a[t], h[t - 1]) if t else b[t]
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
        return grad * nn.functional.pad(h, (0, 0, 0, 0, 1, -1)), grad


class QRNN(nn.Linear):
    def forward(self, x):  # each step sees its input and the one before
        x = x.transpose(0, 1)  # (time, batch, features)
        x = torch.cat([nn.functional.pad(x, (0, 0, 0, 0, 1, -1)), x], 2)
        x, f, o = super().forward(x).chunk(3, 2)
        return (Scan.apply(f.sigmoid(), (1 - f.sigmoid()) * x.tanh()) * o.sigmoid()).transpose(0, 1)


def main(device="cpu", steps=300):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(64, 32), QRNN(64, 3 * 128), nn.Linear(128, 64)).to(device)
    train(net, device, steps)


if __name__ == "__main__":
    main(*sys.argv[1:])
