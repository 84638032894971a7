"""The standard library's pool, whose tasks and results pass tensors without copying."""

from multiprocessing.pool import Pool as Pool
