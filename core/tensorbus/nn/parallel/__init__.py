"""Training on several devices: of one process, or of many."""

from tensorbus._base.page import show_pages as _show_pages
from tensorbus.nn.parallel.comm_hook import GradBucket
from tensorbus.nn.parallel.data_parallel import DataParallel, data_parallel
from tensorbus.nn.parallel.distributed import DistributedDataParallel
from tensorbus.nn.parallel.parallel_apply import parallel_apply
from tensorbus.nn.parallel.replicate import replicate
from tensorbus.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "GradBucket",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]

_show_pages(__name__, [(n, globals()[n]) for n in __all__])
