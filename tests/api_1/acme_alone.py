"""A comm that was written for version 1 of the contract."""

from tensorbus.plugin import HOST, Comm, CommSpec, float32, hookimpl


class AloneComm(Comm):
    name = "alone"

    def capabilities(self):
        return {HOST: frozenset({float32})}

    def send(self, array, dtype, dst, tag, timeout):
        self.kept = array.copy()

    def recv(self, array, dtype, src, tag, timeout):
        array[...] = self.kept
        return 0

    def broadcast(self, array, dtype, src, timeout):
        pass

    def all_reduce(self, array, dtype, op, timeout):
        pass

    def all_gather(self, out, array, dtype, timeout):
        out[...] = array

    def reduce_scatter(self, out, array, dtype, op, timeout):
        out[...] = array

    def barrier(self, timeout):
        pass


@hookimpl
def tensorbus_comm() -> CommSpec:
    return CommSpec(name="alone", load=lambda: AloneComm, priority=-1, api=1)
