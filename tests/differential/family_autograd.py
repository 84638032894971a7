"""Graphs of differentiable functions, their gradients, and the gradients of these."""

from __future__ import annotations

from tests.differential.drawing import Draw

SMOOTH = "sin cos tanh exp sigmoid atan asinh erf square neg expm1 sinh cosh".split()
KINKED = "abs relu sgn clamp floor round frac nan_to_num".split()
POSITIVE = "log sqrt rsqrt reciprocal log1p log2".split()
COMPLEX_ONES = "sin cos tanh exp sigmoid square neg abs real imag conj angle sgn".split()
FUNCTIONAL = (
    "softplus silu elu selu mish logsigmoid softsign tanhshrink leaky_relu celu "
    "hardtanh hardswish relu6".split()
)


def program(d: Draw) -> None:
    dtype = d.one(["float64", "float64", "float64", "complex128", "float32"])
    shape = d.shape(1, 3, (2, 3, 1, 4))
    leaves = []
    for _ in range(d.int(1, 3)):
        name = d.tensor(dtype, d.broadcast(shape) if leaves else shape, requires_grad=True)
        if d.get(name).is_leaf:
            leaves.append(name)
    pool = list(leaves)
    if not pool:
        return
    for _ in range(d.int(2, 6)):
        made = step(d, pool)
        if isinstance(d.get(made), d.torch.Tensor) and _tame(d, made):
            pool.append(made)
    made = [n for n in pool if n not in leaves and d.get(n).requires_grad]
    if not made:
        return
    out = d.one(made[-2:])
    second = d.chance(0.6)
    g = first(d, out, leaves, second)
    grads = d.get(g)
    if not second or not isinstance(grads, tuple):
        return
    used = [i for i, t in enumerate(grads) if t is not None and t.requires_grad]
    if not used:
        return
    total = " + ".join(_total(d, f"{g}[{i}]", grads[i]) for i in used)
    d.new(f"torch.autograd.grad({total}, [{', '.join(leaves)}], allow_unused=True)", "h")


def _tame(d: Draw, name: str) -> bool:
    t = d.get(name).detach()
    return bool(t.isfinite().all()) and (not t.numel() or t.abs().max().item() < 1e3)


def _total(d: Draw, name: str, t: object) -> str:
    return f"{name}.abs().square().sum()" if t.is_complex() else f"({name} * {name}).sum()"


def first(d: Draw, out: str, leaves: list[str], second: bool) -> str:
    t = d.get(out)
    inputs = f"[{', '.join(leaves)}]"
    more = ", create_graph=True" if second else ""
    if d.chance(0.2):
        total = _total(d, out, t)
        d.new(f"({total}).backward()", "z")
        return d.new(f"[{', '.join(f'{n}.grad' for n in leaves)}]", "g")
    if d.chance(0.3):
        seed = f", grad_outputs=torch.ones_like({out})"
        return d.new(f"torch.autograd.grad({out}, {inputs}{seed}{more}, allow_unused=True)", "g")
    return d.new(
        f"torch.autograd.grad({_total(d, out, t)}, {inputs}{more}, allow_unused=True)", "g"
    )


def step(d: Draw, pool: list[str]) -> str:
    x = d.one(pool[-3:])
    t = d.get(x)
    n = t.dim()
    kind = d.random.random()
    if kind < 0.3:
        if t.is_complex():
            return d.new(f"torch.{d.one(COMPLEX_ONES)}({x})", "y")
        form = d.random.random()
        if form < 0.5:
            return d.new(f"torch.{d.one(SMOOTH)}({x})", "y")
        if form < 0.65:
            return d.new(f"torch.{d.one(POSITIVE)}({x} * {x} + 0.5)", "y")
        if form < 0.85:
            return d.new(f"torch.nn.functional.{d.one(FUNCTIONAL)}({x})", "y")
        f = d.one(KINKED)
        return d.new(f"torch.{f}({x}{', -1, 1.3' if f == 'clamp' else ''})", "y")
    if kind < 0.5:
        y = d.one(pool)
        forms = [f"{x} + {y}", f"{x} * {y}", f"{x} - {y}", f"{x} * {d.number('float64')}"]
        forms += [f"{x} / ({y} * {y} + 1)", f"{x} ** 2", f"torch.addcmul({x}, {y}, {y}, value=0.5)"]
        if not t.is_complex() and not d.get(y).is_complex():
            forms += [f"torch.atan2({x}, {y} * {y} + 1)", f"torch.maximum({x}, {y})"]
            forms += [f"torch.where({x} > 0, {x}, {y})", f"torch.hypot({x}, {y} + 3)"]
            forms += [f"torch.logaddexp({x}, {y})", f"torch.lerp({x}, {y}, 0.3)"]
            forms += [f"({x} * {x} + 1) ** {y}", f"torch.xlogy({x}, {y} * {y} + 1)"]
        return d.new(d.one(forms), "y")
    dim = d.dim(t)
    size = t.shape[dim] if n and -n <= dim < n else 1
    if kind < 0.7:
        forms = [f"{x}.sum({dim})", f"{x}.mean({dim}, keepdim=True)", f"{x}.cumsum({dim})"]
        forms += [f"{x}.prod({dim})", f"{x}.cumprod({dim})"]
        if not t.is_complex():
            forms += [f"{x}.logsumexp({dim})", f"{x}.softmax({dim})", f"{x}.log_softmax({dim})"]
            forms += [f"{x}.amax({dim})", f"{x}.max({dim})[0]", f"{x}.logcumsumexp({dim})"]
            forms += [f"{x}.sort(dim={dim}, stable=True)[0]", f"{x}.cummax({dim})[0]"]
            forms += [f"{x}.median({dim})[0]"] if t.unique().numel() == t.numel() else []
            if size > 1:
                forms += [f"{x}.var({dim})", f"({x} + {d.int(1, 3)}).std({dim}, correction=0)"]
            forms += [f"torch.linalg.vector_norm({x} + 3, {d.int(1, 3)}, {dim})"]
        return d.new(d.one(forms), "y")
    if kind < 0.85:
        forms = [f"{x}.transpose({dim}, 0)", f"{x}.unsqueeze(0)", f"{x}.flatten()"]
        forms += [f"{x}.flip({dim})", f"{x}.roll(1, {dim})", f"{x}.expand(2, *{x}.shape)"]
        if n and size:
            forms += [f"{x}.select({dim}, {d.int(-size, size - 1)})", f"{x}[..., ::2]", f"{x}[0:1]"]
            forms += [f"torch.cat([{x}, {x}], {dim})", f"torch.stack([{x}, {x}], {dim})"]
            forms += [f"{x}.index_select({dim}, torch.tensor([0, {size - 1}]))"]
            forms += [f"{x}.repeat(2, *[1] * {n - 1})", f"{x}.diff(dim={dim})"]
            forms += [f"{x}.unfold({dim}, {d.int(1, size)}, 1)", f"{x}[[0, -1]]"]
            forms += [f"torch.nn.functional.pad({x}, (1, 0))", f"{x}.tril()" if n > 1 else x]
        return d.new(d.one([f for f in forms if f != x]), "y")
    if kind < 0.93 and n > 1:
        forms = [f"{x} @ {x}.mT", f"torch.einsum('...ij,...kj->...ik', {x}, {x})"]
        if t.shape[-1] == t.shape[-2]:
            eye = f"4 * torch.eye({t.shape[-1]}, dtype={x}.dtype)"
            forms += [f"torch.linalg.inv({x} + {eye})"]
            forms += [] if t.is_complex() else [f"torch.linalg.det({x} + {eye})"]
        return d.new(d.one(forms), "y")
    return in_place(d, x)


def in_place(d: Draw, x: str) -> str:
    y = d.new(f"{x} * 1", "y")
    if not isinstance(d.get(y), d.torch.Tensor):
        return ""
    number = d.int(-8, 8) / 4
    forms = [f"{y}.mul_({number})", f"{y}.add_({x})", f"{y}.sin_()", f"{y}.mul_({x})"]
    if d.get(y).dim() and d.get(y).numel():
        forms += [f"{y}[0] = {number}", f"{y}[..., 0] *= 2", f"{y}[0:1].mul_({number})"]
    d.do(d.one(forms))
    return y
