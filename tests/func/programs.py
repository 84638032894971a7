"""Functions of a matrix ``x`` of shape (2, 3) and values between 0.3 and 1.7, in float64.

Each has its directional derivative, along V and weighed with the cosines of 0, 1, 2..., as PyTorch
2.13 gives it; ``python -m tests.func.programs`` prints them where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

X = [[0.6, 1.3, 0.45], [1.6, 0.8, 1.05]]
V = [[0.3, -1.2, 0.7], [1.1, 0.25, -0.4]]

TABLE = """
x * 2 + 1 = -4.011066156572902
1 / x = 1.7724784748060827
x * x.sin() = -2.180647846549279
x ** 3 = -12.192656291806383
2 ** x = -3.7154946735776995
x ** x = -4.711300229441613
x.exp().log1p() = -1.5965526014317186
x.sqrt() * x.rsqrt() = -2.4962820184954196e-17
x.tanh() + x.sigmoid() = -0.8109673431851075
torch.erf(x) + torch.lgamma(x) = -0.026933004606069122
torch.atan2(x, x.flip(0)) = -1.271805204640144
x.abs().clamp(0.5, 1.2) = 0.023124220598806533
torch.where(x > 1, x * x, x) = -5.563506708930177
torch.maximum(x, x.flip(1)) = -1.4135810654727545
torch.nn.functional.gelu(x) = -2.209267345003145
torch.nn.functional.softplus(x) = -1.5965526014317186
torch.nn.functional.leaky_relu(x - 1) = -1.8523665243955372
torch.nn.functional.silu(x) = -2.022756794805899
x.sum() = 0.75
x.mean(0) = 0.3809343792305624
x.prod(1) = 0.8470315184822923
x.var(1) = -0.6665480514573408
x.std() = -0.11480862046101624
x.norm() = 0.18552705963032043
x.amax(1) = -0.6056674635450462
x.max(0).values = 0.6180959675770894
x.median() = 0.25
x.logsumexp(1) = -0.129037504315472
x.softmax(1) = -0.48801922181922236
x.log_softmax(0) = -2.089705128000888
x.cumsum(1) = -1.8049742662081987
x.cumprod(1) = -1.7333667711244845
x.sort(1, descending=True).values = -2.0858308453717966
x.topk(2).values = -1.0996738298012365
x @ x.t() = -5.047572092049116
x.t() @ x = 6.167603953703134
x.mv(x[0]) = -1.5572795557797723
torch.einsum('ij,kj->ik', x, x * x) = -11.012010732824805
torch.outer(x[0], x[1]) = 3.691669979228041
torch.linalg.det(x @ x.t()) = -7.468325
torch.linalg.inv(x @ x.t()) = 2.4432356480599697
torch.linalg.cholesky(x @ x.t()) = -0.6154456409544246
torch.linalg.solve(x @ x.t(), x) = -1.0983630487526126
torch.linalg.svdvals(x) = -0.020955783418543095
torch.linalg.eigvalsh(x @ x.t()) = -0.17708427034662644
torch.fft.rfft(x).abs() = -2.469606803551222
torch.view_as_real(torch.fft.fft(x) * 1j) = -0.8460786782105703
(x + 1j * x.flip(0)).angle() = 1.271805204640144
x.t().reshape(-1) = 0.5751952073715945
x.permute(1, 0).unsqueeze(1).expand(3, 2, 2) = -0.7544624182230466
x[:, ::2] = 0.6164470925460193
x[torch.tensor([1, 0, 1]), torch.tensor([2, 2, 0])] = -0.4795499060941589
x[x > 1] = -0.43920872892618923
torch.cat([x, x * 2], 1) = -0.39248930751413097
torch.stack([x, x.exp()]).sum(0) = -10.376518598404449
x.roll(1, 1) * x = -1.1400946365777174
x.tril() + x.diagonal().sum() = -1.0821028059503015
x.gather(1, torch.tensor([[0, 0], [2, 1]])) = 0.38105130222918754
x.index_select(1, torch.tensor([2, 0])) = -0.0604423198811912
torch.zeros(3, 3, dtype=x.dtype).index_add(0, torch.tensor([2, 0]), x) = 0.6830526682030067
torch.nn.functional.pad(x, (1, 1)).square() = 4.67277202642718
torch.nn.functional.linear(x, x * x, x[:, 0]) = -11.331513993594484
torch.nn.functional.layer_norm(x, (3,)) = -1.9464760142137871
torch.nn.functional.mse_loss(x, x.flip(0), reduction='none') = 0.35523665161349105
torch.nn.functional.cross_entropy(x, torch.tensor([2, 0])) = -0.8531773754387195
torch.nn.functional.binary_cross_entropy_with_logits(x, x.sigmoid()) = -0.010274079196785088
torch.nn.functional.conv1d(x[None], x[None, :, :2]) = 1.8421316611585268
torch.nn.functional.max_pool1d(x[None], 2, 1) = -1.9101272886034464
torch.nn.functional.batch_norm(x, None, None, training=True) = -0.0007600638520861452
x.clone().mul_(x).add_(1) = -5.5724229735014195
x.clone().index_fill_(1, torch.tensor([1]), 2.0) = -1.1937594060287804
x.clone().t_().sin_() = -0.27706148516313267
x.detach() * x = -2.7862114867507097
x.quantile(0.3, 1) = 0.3843576771784604
torch.lerp(x, x * x, 0.3) = -3.0756000468509415
torch.addcmul(x, x, x.flip(0), value=0.5) = -2.000607424513429
torch.nn.functional.cosine_similarity(x, x.flip(0)) = 0.6650018096026413
torch.func.jvp(torch.sin, (x,), (x * x,))[1] = 3.4017922343711784
torch.func.grad(lambda y: (y * x).sin().sum())(x * x) = -6.182530898590688
torch.func.vjp(torch.exp, x)[1](x)[0] = -20.60282983603485
""".strip().splitlines()

FUNCTIONS = [(text, float(value)) for text, _, value in (s.rpartition(" = ") for s in TABLE)]


def function(text: str, torch: Any) -> Any:
    """The function of ``x`` that an expression says."""
    return eval(f"lambda x: {text}", {"torch": torch})


def slope(text: str, torch: Any) -> float:
    """The derivative of a function at X along V, weighed."""
    x, v = (torch.tensor(t, dtype=torch.float64) for t in (X, V))
    found = torch.func.jvp(function(text, torch), (x,), (v,))[1].reshape(-1)
    return float((found * torch.arange(found.numel(), dtype=torch.float64).cos()).sum())


def main() -> None:
    """Print the table."""
    import torch

    for text, _ in FUNCTIONS:
        print(f"{text} = {slope(text, torch)!r}")


if __name__ == "__main__":
    main()
