"""Views of one another, writes through them, and what autograd makes of it."""

from __future__ import annotations

from tests.differential.drawing import Draw

DTYPES = ("float64", "float64", "float32", "complex128")
UNARY = "sin cos tanh neg square exp sigmoid abs".split()
BINARY = "add sub mul".split()


def program(d: Draw) -> None:
    dtype = d.one(DTYPES)
    shape = d.shape(1, 3, (2, 3, 1, 4))
    leaves = [d.tensor(dtype, shape, requires_grad=True)]
    w = d.tensor(dtype, shape, requires_grad=d.chance(0.5))
    leaves += [w] if d.get(w).requires_grad else []
    leaves = [n for n in leaves if d.get(n).is_leaf]
    pool = [d.new(f"{d.one([*leaves, w])}{d.one([' * 1', '.clone()', ' * 2'])}", "b")]
    if d.chance(0.2):
        pool.append(d.new(f"torch.zeros({shape}, dtype=torch.{dtype})", "b"))
    for _ in range(d.int(3, 8)):
        name = d.one(pool)
        step = d.random.random()
        if step < 0.4:
            made = view(d, name)
        elif step < 0.75:
            made = ""
            write(d, name, [*pool, *leaves, w])
        elif step < 0.9:
            other = d.one([*pool, w])
            f = d.one(UNARY)
            if d.chance(0.5) or d.get(other).dtype != d.get(name).dtype:
                made = d.new(f"{name}.{f}()", "y")  # of another dtype, a copy is kept for backward
            else:
                made = d.new(f"{name} * {other}", "y")
        else:
            made = d.new(f"{name}.detach()", "y")
        if isinstance(d.get(made), d.torch.Tensor):
            pool.append(made)
    gradients(d, pool, leaves)


def gradients(d: Draw, pool: list[str], leaves: list[str]) -> None:
    made = [n for n in pool if d.get(n).requires_grad]
    if not made or not leaves:
        return
    out = d.one(made[-3:])
    total = f"{out}.abs().square().sum()" if d.get(out).is_complex() else f"({out} * {out}).sum()"
    d.new(f"torch.autograd.grad({total}, [{', '.join(leaves)}], allow_unused=True)", "g")


def view(d: Draw, name: str) -> str:
    t = d.get(name)
    dim = d.dim(t)
    n = t.dim()
    size = t.shape[dim] if n and -n <= dim < n else 1
    forms = [
        f"[{d.int(-size, size - 1)}]" if n and t.shape[0] == size and size else "[...]",
        f"[{d.int(0, 1)}:]" if n else "[None]",
        f"[..., ::{d.int(1, 2)}]" if n else "[None]",
        ".view(-1)",
        ".reshape(-1)",
        ".flatten()",
        ".t()" if n <= 2 else ".mT",
        f".transpose({dim}, {d.dim(t)})" if n else "[None]",
        f".permute({d.random.sample(range(n), n)})",
        f".unsqueeze({d.int(-n - 1, n)})",
        f".squeeze({d.one(['', str(dim)])})",
        f".select({dim}, 0)" if n and size else "[None]",
        f".narrow({dim}, 0, {d.int(0, size)})" if n else "[None]",
        f".expand({[d.int(1, 2), *t.shape]})",
        f".expand_as({name})",
        f".view_as({name})",
        f".diagonal({d.int(-1, 1)})" if n > 1 else "[None]",
        f".unbind({dim})[0]" if n and size else "[None]",
        f".split({d.int(1, 2)}, {dim})[0]" if n and size else "[None]",
        f".chunk(2, {dim})[0]" if n and size else "[None]",
        f".unfold({dim}, 1, 1)" if n and size else "[None]",
        f".movedim({dim}, 0)" if n else "[None]",
        ".detach()",
        ".data" if d.chance(0.3) else "[...]",
    ]
    if t.is_complex():
        forms += [".real", ".imag", f"torch.view_as_real({name})"]
    form = d.one(forms)
    text = form if form.startswith("torch") else name + form
    if d.chance(0.05) and not form.endswith((".real", ".imag")):
        made = d.name("v")
        d.do(f"with torch.no_grad(): {made} = {text}")
        return made
    return d.new(text, "v")


def write(d: Draw, name: str, others: list[str]) -> None:
    t = d.get(name)
    dtype = str(t.dtype).removeprefix("torch.")
    overlapping = any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape, strict=True))
    # What becomes of views when their base is detached, or is made a leaf, isn't documented.
    alone = sum(d.shares(o, name) for o in d.tensors()) == 1
    form = d.random.random()
    number = d.number(dtype)
    sources = [o for o in others if d.get(o).dtype == t.dtype and not d.shares(o, name)]
    sources = [o for o in sources if _fits(d, o, name)]
    if form < 0.35 or not sources:
        text = d.one(
            [
                f"{name}.mul_({number})",
                f"{name}.add_({number})",
                f"{name}.{d.one(UNARY[:7])}_()",
                f"{name}.zero_()",
                f"{name}.fill_({number})",
                f"{name}[...] = {number}",
                f"{name} *= {number}",
                f"{name}.mul_({name})",
            ]
        )
    elif form < 0.8:
        other = d.one(sources)
        text = d.one(
            [
                f"{name}.{d.one(BINARY)}_({other})",
                f"{name}.copy_({other})",
                f"{name}[...] = {other}",
                f"{name} += {other}",
                f"{name}.addcmul_({other}, {other}, value=2)",
                f"{name}.lerp_({other}, 0.25)",
            ]
        )
    elif form < 0.85 and alone:
        text = f"{name}.detach_()"
    elif form < 0.9 and t.dim() > 1:
        text = d.one([f"{name}.transpose_(0, 1)", f"{name}.unsqueeze_(0)", f"{name}.squeeze_()"])
    elif form < 0.95:
        text = f"with torch.no_grad(): {name}.add_({number})"
    elif alone:
        text = f"{name}.requires_grad_()"
    else:
        return
    if overlapping and "detach" not in text and "requires" not in text and d.chance(0.9):
        return  # most such writes are refused
    d.do(text)


def _fits(d: Draw, source: str, name: str) -> bool:
    try:
        return d.torch.broadcast_shapes(d.get(source).shape, d.get(name).shape) == d.get(name).shape
    except RuntimeError:
        return d.chance(0.05)
