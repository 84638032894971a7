"""Calls whose dtypes under autocast are compared: a program for PyTorch and for tensorbus."""

from __future__ import annotations

import math
import warnings
from typing import Any

OPERANDS = {
    "x": (3, 3), "y": (3, 3), "v": (3,), "b": (2, 3, 3), "c": (2, 3, 3), "i": (1, 2, 6, 6),
    "k": (4, 2, 3, 3), "s": (1, 2, 8), "q": (4, 2, 3), "o": (4,), "w": (5, 3), "p": (5,),
}  # fmt: skip
CALLS = """
x @ y
x @ v
v @ v
b @ y
torch.mm(x, y)
torch.matmul(x, y)
torch.bmm(b, c)
torch.mv(x, v)
torch.dot(v, v)
torch.vdot(v, v)
torch.inner(x, y)
torch.outer(v, v)
torch.addmm(x, x, y)
torch.addmv(v, x, v)
torch.addr(x, v, v)
torch.baddbmm(b, b, c)
torch.addbmm(x, b, c)
torch.einsum('ij,jk->ik', x, y)
torch.tensordot(x, y, 1)
torch.chain_matmul(x, y, x)
torch.linalg.multi_dot([x, y, x])
torch.linalg.vecdot(x, y)
torch.linalg.matrix_power(x, 2)
torch.kron(x, y)
F.linear(x, w, p)
F.linear(x, w)
F.bilinear(x, x, b, torch.zeros(2, dtype=x.dtype))
F.conv2d(i, k, o)
F.conv1d(s, q)
F.conv3d(i[:, :, None], k[:, :, None], o)
F.conv_transpose2d(i, k.transpose(0, 1))
F.conv_transpose3d(i[:, :, None], k.transpose(0, 1)[:, :, None])
F.prelu(x, v)
x + y
x - y
x * y
x / y
2 / x
x ** 2
x.pow(3)
2 ** x
x.square()
x.exp()
x.log()
x.log1p()
x.expm1()
x.rsqrt()
x.sqrt()
x.reciprocal()
x.tan()
x.sin()
x.acos()
x.sinh()
x.erfinv()
x.sum()
x.sum(0)
x.mean()
x.prod()
x.prod(0)
x.cumsum(0)
x.cumprod(0)
x.std()
x.var(0)
x.norm()
x.norm(1)
torch.linalg.norm(x)
torch.linalg.vector_norm(x)
x.max()
x.amax(0)
x.logsumexp(0)
torch.dist(x, y)
torch.cdist(x, y)
F.pairwise_distance(x, y)
F.cosine_similarity(x, y)
F.normalize(x)
torch.renorm(x, 2, 0, 1.0)
x.softmax(-1)
x.log_softmax(-1)
F.softmin(x, -1)
F.softplus(x)
F.gelu(x)
F.silu(x)
F.relu(x)
F.elu(x)
F.logsigmoid(x)
x.sigmoid()
x.tanh()
F.layer_norm(x, (3,))
F.group_norm(i, 2)
F.batch_norm(x, torch.zeros(3), torch.ones(3))
F.mse_loss(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.cross_entropy(x, t)
F.nll_loss(x, t)
F.kl_div(x, y, reduction='sum')
F.poisson_nll_loss(x, y)
F.hinge_embedding_loss(x, x.sign())
F.margin_ranking_loss(v, v, v.sign())
F.soft_margin_loss(x, x.sign())
F.cosine_embedding_loss(x, y, v.sign())
F.triplet_margin_loss(x, y, x)
F.binary_cross_entropy(x.sigmoid(), y.sigmoid())
F.binary_cross_entropy_with_logits(x, y)
torch.cat([x, y])
torch.stack([x, y])
torch.cat([x, y.float()])
torch.stack([x, y.float()])
torch.atan2(x, y)
torch.cross(x, y, 0)
torch.addcmul(x, y, x)
torch.addcdiv(x, y, x)
torch.where(x > 0, x, y)
torch.maximum(x, y)
x.trace()
torch.quantile(x, 0.5)
F.max_pool2d(i, 2)
F.avg_pool2d(i, 2)
F.adaptive_avg_pool2d(i, 2)
F.dropout(x)
F.embedding(t, x)
F.pad(x, (1, 1))
torch.linalg.inv(m)
torch.linalg.solve(m, x)
torch.linalg.cholesky(m)
torch.linalg.qr(m)[0]
torch.linalg.svdvals(m)
torch.linalg.eigvalsh(m)
torch.linalg.matrix_rank(m)
torch.linalg.cond(m)
torch.linalg.matrix_norm(m)
torch.linalg.matrix_exp(m)
torch.inverse(m)
torch.pinverse(m)
torch.cov(x)
x.index_add(0, t, y)
x.scatter_add(0, t.reshape(3, 1).expand(3, 3), y)
x.clone().add_(y)
x.clone().addmm_(x, y)
torch.lerp(x, y, 0.5)
x.floor()
x.abs()
x.t()
x[0]
""".strip().splitlines()


def dtypes(torch: Any, device: str, low: str, given: str) -> dict[str, str]:
    """The dtype of each call's result, or the name of its error; operands of the dtype *given*."""
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    dtype = getattr(torch, given)
    for j, (name, shape) in enumerate(OPERANDS.items()):
        values = (torch.arange(math.prod(shape)) * 7 + j) % 11 + 1
        names[name] = (values.reshape(shape) / 16).to(dtype).to(device)
    names["m"] = (torch.eye(3) * 2 + 0.25).to(dtype).to(device)
    names["t"] = torch.tensor([0, 2, 1], device=device)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in CALLS:
            try:
                with torch.autocast(device, dtype=getattr(torch, low)):
                    found[call] = str(eval(call, names).dtype).removeprefix("torch.")
            except Exception as error:
                found[call] = type(error).__name__
    return found
