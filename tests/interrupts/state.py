"""All that the library keeps between calls."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus as torch
from tensorbus._base import modes
from tensorbus._device import entered
from tensorbus._dispatch import fallback, kinds, watched_entries
from tensorbus.autograd import early, engine, grad_mode, multi_grad_hook, torch_dispatch
from tensorbus.autograd.anomaly_mode import ANOMALY
from tensorbus.autograd.node import Node
from tensorbus.autograd.watched_nodes import WATCHED_NODES
from tensorbus.library import fakes
from tensorbus.nn.modules._hooks import EVERYWHERE, TABLES
from tensorbus.op_engine import override
from tensorbus.op_engine.autocasting import settings as autocast
from tensorbus.profiler import recording
from tensorbus.utils import checkpoint
from tensorbus.utils.data import worker


def state() -> dict[str, Any]:
    generator = torch.default_generator
    return {
        "recording": torch.is_grad_enabled(),
        "recording everywhere": (grad_mode.GRAD.on, grad_mode.GRAD.off_count),
        "modes": (modes.RARE.on, modes.RARE.active, modes.this_thread.inference),
        "handlers": modes.this_thread.handlers,
        "hooks": (modes.this_thread.hooks, modes.this_thread.hooks_refused),
        "passes": (len(multi_grad_hook._thread.passes), engine.PASSES.current),
        "checkpoints": (checkpoint._settings.early_stop, checkpoint._settings.debug),
        "batches": (modes.this_thread.batches, modes.this_thread.randomness),
        "listener": modes.this_thread.hear,
        "profiles": (len(recording._recorders), recording.current(), WATCHED_NODES.around),
        "watched entries": (len(watched_entries._replaced), kinds.WATCH.put, kinds.WATCH.adopt),
        "autocast": (
            {k for k, on in autocast.enabled.items() if on}, dict(autocast.dtypes),
            autocast.caching, autocast.nesting, len(autocast.cache),
        ),
        "anomalies": (ANOMALY.on, ANOMALY.check_nan, "__init__" in vars(Node)),
        "subclasses": (
            modes.OVERRIDES.on, modes.OVERRIDES.modes, override._local.off, override._local.modes
        ),
        "default dtype": torch.get_default_dtype(),
        "default device": (str(torch.get_default_device()), entered.local.leave.__name__),
        "current devices": dict(kinds._current),
        "fallback": (fallback.get_fallback(), torch.fallback_counts()),
        "fusion": torch.get_fusion(),
        "seed": torch.initial_seed(),
        "callbacks": dict(early.CALLBACKS),
        "early leaves": len(early.EARLY),
        "worker": worker.get_worker_info(),
        "errors of NumPy": np.geterr(),
        "hooks of all modules": [len(getattr(EVERYWHERE.hooks, s)) for s in TABLES],
        "classes": (torch_dispatch._local.off, modes.RARE.classes),
        "kernels without values": (fakes._local.sizes, fakes._local.make),
        "locks": [
            lock.locked() for lock in (grad_mode._lock, modes._lock, generator._lock)
        ],
    }  # fmt: skip


def small_program() -> list[Any]:
    """A program whose result is known."""
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    z = torch.ones(3)
    z[1:].add_(1)
    with torch.no_grad():
        quiet = x * 2
    assert x.grad is not None
    return [y.item(), x.grad.tolist(), z.tolist(), z._version, quiet.requires_grad, y.requires_grad]


RESULT = [13.0, [4.0, 6.0], [1.0, 2.0, 2.0], 1, False, True]
