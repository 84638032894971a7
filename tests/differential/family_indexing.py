"""Reading and writing by indices, and the functions that gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.drawing import ALL, Draw


def program(d: Draw) -> None:
    dtype = d.one(ALL)
    x = d.disordered(d.tensor(dtype, d.shape(0 if d.chance(0.1) else 1, 4)))
    for _ in range(d.int(2, 5)):
        t = d.get(x)
        step = d.random.random()
        if step < 0.35:
            y = d.new(f"{x}[{index(d, t.shape)}]")
            if d.get(y) is not None and d.get(y).numel() and d.chance(0.3):
                x = y
        elif step < 0.65:
            write(d, x)
        else:
            function(d, x)


def position(d: Draw, size: int) -> int:
    if d.chance(0.01) or not size:
        return d.int(-size - 2, size + 1)
    return d.int(-size, size - 1)


def piece(d: Draw, size: int) -> str:
    bounds = ["" if d.chance(0.4) else str(d.int(-size - 1, size + 1)) for _ in range(2)]
    step = d.one(["", "", "", ":1", ":2", ":3"])
    return ":".join(bounds) + step


def mask(d: Draw, shape: Sequence[int]) -> str:
    dtype = "uint8" if d.chance(0.1) else "bool"
    literal = d.literal(shape, "bool") if 0 not in shape else "[]"
    size = f".reshape({tuple(shape)})" if 0 in shape else ""
    return f"torch.tensor({literal}, dtype=torch.{dtype}){size}"


def positions(d: Draw, size: int, shape: Sequence[int], dtype: str = "") -> str:
    """An index tensor of *shape* for a dimension of *size*."""

    def nested(rest: Sequence[int]) -> str:
        if not rest:
            return str(position(d, size))
        return "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"

    dtype = dtype or d.one(["int64"] * 6 + ["int32"])
    if not size or 0 in shape:
        return f"torch.zeros({tuple(shape)}, dtype=torch.{dtype})"
    return f"torch.tensor({nested(shape)}, dtype=torch.{dtype})"


def index(d: Draw, shape: Sequence[int]) -> str:
    parts: list[str] = []
    common = d.one([[2], [3], [1], [2, 2], [2, 1], []])
    dim, ellipsis = 0, False
    while dim < len(shape) and (dim == 0 or d.chance(0.7)):
        size = shape[dim]
        kind = d.one(["int", "slice", "slice", "none", "tensor", "tensor", "list", "mask", "..."])
        if kind == "int":
            parts.append(str(position(d, size)))
        elif kind == "slice":
            parts.append(piece(d, size))
        elif kind == "none":
            parts.append(d.one(["None", "None", "None", "True", "False"]))
            continue
        elif kind == "tensor":
            own = d.one([common, common[-1:], [1], []])
            parts.append(positions(d, size, own))
        elif kind == "list" and size:
            parts.append(str([position(d, size) for _ in range((common or [1])[-1])]))
        elif kind == "mask":
            rank = d.int(1, min(2, len(shape) - dim))
            parts.append(mask(d, shape[dim : dim + rank]))
            dim += rank - 1
        elif kind == "..." and not ellipsis:
            parts.append("...")
            ellipsis = True
            dim += d.int(0, len(shape) - dim)
            continue
        else:
            continue
        dim += 1
    return ", ".join(parts) if parts else d.one(["...", "()", "None", "True"])


def write(d: Draw, x: str) -> None:
    """A write by an index, at places that all differ: for others the order is not defined."""
    t = d.get(x)
    if any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape, strict=True)):
        return
    where = index(d, t.shape)
    torch = d.torch
    try:
        places = eval(
            f"places[{where}]",
            {"places": torch.arange(t.numel()).reshape(t.shape), "torch": torch},
        )
        unique = places.unique().numel() == places.numel()
        shape = list(places.shape)
    except Exception:
        unique, shape = True, []
    dtype = str(t.dtype).removeprefix("torch.")
    if not unique or d.chance(0.4):
        value = repr(d.number(dtype)) if d.chance(0.8) else "True"
        d.do(f"{x}[{where}] = {value}")
    else:
        y = d.tensor(dtype, d.broadcast(shape), letter="v")
        operation = "="
        if dtype != "bool" and d.chance(0.3):
            operation = d.one(["+=", "*="])
        d.do(f"{x}[{where}] {operation} {y}")


def function(d: Draw, x: str) -> None:
    t = d.get(x)
    dtype = str(t.dtype).removeprefix("torch.")
    dim = d.dim(t)
    size = t.shape[dim] if -t.dim() <= dim < t.dim() and t.dim() else 1
    real = dim % max(t.dim(), 1)
    name = d.one(list(FUNCTIONS))
    FUNCTIONS[name](d, x, name, dtype, dim, real, size)


def _same_rank(d: Draw, x: str, real: int) -> list[int]:
    """A shape that gather takes: at most x's, of any size in one dimension."""
    shape = [d.int(min(1, s), s) for s in d.get(x).shape]
    if shape:
        shape[real] = d.int(0 if d.chance(0.1) else 1, 4)
    return shape


def _gather(d: Draw, x: str, name: str, dtype: str, dim: int, real: int, size: int) -> None:
    if size:
        where = _positive(d, size, _same_rank(d, x, real))
        d.new(f"torch.gather({x}, {dim}, {where})")


def _positive(d: Draw, size: int, shape: Sequence[int], unique: bool = False) -> str:
    def nested(rest: Sequence[int]) -> str:
        if not rest:
            return str(d.int(0, max(size - 1, 0)) if not d.chance(0.005) else size)
        return "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"

    if 0 in shape:
        return f"torch.zeros({tuple(shape)}, dtype=torch.int64)"
    if unique:
        return f"torch.tensor({d.random.sample(range(size), shape[0])})"
    return f"torch.tensor({nested(shape)}, dtype=torch.int64)"


def _scatter(d: Draw, x: str, name: str, dtype: str, dim: int, real: int, size: int) -> None:
    t = d.get(x)
    if not size:
        return
    form = d.one(["", "_"]) if _writable(t) else ""
    if d.chance(0.5):  # sums and extremes hang on no order
        shape = [d.int(min(1, s), s) for s in t.shape]
        if shape:
            shape[real] = d.int(1, 4)
        y = d.tensor(dtype, [s + d.int(0, 1) for s in shape], letter="v")
        where = _positive(d, size, shape)
        kind = d.one(["add", "sum", "prod", "amax", "amin", "mean"])
        if dtype.startswith("complex") and kind in ("amax", "amin") and not t.numel():
            return  # PyTorch orders complex numbers where there are none
        if kind == "add":
            text = f"{x}.scatter_add{form}({dim}, {where}, {y})"
        else:
            include = f", include_self={d.chance(0.5)}"
            text = f"{x}.scatter_reduce{form}({dim}, {where}, {y}, {kind!r}{include})"
    else:  # one number for equal places
        where = _positive(d, size, _same_rank(d, x, real))
        text = f"{x}.scatter{form}({dim}, {where}, {d.number(dtype)!r})"
    d.do(text) if form else d.new(text)


def _writable(t) -> bool:
    return all(s or n < 2 for s, n in zip(t.stride(), t.shape, strict=True))


def _index_forms(d: Draw, x: str, name: str, dtype: str, dim: int, real: int, size: int) -> None:
    t = d.get(x)
    kind = d.one(["select", "add", "copy", "fill", "put", "reduce"])
    form = d.one(["", "_"]) if _writable(t) else ""
    if kind == "select":
        where = _positive(d, size, [d.int(0, 4)] if size else [0])
        d.new(f"torch.index_select({x}, {dim}, {where})")
        return
    if not t.dim() or not size:
        return
    length = d.int(1, size)
    where = _positive(d, size, [length], unique=kind in ("copy", "reduce"))
    shape = list(t.shape)
    shape[real] = length
    if kind == "fill":
        text = f"{x}.index_fill{form}({dim}, {where}, {d.number(dtype)!r})"
    elif kind == "put":
        places = positions(d, t.shape[0], [3], "int64")
        y = d.tensor(dtype, d.broadcast([3, *t.shape[1:]]), letter="v")
        text = f"{x}.index_put{form}(({places},), {y}, accumulate=True)"
    else:
        y = d.tensor(dtype, shape, letter="v")
        more = ""
        if kind == "add" and d.chance(0.3):
            more = f", alpha={d.int(1, 3)}"
        elif kind == "reduce":
            more = f", {d.one(['prod', 'amax', 'amin', 'mean'])!r}"
        text = f"{x}.index_{kind}{form}({dim}, {where}, {y}{more})"
    d.do(text) if form else d.new(text)


def _masks(d: Draw, x: str, name: str, dtype: str, dim: int, real: int, size: int) -> None:
    t = d.get(x)
    kind = d.one(["select", "fill", "fill_", "scatter", "where", "nonzero", "argwhere", "count"])
    shape = d.broadcast(t.shape)
    where = mask(d, shape).replace("uint8", "bool")
    if kind == "select":
        d.new(f"torch.masked_select({x}, {where})")
    elif kind in ("fill", "fill_"):
        if kind == "fill_" and _writable(t):
            d.do(f"{x}.masked_fill_({where}, {d.number(dtype)!r})")
        else:
            d.new(f"{x}.masked_fill({where}, {d.number(dtype)!r})")
    elif kind == "scatter":
        y = d.tensor(dtype, [t.numel() + d.int(0, 2)], letter="v")
        d.new(f"{x}.masked_scatter({where}, {y})")
    elif kind == "where":
        y = d.tensor(dtype, d.broadcast(t.shape), letter="v")
        d.new(f"torch.where({where}, {x}, {y})")
    elif kind == "nonzero":
        d.new(f"torch.nonzero({x}{d.one(['', ', as_tuple=True'])})")
    elif kind == "argwhere":
        d.new(f"torch.argwhere({x})")
    else:
        d.new(f"torch.count_nonzero({x}, {dim})")


def _flat(d: Draw, x: str, name: str, dtype: str, dim: int, real: int, size: int) -> None:
    t = d.get(x)
    n = t.numel()
    if not n:
        return
    if d.chance(0.5):
        d.new(f"torch.take({x}, {positions(d, n, d.one([[2], [2, 2], []]), 'int64')})")
    elif _writable(t):
        y = d.tensor(dtype, [3], letter="v")
        d.do(f"{x}.put_({positions(d, n, [3], 'int64')}, {y}, accumulate=True)")


def _pieces(d: Draw, x: str, name: str, dtype: str, dim: int, real: int, size: int) -> None:
    t = d.get(x)
    if not t.dim() or not size:
        return
    start = d.int(0, size - 1)
    length = d.int(0, size - start)
    kind = d.one(["narrow", "select", "slice_scatter", "select_scatter", "unfold", "take_along"])
    shape = list(t.shape)
    if kind == "narrow":
        d.new(f"{x}.narrow({dim}, {start}, {length})")
    elif kind == "select":
        d.new(f"{x}.select({dim}, {position(d, size)})")
    elif kind == "slice_scatter":
        shape[real] = length
        y = d.tensor(dtype, shape, letter="v")
        d.new(f"torch.slice_scatter({x}, {y}, {dim}, {start}, {start + length})")
    elif kind == "select_scatter":
        del shape[real]
        y = d.tensor(dtype, shape, letter="v")
        d.new(f"torch.select_scatter({x}, {y}, {dim}, {start})")
    elif kind == "unfold":
        d.new(f"{x}.unfold({dim}, {d.int(1, size)}, {d.int(1, 2)})")
    else:
        where = _positive(d, size, _broadcastable(d, shape, real))
        d.new(f"torch.take_along_dim({x}, {where}, {dim})")


def _broadcastable(d: Draw, shape: list[int], real: int) -> list[int]:
    found = [1 if d.chance(0.3) else s for s in shape]
    found[real] = d.int(1, 3)
    return found


FUNCTIONS = {
    "gather": _gather,
    "scatter": _scatter,
    "index": _index_forms,
    "masks": _masks,
    "flat": _flat,
    "pieces": _pieces,
}
