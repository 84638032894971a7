"""Products of matrices, factors, solutions: of what no rounding decides."""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.drawing import ALL, COMPLEX, WIDE, Draw
from tests.differential.programs import read

PRODUCTS = (
    "matmul mm bmm mv dot vdot inner outer addmm addmv baddbmm einsum kron cross chain".split()
)
SQUARE = (
    "det slogdet logdet inv solve cholesky eigvalsh eigh matrix_exp matrix_power lu_solve pinv "
    "cond inv_ex cholesky_ex solve_triangular cholesky_inverse cholesky_solve ldl eig "
    "tensorinv lu_factor".split()
)
ANY = (
    "qr svdvals svd matrix_norm matrix_rank lstsq tril triu diag diagonal trace diag_embed vander "
    "multi_dot norm householder pinv_any tensordot".split()
)


def program(d: Draw) -> None:
    for _ in range(d.int(1, 3)):
        kind = d.random.random()
        if kind < 0.4:
            product(d)
        elif kind < 0.75:
            square(d)
        else:
            any_matrix(d)


def batch(d: Draw) -> list[int]:
    return d.one([[], [], [2], [1], [2, 1], [0]] if d.chance(0.5) else [[]])


def matrix(d: Draw, shape: Sequence[int], dtype: str, wants: bool = False) -> str:
    return d.tensor(dtype, shape, requires_grad=wants)


def product(d: Draw) -> None:
    f = d.one(PRODUCTS)
    dtype = d.one(
        [*WIDE, *COMPLEX, *WIDE, "int64", "bfloat16", "float16"] if d.chance(0.8) else ALL
    )
    empty = dtype != "bool" and d.chance(0.1)  # PyTorch multiplies truth values if there are none
    n, m, k = (d.one([1, 2, 3, 4, 0] if empty else [1, 2, 3, 4]) for _ in range(3))
    other = m + 1 if d.chance(0.04) else m
    wants = dtype in (*WIDE, *COMPLEX) and d.chance(0.3)

    def make(*shape: int) -> str:
        name = d.tensor(dtype, shape)
        return d.disordered(name)

    made = ""
    if f == "matmul":
        left = d.one([[n, m], [m], [2, n, m], [1, n, m], [3, 1, n, m]])
        right = d.one([[other, k], [other], [2, other, k], [3, 2, other, k]])
        made = f"{make(*left)} @ {make(*right)}"
    elif f in ("mm", "addmm"):
        a, b = make(n, m), make(other, k)
        more = f", beta={d.int(0, 2)}, alpha={d.int(1, 3)}" if d.chance(0.5) else ""
        made = f"torch.mm({a}, {b})"
        if f == "addmm":
            made = f"torch.addmm({make(*d.broadcast([n, k]))}, {a}, {b}{more})"
    elif f in ("bmm", "baddbmm"):
        a, b = make(2, n, m), make(2, other, k)
        made = f"torch.bmm({a}, {b})"
        if f == "baddbmm":
            made = f"torch.baddbmm({make(2, n, k)}, {a}, {b}, beta=2)"
    elif f in ("mv", "addmv"):
        a, b = make(n, m), make(other)
        made = f"torch.mv({a}, {b})" if f == "mv" else f"torch.addmv({make(n)}, {a}, {b})"
    elif f in ("dot", "vdot"):
        made = f"torch.{f}({make(m)}, {make(other)})"
    elif f == "inner":
        made = f"torch.inner({make(n, m)}, {make(k, other)})"
    elif f == "outer":
        made = f"torch.outer({make(n)}, {make(m)})"
    elif f == "einsum" and dtype in ("int8", "int16", "int32", "uint8", "bool"):
        return  # PyTorch's sums become int64 on the way, which it then refuses
    elif f == "einsum":
        text = d.one(["ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk->", "ij,jk->ijk", "ij,jk->i"])
        made = f"torch.einsum({text!r}, {make(n, m)}, {make(other, k)})"
    elif f == "kron":
        # PyTorch refuses some operands that are not contiguous.
        made = f"torch.kron({d.tensor(dtype, [n, m])}, {d.tensor(dtype, [2, k])})"
    elif f == "cross":
        made = f"torch.linalg.cross({make(n, 3)}, {make(n, 3)})"
    else:
        made = f"torch.chain_matmul({make(n, m)}, {make(m, k)}, {make(k, 2)})"
    y = d.new(made, "y")
    leaves = [n for n in d.tensors() if n != y and n in read(d.program.lines[-1])]
    if wants and leaves and isinstance(d.get(y), d.torch.Tensor):
        for name in leaves:
            if d.get(name).is_leaf:
                d.do(f"{name}.requires_grad_()")
        y = d.new(made, "y")
        gradient(d, y, [n for n in leaves if d.get(n).is_leaf])


def gradient(d: Draw, y: str, leaves: Sequence[str]) -> None:
    t = d.get(y)
    if not isinstance(t, d.torch.Tensor) or not t.requires_grad or not leaves:
        return
    total = f"{y}.abs().square().sum()" if t.is_complex() else f"{y}.square().sum()"
    d.new(f"torch.autograd.grad({total}, [{', '.join(dict.fromkeys(leaves))}])", "g")


def well_conditioned(d: Draw, n: int, dtype: str, hermitian: bool, b: list[int]) -> str:
    """A square matrix whose diagonal outweighs the rest, and whose eigenvalues lie apart."""
    a = d.tensor(dtype, [*b, n, n])
    scale = f"torch.diag(torch.arange(1, {n} + 1, dtype=torch.float64) * 8).to(torch.{dtype})"
    made = d.new(f"{a} + {scale}", "m")
    if hermitian:
        made = d.new(f"({made} + {made}.mH.resolve_conj()) / 2", "m")
    return d.disordered(made) if not hermitian else made


def square(d: Draw) -> None:
    f = d.one(SQUARE)
    dtype = d.one([*WIDE, *WIDE, *COMPLEX])
    n, b = d.int(1, 4), batch(d)
    hermitian = f.startswith("cholesky") or f in ("eigvalsh", "eigh", "ldl")
    if d.chance(0.05):  # not invertible, not square, or of another dtype
        shape = d.one([[n, n + 1], [n]])
        a = d.new(f"torch.ones({tuple(shape)}, dtype=torch.{d.one([dtype, 'int64'])})")
    elif d.chance(0.05):
        a = d.new(f"torch.zeros({(n, n)}, dtype=torch.{dtype})")
        if f in ("logdet", "inv_ex", "pinv", "cond", "eigh", "eig", "ldl", "tensorinv"):
            return
    else:
        a = well_conditioned(d, n, dtype, hermitian, b)
    wants = d.chance(0.4) and f not in ("eig", "eigh", "ldl", "lu_solve", "lu_factor", "cond")
    if wants:
        a = d.new(f"{a}.detach().requires_grad_()", "a")
    t = d.get(a)
    if not isinstance(t, d.torch.Tensor):
        return
    right = d.tensor(dtype, [*b, n, d.int(1, 3)], letter="r")
    texts = {
        "inv": f"torch.linalg.inv({a})",
        "solve": f"torch.linalg.solve({a}, {right})",
        "solve_triangular": f"torch.linalg.solve_triangular({a}.{d.one(['triu', 'tril'])}(), "
        f"{right}, upper=True)",
        "cholesky": f"torch.linalg.cholesky({a}{d.one(['', ', upper=True'])})",
        "cholesky_inverse": f"torch.cholesky_inverse(torch.linalg.cholesky({a}))",
        "cholesky_solve": f"torch.cholesky_solve({right}, torch.linalg.cholesky({a}))",
        "cholesky_ex": f"torch.linalg.cholesky_ex({a})",
        "inv_ex": f"torch.linalg.inv_ex({a})",
        "eigvalsh": f"torch.linalg.eigvalsh({a})",
        "eigh": f"torch.linalg.eigh({a})[0]",
        "eig": f"torch.linalg.eigvals({a}).abs().sort()[0]",
        "matrix_exp": f"torch.linalg.matrix_exp({a} / 16)",
        "matrix_power": f"torch.linalg.matrix_power({a}, {d.int(-2, 3)})",
        "lu_solve": f"torch.linalg.lu_solve(*torch.linalg.lu_factor({a}), {right})",
        "lu_factor": f"torch.linalg.{d.one(['lu_factor', 'lu'])}({a})",
        "pinv": f"torch.linalg.pinv({a})",
        "cond": f"torch.linalg.cond({a}, {d.one([1, 2, -1, None])!r})",
        "ldl": f"torch.linalg.ldl_solve(*torch.linalg.ldl_factor({a}), {right})",
        "tensorinv": f"torch.linalg.tensorinv({a}, ind=1)",
    }
    default = f"torch.linalg.{f}({a})" if f in ("det", "slogdet") else f"torch.{f}({a})"
    y = d.new(texts.get(f, default), "y")
    if wants and f in ("slogdet", "inv_ex", "cholesky_ex"):
        y = d.new(f"{y}[{int(f == 'slogdet')}]", "y")
    if wants:
        gradient(d, y, [a])


def any_matrix(d: Draw) -> None:
    f = d.one(ANY)
    dtype = d.one([*WIDE, *WIDE, *COMPLEX])
    n, m, b = d.int(1, 4), d.int(1, 4), batch(d)
    a = d.disordered(d.tensor(dtype, [*b, n, m]))
    tall = d.tensor(dtype, [*b, max(n, m) + 1, min(n, m)], letter="t")
    eye = f"torch.eye({max(n, m) + 1}, {min(n, m)}, dtype=torch.{dtype})"
    tall = d.new(f"{tall} + 8 * {eye} * torch.arange(1, {min(n, m)} + 1)", "t")
    keep = d.one(["", ", keepdim=True"])
    k = d.int(-2, 2)
    texts = {
        "qr": f"torch.linalg.qr({tall}, {d.one(['reduced', 'r'])!r})",
        "svdvals": f"torch.linalg.svdvals({tall})",
        "svd": f"torch.linalg.svd({tall}, full_matrices={d.chance(0.5)})[1]",
        "matrix_norm": f"torch.linalg.matrix_norm({tall}, "
        f"{d.one(['fro', 'nuc', 1, -1, 2, -2, float('inf')])!r}{keep})".replace(
            "inf,", "float('inf'),"
        ).replace("inf)", "float('inf'))"),
        "matrix_rank": f"torch.linalg.matrix_rank({tall})",
        "lstsq": f"torch.linalg.lstsq({tall}, {tall} * 2)[0]",
        "diag": f"torch.diag({a}, {k})",
        "diagonal": f"torch.diagonal({a}, {k}, -2, -1)",
        "diag_embed": f"torch.diag_embed({a}, {k})",
        "vander": f"torch.linalg.vander({a}, N={d.int(1, 4)})",
        "multi_dot": f"torch.linalg.multi_dot([{tall}, {tall}.mT, {tall}])",
        "norm": f"torch.linalg.norm({a}, {d.one(['None', '2', '1', chr(39) + 'fro' + chr(39)])})",
        "householder": f"torch.linalg.householder_product(*torch.geqrf({tall}))",
        "pinv_any": f"torch.linalg.pinv({tall})",
        "tensordot": f"torch.tensordot({a}, {a}, dims=([-1], [-1]))",
        "tril": f"torch.tril({a}, {k})",
        "triu": f"torch.triu({a}, {k})",
    }
    d.new(texts.get(f, f"torch.{f}({a})"), "y")
