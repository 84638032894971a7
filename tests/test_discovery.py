"""Plugins are found lazily, fail alone, and say why."""

from __future__ import annotations

import gc
import importlib.metadata
import sys
import threading
import warnings
import weakref

import pytest

import tensorbus
from tensorbus import discovery
from tensorbus.discovery.metadata import BACKENDS, COMMANDS, OVERLAYS
from tensorbus.plugin import hooks

BACKEND = """
from tensorbus.plugin import Backend, BackendSpec, hookimpl

class Mine(Backend):
    name = "{name}"
    def device_count(self):
        return 1

@hookimpl
def tensorbus_backend():
    return BackendSpec("{name}", {arguments})
"""

OVERLAY = """
from tensorbus.plugin import OverlaySpec, hookimpl

def kernel(op, dtype, index):
    return None

@hookimpl
def tensorbus_overlay():
    return OverlaySpec("{name}", "{backend}", {ops}, kernel, priority={priority})
"""


def backend_module(name: str, arguments: str = "load=Mine") -> str:
    return BACKEND.format(name=name, arguments=arguments)


def state(group: str, name: str) -> str:
    (record,) = [r for r in discovery.records(group) if r.name == name]
    return record.state


def failure(name: str) -> RuntimeError:
    with pytest.raises(RuntimeError) as caught:
        discovery.backend(name)
    return caught.value


# -- finding ---------------------------------------------------------------------------------
def test_listing_names_loads_nothing(install):
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": backend_module("npu")})
    assert "npu" in discovery.backend_names()
    assert "acme_npu" not in sys.modules
    assert state(BACKENDS, "npu") == "found"


def test_the_name_asked_for_is_loaded_once_and_no_other(install):
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": backend_module("npu")})
    install("acme-dsp", {BACKENDS: {"dsp": "acme_dsp"}}, {"acme_dsp": "raise ValueError"})
    npu = discovery.backend("npu")
    assert npu.name == "npu" and npu.device_count() == 1
    assert discovery.backend("npu") is npu
    assert state(BACKENDS, "npu") == "loaded" and state(BACKENDS, "dsp") == "found"
    assert "acme_dsp" not in sys.modules


def test_a_record_names_distribution_and_version(install):
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, version="3.2.1")
    (record,) = [r for r in discovery.records(BACKENDS) if r.name == "npu"]
    assert (record.distribution, record.version, record.group) == ("acme-npu", "3.2.1", BACKENDS)


def test_our_own_backends_are_found_like_any_other(fresh_discovery):
    # All of them, or some where the components are installed one by one.
    declared = {e.name for e in importlib.metadata.entry_points(group=BACKENDS)}
    assert {"cpu"} <= set(discovery.backend_names()) - {"meta"} == declared
    owners = {r.distribution.partition("-")[0] for r in discovery.records(BACKENDS)}
    assert owners == {"tensorbus"}


def test_an_unknown_name_lists_those_that_exist(install):
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}})
    names = discovery.backend_names()
    assert {"cpu", "npu"} < set(names) and names == sorted(names)
    text = f"Expected one of {', '.join(names)} device type at start of device string: xyz"
    with pytest.raises(RuntimeError, match=f"^{text}"):
        discovery.check_name("xyz")
    discovery.check_name("npu")
    assert state(BACKENDS, "npu") == "found"
    assert str(failure("xyz")).startswith(text)


def test_a_later_distribution_on_the_path_is_shadowed(install):
    install("acme-npu", {BACKENDS: {"old": "acme_old"}}, version="1.0")
    install("acme-npu", {BACKENDS: {"new": "acme_new"}}, version="2.0")
    names = discovery.backend_names()
    assert "new" in names and "old" not in names


def test_unreadable_metadata_is_a_record_and_stops_nobody(install):
    install("acme-bad", "[tensorbus.backends]\nthis is no entry point\n")
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}})
    assert "npu" in discovery.backend_names()
    (record,) = [r for r in discovery.records() if r.state == "failed"]
    assert record.distribution == "acme-bad" and record.exception is not None


def test_undecodable_metadata_of_a_stranger_stops_nobody(install):
    folder = install("stranger", "")
    next(folder.glob("*/entry_points.txt")).write_bytes(b"\xff\xfe\xff")
    assert "cpu" in discovery.backend_names()


# -- failing alone ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("source", "cause", "text"),
    [
        ("import no_such_library_anywhere", ModuleNotFoundError, "no_such_library_anywhere"),
        ("raise OSError('libnpu.so: cannot open')", OSError, "libnpu.so: cannot open"),
        ("import sys; sys.exit(3)", SystemExit, "SystemExit: 3"),
        ("class Odd(BaseException): pass\nraise Odd('odd')", BaseException, "Odd: odd"),
        ("1 +", SyntaxError, "invalid syntax"),
        ("x = 1", TypeError, "has no hook tensorbus_backend: define a function of that name"),
        (
            "def tensorbus_backend(): return None",
            TypeError,
            "decorated with @tensorbus.plugin.hookimpl",
        ),
        (
            "from tensorbus.plugin import hookimpl\n@hookimpl\ndef tensorbus_backed(): pass",
            TypeError,
            "unknown hook 'tensorbus_backed'",
        ),
        (
            "from tensorbus.plugin import hookimpl\n@hookimpl\ndef tensorbus_backend(x): pass",
            Exception,
            "tensorbus_backend",
        ),
        (
            "from tensorbus.plugin import hookimpl\n@hookimpl\ndef tensorbus_backend(): return 7",
            TypeError,
            "returned int, not BackendSpec",
        ),
        (backend_module("other"), ValueError, "called 'bad' but its BackendSpec says 'other'"),
        (
            backend_module("bad", "load=lambda: setattr(Mine, 'name', 'x') or Mine()"),
            ValueError,
            "returned one whose name is 'x'",
        ),
        (backend_module("bad", "load=Mine, api=99"), RuntimeError, "install a newer tensorbus"),
        (backend_module("bad", "load=Mine, api=0"), RuntimeError, "install a newer acme-bad"),
        (backend_module("bad", "load=lambda: 5"), TypeError, "returned int, not a tensorbus"),
    ],
)
def test_a_broken_plugin_says_why_and_stops_nobody(install, source, cause, text):
    install("acme-bad", {BACKENDS: {"bad": "acme_bad"}}, {"acme_bad": source}, "0.3")
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": backend_module("npu")})
    error = failure("bad")
    assert isinstance(error.__cause__, cause)
    assert text in str(error)
    assert "'bad' of acme-bad 0.3 can't be used" in str(error)
    assert "What to do: " in str(error)
    assert state(BACKENDS, "bad") == "failed"
    assert discovery.backend("npu").device_count() == 1


def test_a_misspelt_hook_error_names_the_hooks(install):
    source = "from tensorbus.plugin import hookimpl\n@hookimpl\ndef tensorbus_backed(): pass"
    install("acme-bad", {BACKENDS: {"bad": "acme_bad"}}, {"acme_bad": source})
    assert "the hooks are tensorbus_backend, tensorbus_overlay" in str(failure("bad"))


def test_the_stored_cause_is_raised_again_without_a_second_import(install):
    source = "import builtins\nbuiltins.acme_count = getattr(builtins, 'acme_count', 0) + 1\n1 / 0"
    install("acme-bad", {BACKENDS: {"bad": "acme_bad"}}, {"acme_bad": source})
    first, second = failure("bad"), failure("bad")
    assert first.__cause__ is second.__cause__
    import builtins

    assert builtins.acme_count == 1
    del builtins.acme_count


def test_a_missing_library_is_told_by_the_probe_with_the_way_out(install):
    source = (
        "def probe():\n    raise ImportError('the library npulib is not installed')\n"
        + backend_module("npu", "load=Mine, probe=probe, install='pip install acme[npu]'")
    )
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    error = failure("npu")
    assert "the library npulib is not installed" in str(error)
    assert str(error).endswith("What to do: pip install acme[npu]")


def test_a_way_out_that_the_probe_names_is_not_said_twice(install):
    source = (
        "def probe():\n    raise ImportError('no npulib: run pip install acme[npu].')\n"
        + backend_module("npu", "load=Mine, probe=probe, install='pip install acme[npu]'")
    )
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    assert str(failure("npu")).endswith("ImportError: no npulib: run pip install acme[npu].")


def test_ctrl_c_while_loading_is_the_users_and_is_not_remembered(install):
    source = (
        "import builtins\nif not hasattr(builtins, 'acme_done'):\n    builtins.acme_done = 1\n"
        "    raise KeyboardInterrupt\n" + backend_module("npu")
    )
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    with pytest.raises(KeyboardInterrupt):
        discovery.backend("npu")
    assert discovery.backend("npu").device_count() == 1
    import builtins

    del builtins.acme_done


def test_a_stored_failure_holds_no_frame_of_the_program(install):
    class Big:
        pass

    def program() -> weakref.ref[Big]:
        big = Big()
        with pytest.raises(RuntimeError):
            discovery.backend("bad")
        return weakref.ref(big)

    source = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise OSError('no') from e"
    install("acme-bad", {BACKENDS: {"bad": "acme_bad"}}, {"acme_bad": source})
    ref = program()
    gc.collect()
    assert ref() is None
    (record,) = [r for r in discovery.records(BACKENDS) if r.name == "bad"]
    assert "ZeroDivisionError" in record.traceback and "acme_bad.py" in record.traceback


def test_threads_that_ask_at_once_load_it_once(install):
    source = "import time\ntime.sleep(0.05)\n" + backend_module("npu")
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(discovery.backend("npu"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4 and len({id(b) for b in got}) == 1


def test_the_supported_range_ends_with_todays_contract():
    assert hooks.SUPPORTED_API[-1] == hooks.API


# -- one name, two distributions -------------------------------------------------------------
def test_a_name_claimed_twice_is_an_error_only_when_asked_for(install):
    install("acme-a", {BACKENDS: {"npu": "acme_a"}}, {"acme_a": backend_module("npu")})
    install("acme-b", {BACKENDS: {"npu": "acme_b"}}, {"acme_b": backend_module("npu")}, "2.0")
    install("acme-dsp", {BACKENDS: {"dsp": "acme_dsp"}}, {"acme_dsp": backend_module("dsp")})
    assert discovery.backend_names().count("npu") == 1
    assert discovery.backend("dsp").device_count() == 1
    message = str(failure("npu"))
    assert "claimed by 2 distributions, acme-a 1.0 and acme-b 2.0" in message
    assert "acme_a" not in sys.modules and "acme_b" not in sys.modules


# -- TENSORBUS_PLUGINS -----------------------------------------------------------------------
def test_the_variable_selects(install, monkeypatch):
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": backend_module("npu")})
    monkeypatch.setenv("TENSORBUS_PLUGINS", " npu , comm:tcp")
    assert discovery.backend_names() == ["meta", "npu"]
    assert discovery.backend("npu").device_count() == 1
    message = str(failure("cpu"))
    assert (
        "'cpu' of tensorbus.backends is installed but left out by TENSORBUS_PLUGINS=npu , comm:tcp"
        in message
    )


def test_an_empty_variable_selects_everything(fresh_discovery, monkeypatch):
    monkeypatch.setenv("TENSORBUS_PLUGINS", "")
    assert "cpu" in discovery.backend_names()


def test_the_variable_leaves_out_overlays_that_it_does_not_name(install, monkeypatch):
    for name in ("fast", "faster"):
        source = OVERLAY.format(name=name, backend="cpu", ops=("sum",), priority=1)
        install(f"acme-{name}", {OVERLAYS: {name: f"acme_{name}"}}, {f"acme_{name}": source})
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu,overlay:fast")
    assert [o.name for o in discovery.overlays("cpu")] == ["fast"]
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu")
    discovery.reset()
    assert discovery.overlays("cpu") == []


def test_what_a_program_plugs_in_itself_is_not_left_out(fresh_discovery, monkeypatch):
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu")
    with discovery.plugged(type(discovery.backend("cpu"))()) as name:
        assert tensorbus.ones(2, device=name).sum().item() == 2.0
        discovery.check_name(name)


def test_a_wrong_prefix_in_the_variable_is_told(fresh_discovery, monkeypatch):
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu,kom:tcp")
    with pytest.raises(ValueError, match=r"'kom:tcp' has the prefix 'kom', but only backend:"):
        discovery.backend_names()


# -- overlays --------------------------------------------------------------------------------
def install_overlay(install, name: str, priority: int, ops: tuple[str, ...], backend="cpu") -> None:
    source = OVERLAY.format(name=name, backend=backend, ops=ops, priority=priority)
    install(f"acme-{name}", {OVERLAYS: {name: f"acme_{name}"}}, {f"acme_{name}": source})


def test_overlays_come_highest_priority_first(install):
    install_overlay(install, "low", 1, ("sum", "prod"))
    install_overlay(install, "high", 5, ("sum",))
    install_overlay(install, "elsewhere", 9, ("sum",), backend="npu")
    assert "acme_low" not in sys.modules
    assert [o.name for o in discovery.overlays("cpu")] == ["high", "low"]
    assert [o.name for o in discovery.overlays("cpu", "prod")] == ["low"]
    assert discovery.overlays("cpu", "amax") == []
    assert [o.name for o in discovery.overlays("npu")] == ["elsewhere"]


def test_equal_priorities_for_one_op_name_both(install):
    install_overlay(install, "a", 2, ("sum", "prod"))
    install_overlay(install, "b", 2, ("amax",))
    install_overlay(install, "c", 2, ("prod", "amin"))
    text = "'a' and 'c' for 'cpu' have the same priority 2 for prod"
    with pytest.raises(RuntimeError, match=text):
        discovery.overlays("cpu")
    with pytest.raises(RuntimeError, match=text):
        discovery.overlays("cpu", "prod")
    assert [o.name for o in discovery.overlays("cpu", "sum")] == ["a"]


def test_a_broken_overlay_is_left_out_with_one_warning(install):
    install("acme-bad", {OVERLAYS: {"bad": "acme_bad"}}, {"acme_bad": "raise OSError('gone')"})
    install_overlay(install, "good", 1, ("sum",))
    with pytest.warns(UserWarning, match="overlay 'bad' of acme-bad 1.0 can't be used: .*gone"):
        assert [o.name for o in discovery.overlays("cpu")] == ["good"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [o.name for o in discovery.overlays("cpu")] == ["good"]
    assert state(OVERLAYS, "bad") == "failed" and state(OVERLAYS, "good") == "loaded"


def test_where_warnings_are_errors_the_next_question_is_answered(install):
    install("acme-bad", {OVERLAYS: {"bad": "acme_bad"}}, {"acme_bad": "raise OSError('gone')"})
    install_overlay(install, "good", 1, ("sum",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="gone"):
            discovery.overlays("cpu")
        assert [o.name for o in discovery.overlays("cpu")] == ["good"]


def test_an_overlay_claimed_twice_is_left_out_with_a_warning(install):
    for owner in ("a", "b"):
        source = OVERLAY.format(name="fast", backend="cpu", ops=("sum",), priority=1)
        install(f"acme-{owner}", {OVERLAYS: {"fast": f"acme_{owner}"}}, {f"acme_{owner}": source})
    with pytest.warns(UserWarning, match="claimed by 2 distributions, acme-a 1.0 and acme-b"):
        assert discovery.overlays("cpu") == []


def test_one_module_may_offer_a_backend_and_an_overlay(install):
    source = backend_module("npu") + OVERLAY.format(
        name="extra", backend="cpu", ops=("sum",), priority=0
    )
    entries = {BACKENDS: {"npu": "acme_npu"}, OVERLAYS: {"extra": "acme_npu"}}
    install("acme-npu", entries, {"acme_npu": source})
    assert discovery.backend("npu").device_count() == 1
    assert [o.name for o in discovery.overlays("cpu")] == ["extra"]


# -- commands --------------------------------------------------------------------------------
def test_a_command_is_loaded_when_named(install):
    install("acme-cli", {COMMANDS: {"hello": "acme_cli"}}, {"acme_cli": "answer = 42"})
    assert discovery.command("hello").answer == 42
    with pytest.raises(RuntimeError, match=r"no plugin declares 'nope' in tensorbus\.commands"):
        discovery.command("nope")
