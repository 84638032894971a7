"""Arrays of a GPU in the comm ``mpi``: the logic of that path, over memory that only looks so.

The stand-in shows MPI an address by ``__cuda_array_interface__`` and nothing else, so whatever
reads it as a host array fails. It says nothing about a GPU.
"""

from __future__ import annotations

PROGRAM = """
import types
from tensorbus._base import dtypes
from tensorbus.plugin import reduce_into

settled = 0
def settle():
    global settled
    settled += 1
cupy = types.ModuleType("cupy")
stream = types.SimpleNamespace(synchronize=settle)
cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: stream)
sys.modules["cupy"] = cupy

def bare(x):
    return x.host if isinstance(x, Gpu) else x

class Gpu:
    __array__ = None

    def __init__(self, host):
        self.host = host
        self.size, self.nbytes, self.dtype = host.size, host.nbytes, host.dtype
        self.shape, self.itemsize = host.shape, host.itemsize
        self.__cuda_array_interface__ = {
            "shape": host.shape, "typestr": host.dtype.str, "version": 3,
            "data": (host.ctypes.data, False), "strides": None}

    def __getitem__(self, key):
        return Gpu(self.host[key])

    def __setitem__(self, key, value):
        self.host[key] = bare(value)

    def reshape(self, *shape):
        return Gpu(self.host.reshape(*shape))

    def view(self, dtype):
        return Gpu(self.host.view(dtype))

    def copy(self):
        return Gpu(self.host.copy())

    def get(self):
        return self.host.copy()

    def set(self, values):
        self.host[...] = values

    def __array_ufunc__(self, ufunc, method, *inputs, out):
        ufunc(*map(bare, inputs), out=out[0].host)
        return out[0]

    def __array_function__(self, function, types, args, kwargs):
        assert function is np.empty_like
        return Gpu(np.empty_like(args[0].host, **kwargs))

import tensorbus_comm_mpi.runtime as runtime
assert runtime.takes_cuda() is False  # this library says no
runtime.takes_cuda = lambda: True
r, n = start()
comm = dist.group.WORLD.comm("mpi")
assert {d.name for d in comm.capabilities()["cuda"]} == {
    d.name for d in comm.capabilities()["host"]} - {"bfloat16"}

def data(rank, count, name):
    return (np.random.default_rng([rank, count]).standard_normal(count) * 9).astype(name)

for name in ("float32", "float16", "int16", "bool"):
    d = dtypes.dtype_by_name(name)
    for count in (0, 1, 5, 3000):
        parts = [data(k, count * n, name) for k in range(n)]
        total = parts[0].copy()
        for p in parts[1:]:
            reduce_into("sum", d, total, p)
        x = Gpu(parts[r].copy())
        comm.all_reduce(x, d, "sum", 20)
        assert x.host.tobytes() == total.tobytes()
        out = Gpu(np.empty(count, name))
        comm.reduce_scatter(out, Gpu(parts[r].copy()), d, "sum", 20)
        assert out.host.tobytes() == total[r * count : (r + 1) * count].tobytes()
        x = Gpu(parts[r].copy())
        comm.broadcast(x, d, 1, 20)
        assert x.host.tobytes() == parts[1].tobytes()
        out = Gpu(np.empty(n * n * count, name))
        comm.all_gather(out, Gpu(parts[r]), d, 20)
        assert out.host.tobytes() == np.concatenate(parts).tobytes()
        before = settled
        comm.send(Gpu(parts[r]), d, (r + 1) % n, 4, 20)
        assert settled > before, "MPI may read what the GPU has not written yet"
        out = Gpu(np.empty(n * count, name))
        comm.recv(out, d, (r - 1) % n, 4, 20)
        assert out.host.tobytes() == parts[(r - 1) % n].tobytes()
"""


def test_device_arrays_go_to_mpi_as_they_are(mpi_job):
    mpi_job(PROGRAM)
