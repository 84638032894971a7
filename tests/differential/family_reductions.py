"""Sums, extremes, statistics, scans and sorts, over any dimensions, empty ones too."""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.drawing import ALL, COMPLEX, HALVES, WIDE, Draw

SEVERAL = "sum mean amax amin var std logsumexp nansum nanmean all any count_nonzero norm".split()
ONE = "prod max min argmax argmin median nanmedian mode cumsum cumprod cummax cummin".split()
SORTS = "sort argsort topk kthvalue unique unique_consecutive msort".split()
OTHERS = (
    "aminmax std_mean var_mean logcumsumexp diff quantile nanquantile bincount histc trace dist "
    "linalg.norm linalg.vector_norm cov softmax log_softmax renorm searchsorted bucketize "
    "trapezoid cumulative_trapezoid isin".split()
)


def program(d: Draw) -> None:
    for _ in range(d.int(1, 2)):
        dtype = d.one([*ALL, *WIDE, *WIDE])
        x = d.disordered(d.tensor(dtype, d.shape(0, 4)))
        for _ in range(d.int(2, 4)):
            step(d, x, dtype)


def step(d: Draw, x: str, dtype: str) -> None:
    if dtype in (*COMPLEX, "bool") and (d.get(x).dim() == 0 or d.get(x).numel() == 0):
        # PyTorch orders complex numbers and truth values where there is nothing to order.
        several(d, x, dtype, SEVERAL[:2])
        return
    kind = d.random.random()
    if kind < 0.45:
        several(d, x, dtype)
    elif kind < 0.7:
        one(d, x, dtype)
    elif kind < 0.83:
        sorting(d, x, dtype)
    else:
        other(d, x, dtype)


def dims(d: Draw, x: str) -> str:
    t = d.get(x)
    n = t.dim()
    form = d.random.random()
    if form < 0.25 or n == 0:
        return ""
    if form < 0.55:
        return str(d.dim(t))
    chosen = d.random.sample(range(n), d.int(0 if d.chance(0.2) else 1, n))
    chosen = [c - n if d.chance(0.4) else c for c in chosen]
    return str(tuple(chosen))


def several(d: Draw, x: str, dtype: str, of: Sequence[str] = SEVERAL) -> None:
    f, at = d.one(of), dims(d, x)
    more = f", keepdim={d.chance(0.5)}" if at and f != "count_nonzero" and d.chance(0.5) else ""
    if f in ("sum", "mean", "nansum", "nanmean") and d.chance(0.3):
        kinds = (*WIDE, *HALVES, *COMPLEX) if f != "sum" else (*WIDE, *COMPLEX, "int64", "int32")
        more += f", dtype=torch.{d.one(kinds)}"
    if f in ("var", "std") and d.chance(0.5):
        more += f", correction={d.int(0, 2)}" if at else ""
    if f == "norm":
        order = d.one(["2", "1", "'fro'", "float('inf')", "3", "0"])
        d.new(f"torch.norm({x}, {order}{', ' + at if at else ''}{more if at else ''})", "y")
        return
    if f == "logsumexp" and at in ("", "()"):
        at = "0"
    d.new(f"torch.{f}({x}{', ' + at if at else ''}{more})", "y")


def one(d: Draw, x: str, dtype: str) -> None:
    t, f = d.get(x), d.one(ONE)
    at = str(d.dim(t)) if f.startswith("cum") or d.chance(0.7) else ""
    more = f", keepdim={d.chance(0.5)}" if at and d.chance(0.4) and not f.startswith("cum") else ""
    if f in ("prod", "cumsum", "cumprod") and d.chance(0.3):
        more += f", dtype=torch.{d.one([*WIDE, *COMPLEX, 'int64'])}"
    if f in ("median", "nanmedian", "mode", "argmax", "argmin", "max", "min") and _ties(d, t):
        if f in ("max", "min", "argmax", "argmin"):
            pass  # the first of equal ones
        else:
            more += ")[0]"
            d.new(f"torch.{f}({x}{', ' + at if at else ', 0'}{more}", "y")
            return
    d.new(f"torch.{f}({x}{', ' + at if at else ''}{more})", "y")


def _ties(d: Draw, t: object) -> bool:
    return t.unique().numel() < t.numel() if not t.is_complex() else True


def sorting(d: Draw, x: str, dtype: str) -> None:
    t, f = d.get(x), d.one(SORTS)
    dim = d.dim(t)
    size = t.shape[dim] if t.dim() and -t.dim() <= dim < t.dim() else 1
    tied = "[0]" if _ties(d, t) else ""
    if f == "sort":
        stable = d.chance(0.5) or bool(tied)
        d.new(f"torch.sort({x}, dim={dim}, descending={d.chance(0.4)}, stable={stable})", "y")
    elif f == "argsort":
        d.new(f"torch.argsort({x}, dim={dim}, stable=True)", "y")
    elif f == "topk":
        k = d.int(0 if t.dim() else 1, size)
        d.new(f"torch.topk({x}, {k}, {dim}, largest={d.chance(0.6)}){tied}", "y")
    elif f == "kthvalue" and size:
        d.new(f"torch.kthvalue({x}, {d.int(1, size)}, {dim}, {d.chance(0.5)}){tied}", "y")
    elif f == "msort":
        d.new(f"torch.msort({x})", "y")
    elif f == "unique":
        at = f", dim={dim}" if d.chance(0.3) and t.dim() else ""
        d.new(
            f"torch.unique({x}, return_inverse={d.chance(0.5)}, return_counts={d.chance(0.5)}{at})",
            "y",
        )
    elif f == "unique_consecutive":
        d.new(f"torch.unique_consecutive({x}, return_counts={d.chance(0.5)})", "y")


def other(d: Draw, x: str, dtype: str) -> None:
    t, f = d.get(x), d.one(OTHERS)
    if f == "cumulative_trapezoid" and (dtype == "bool" or not t.dim()):
        return  # two faults
    dim = d.dim(t)
    keep = f", keepdim={d.chance(0.5)}" if d.chance(0.4) else ""
    if f == "aminmax":
        text = f"torch.aminmax({x}{f', dim={dim}' if d.chance(0.6) else ''}{keep})"
    elif f in ("std_mean", "var_mean"):
        text = f"torch.{f}({x}, dim={dims(d, x) or None}{keep})"
    elif f in ("logcumsumexp", "diff", "softmax", "log_softmax"):
        text = f"torch.{f}({x}, {'dim=' if f == 'diff' else ''}{dim})"
    elif f in ("quantile", "nanquantile"):
        q = d.one(["0.5", "0.25", "0.0", "1.0", f"torch.tensor([0.25, 0.75], dtype=torch.{dtype})"])
        how = d.one(["linear", "lower", "higher", "nearest", "midpoint"])
        text = f"torch.{f}({x}, {q}, {dim}{keep}, interpolation={how!r})"
    elif f == "histc":
        text = f"torch.histc({x}, bins={d.int(1, 5)}, min=-2, max=2)"
    elif f == "dist":
        text = f"torch.dist({x}, {x} * 0.5, {d.one([1, 2, 3])})"
    elif f == "linalg.norm":
        text = f"torch.linalg.norm({x}{f', dim={dim}' if d.chance(0.5) else ''}{keep})"
    elif f == "linalg.vector_norm":
        order = d.one(["2", "1", "0", "float('inf')", "-1", "0.5", "3"])
        text = f"torch.linalg.vector_norm({x}, {order}, {dims(d, x) or None}{keep})"
    elif f == "renorm":
        text = f"torch.renorm({x}, {d.int(1, 2)}, {dim}, 1.5)"
    elif f == "searchsorted" and dtype == "bool":
        return  # PyTorch finds no place for truth values, unless there are none
    elif f == "searchsorted":
        text = f"torch.searchsorted(torch.sort({x}.flatten())[0], {x}, right={d.chance(0.5)})"
    elif f == "bucketize":
        text = f"torch.bucketize({x}, torch.tensor([-1, 0, 1]), right={d.chance(0.5)})"
    elif f in ("trapezoid", "cumulative_trapezoid"):
        text = f"torch.{f}({x}, dim={dim})"
    elif f == "isin":
        text = f"torch.isin({x}, {x}.flatten()[:2])"
    else:
        text = f"torch.{f}({x})"
    d.new(text, "y")
