"""Groups of kernels that a backend may bring, as a whole or in part."""

from __future__ import annotations

KERNEL_GROUPS: dict[str, dict[str, str]] = {
    "linalg": {
        "linalg_cholesky": "(a)",
        "linalg_lu": "(a)",
        "linalg_solve_triangular": "(a, b, upper, unit)",
        "linalg_qr": "(a, complete)",
        "linalg_eigh": "(a)",
        "linalg_svd": "(a, complete)",
        "linalg_eig": "(a)",
    },
    "fft": {
        "fft_c2c": "(x, dims, inverse)",
        "fft_r2c": "(x, dim)",
        "fft_c2r": "(x, dim, n)",
    },
}
"""The kernels of each group with their positional arguments; ``docs/contract.md`` has each rule.

They are asked for through ``Backend.kernel`` like every other op, and None means that the op is
composed of primitives or runs on the CPU.
"""
