"""A pickle reader that never runs code from the file.

It interprets the opcodes that checkpoints need, over a table of names that are known to be
harmless; everything else is refused. Python's own Unpickler is not used: its BUILD can set
attributes of any object, and its memo can be made to allocate gigabytes by a file of ten bytes.
"""

from __future__ import annotations

import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from functools import partial
from typing import IO, Any

import tensorbus
from tensorbus.serialization import modules, names, rebuild
from tensorbus.serialization.budget import as_key, spend_on
from tensorbus.serialization.errors import (
    CheckpointError,
    UnsafeCheckpointError,
    bad,
    escaped,
    reason,
)
from tensorbus.serialization.refused import refuse, refuse_absent
from tensorbus.serialization.trusted import is_allowed, is_users, restore, user_globals

_MARK = object()
_LONGEST_LINE = 1 << 16
_BLOCKED = ("sys", "os", "posix", "nt")

_FIXED: dict[int, Any] = {
    pickle.NONE[0]: None,
    pickle.NEWTRUE[0]: True,
    pickle.NEWFALSE[0]: False,
}
_NUMBERS = {
    pickle.BININT[0]: struct.Struct("<i"),
    pickle.BININT1[0]: struct.Struct("<B"),
    pickle.BININT2[0]: struct.Struct("<H"),
    pickle.BINFLOAT[0]: struct.Struct(">d"),
}
_EMPTY: dict[int, Callable[[], Any]] = {
    pickle.EMPTY_LIST[0]: list,
    pickle.EMPTY_TUPLE[0]: tuple,
    pickle.EMPTY_DICT[0]: dict,
    pickle.EMPTY_SET[0]: set,
}
_TEXTS = {
    pickle.BINUNICODE[0]: struct.Struct("<I"),
    pickle.SHORT_BINUNICODE[0]: struct.Struct("<B"),
    pickle.BINUNICODE8[0]: struct.Struct("<Q"),
}
_BYTES = {
    pickle.BINBYTES[0]: struct.Struct("<I"),
    pickle.SHORT_BINBYTES[0]: struct.Struct("<B"),
    pickle.BINBYTES8[0]: struct.Struct("<Q"),
    pickle.BYTEARRAY8[0]: struct.Struct("<Q"),
    # Python 2 wrote its text so.
    pickle.BINSTRING[0]: struct.Struct("<I"),
    pickle.SHORT_BINSTRING[0]: struct.Struct("<B"),
}
_LONGS = {pickle.LONG1[0]: struct.Struct("<B"), pickle.LONG4[0]: struct.Struct("<I")}
_PUTS = {pickle.BINPUT[0]: struct.Struct("<B"), pickle.LONG_BINPUT[0]: struct.Struct("<I")}
_GETS = {pickle.BINGET[0]: struct.Struct("<B"), pickle.LONG_BINGET[0]: struct.Struct("<I")}
_SHORT_TUPLES = {pickle.TUPLE1[0]: 1, pickle.TUPLE2[0]: 2, pickle.TUPLE3[0]: 3}


class RestrictedUnpickler:
    """Reads one pickle from *file*; ``persistent_load`` gives the objects kept outside it.

    With *modules* it may name modules and optimizers of ours too.
    """

    def __init__(
        self,
        file: IO[bytes],
        persistent_load: Callable[[Any], Any] | None = None,
        modules: bool = False,
    ):
        self._file = file
        self._position = file.tell()
        self._end = file.seek(0, 2)
        file.seek(self._position)
        self._persistent_load = persistent_load or _no_storages
        self._modules = modules
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    @property
    def position(self) -> int:
        """Where the pickle ends in the file, once it is read."""
        return self._position

    def load(self) -> Any:
        """The object; CheckpointError for damage, UnsafeCheckpointError for what is refused."""
        while True:
            code = self._take(1)[0]
            if code == pickle.STOP[0]:
                result = self._pop()
                if self._stack:
                    raise bad("its pickle leaves something over")
                return result
            if code == pickle.BINPERSID[0]:
                # Outside: what a user's map_location raises is no fault of the file.
                self._push(self._persistent_load(self._pop()))
                continue
            at = self._position - 1
            try:
                self._step(code)
            except CheckpointError:
                raise
            except Exception as error:
                raise bad(f"its pickle can't be followed at byte {at} ({reason(error)})") from error

    def _step(self, code: int) -> None:
        push = self._push
        if code in _ACTIONS:
            getattr(self, _ACTIONS[code])()
        elif code in _PUTS:
            self._put(self._number(_PUTS[code]))
        elif code in _GETS:
            self._get(self._number(_GETS[code]))
        elif code in _TEXTS:
            push(_decoded(self._take(self._number(_TEXTS[code]))))
        elif code in _NUMBERS:
            push(self._number(_NUMBERS[code]))
        elif code in _FIXED:
            push(_FIXED[code])
        elif code in _EMPTY:
            push(_EMPTY[code]())
        elif code in _SHORT_TUPLES:
            count = _SHORT_TUPLES[code]
            push(tuple(reversed([self._pop() for _ in range(count)])))
        elif code in _BYTES:
            push(self._bytes(code, self._take(self._number(_BYTES[code]))))
        elif code in _LONGS:
            push(int.from_bytes(self._take(self._number(_LONGS[code])), "little", signed=True))
        else:
            raise UnsafeCheckpointError(
                f"The checkpoint's pickle has the opcode {bytes([code])!r} at byte "
                f"{self._position - 1}, which no checkpoint needs; the file is damaged or hostile."
            )

    def _take(self, count: int) -> bytes:
        end = self._position + count
        if end > self._end:
            raise CheckpointError("The checkpoint is truncated: its pickle ends too soon.")
        taken = self._file.read(count)
        self._position = end
        return taken

    def _frame(self) -> None:
        self._take(8)

    def _mark(self) -> None:
        self._push(_MARK)

    def _memoize(self) -> None:
        self._put(len(self._memo))

    def _list(self) -> None:
        self._push(self._marked())

    def _tuple(self) -> None:
        self._push(tuple(self._marked()))

    def _global(self) -> None:
        module, name = self._line(), self._line()
        # As Python 2 called them, and protocols before 3 still do.
        module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        self._push(self._resolve(module, name))

    def _number(self, form: struct.Struct) -> Any:
        return form.unpack(self._take(form.size))[0]

    def _integer(self) -> None:
        # As protocols 0 and 1 write it; Python itself refuses to read thousands of digits.
        line = self._line()
        self._push(line == "01" if line in ("00", "01") else int(line.removesuffix("L")))

    @staticmethod
    def _bytes(code: int, value: bytes) -> Any:
        if code == pickle.BYTEARRAY8[0]:
            return bytearray(value)
        if code in (pickle.BINSTRING[0], pickle.SHORT_BINSTRING[0]):
            return value.decode("latin1")
        return value

    def _line(self) -> str:
        line = self._file.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise CheckpointError("The checkpoint is truncated: its pickle ends too soon.")
        self._position += len(line)
        return _decoded(line[:-1])

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise bad("its pickle takes more than it gives")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise bad("its pickle takes more than it gives")
        return self._stack[-1]

    def _drop(self) -> None:
        if not self._stack:
            raise bad("its pickle takes more than it gives")
        self._stack.pop()

    def _drop_marked(self) -> None:
        self._marked()

    def _marked(self) -> list[Any]:
        """The values above the last mark, taken off the stack."""
        for i in range(len(self._stack) - 1, -1, -1):
            if self._stack[i] is _MARK:
                values = self._stack[i + 1 :]
                del self._stack[i:]
                return values
        raise bad("its pickle takes more than it gives")

    def _protocol(self) -> None:
        protocol = self._take(1)[0]
        if protocol > pickle.HIGHEST_PROTOCOL:
            raise bad(f"its pickle has the unknown protocol {protocol}")

    def _put(self, index: int) -> None:
        self._memo[index] = self._top()

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise bad("its pickle uses what it has not stored")
        self._push(self._memo[index])

    def _frozenset(self) -> None:
        self._push(rebuild.make_frozenset(self._marked()))

    def _dict(self) -> None:
        values = self._marked()
        self._push({})
        self._fill(values)

    def _append(self) -> None:
        self._extend([self._pop()])

    def _appends(self) -> None:
        self._extend(self._marked())

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not list and not is_users(target):
            raise bad(f"its pickle appends to a {type(target).__name__}")
        target.extend(values)

    def _add_items(self) -> None:
        values = self._marked()
        target = self._top()
        if type(target) is not set:
            raise bad(f"its pickle adds to a {type(target).__name__}")
        for value in values:
            target.add(as_key(target, value))

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._fill([key, value])

    def _set_items(self) -> None:
        self._fill(self._marked())

    def _fill(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) not in (dict, OrderedDict, Counter, defaultdict) and not is_users(target):
            raise bad(f"its pickle sets items of a {type(target).__name__}")
        if len(values) % 2:
            raise bad("its pickle has a key without a value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[as_key(target, key)] = value

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise bad("its pickle names something by what is no text")
        self._push(self._resolve(module, name))

    def _resolve(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        table, _ = names.known()
        if full in table:
            return table[full]
        if module.partition(".")[0] in _BLOCKED:
            raise UnsafeCheckpointError(
                f"Weights only load failed. Trying to load unsafe GLOBAL {escaped(full)} whose "
                f"module {escaped(module)} is blocked: nobody can allow what acts on the system."
            )
        if full in user_globals:
            return user_globals[full]
        refuse_absent([full])
        ours = modules.find(full)
        if ours is None or not (self._modules or is_allowed(ours)):
            refuse(full)
        return ours

    def _reduce(self) -> None:
        self._call(new=False)

    def _new_object(self) -> None:
        self._call(new=True)

    def _call(self, new: bool) -> None:
        args, function = self._pop(), self._pop()
        if not isinstance(args, tuple):
            raise bad("its pickle calls something without arguments")
        _, calls = names.known()
        call = calls.get(id(function))
        if call is None and is_allowed(function):
            call = partial(function.__new__, function) if new else function
        if call is None and self._modules:
            call = modules.caller(function, new)
        if call is None:
            raise bad(f"its pickle calls a {type(function).__name__}")
        spend_on(args)
        for arg in args:
            spend_on(arg)
        try:
            self._push(call(*args))
        except CheckpointError:
            raise
        except Exception as error:
            name = getattr(function, "__name__", type(function).__name__)
            raise bad(f"{name} was called with unfit arguments ({reason(error)})") from error

    def _build(self) -> None:
        state, target = self._pop(), self._top()
        spend_on(state)
        if is_users(target):
            restore(target, state)
        elif modules.is_ours(target):
            modules.restore(target, state)
        elif isinstance(target, tensorbus.Tensor):
            rebuild.set_tensor_state(target, state)
        elif type(target) is OrderedDict and type(state) is dict:
            for name, value in state.items():
                if not isinstance(name, str) or hasattr(OrderedDict, name):
                    raise bad("an OrderedDict has a strange attribute")
                setattr(target, name, value)
        else:
            raise bad(f"its pickle sets the state of a {type(target).__name__}")


_ACTIONS: dict[int, str] = {
    pickle.INT[0]: "_integer",
    pickle.LONG[0]: "_integer",
    pickle.PROTO[0]: "_protocol",
    pickle.FRAME[0]: "_frame",
    pickle.MARK[0]: "_mark",
    pickle.POP[0]: "_drop",
    pickle.POP_MARK[0]: "_drop_marked",
    pickle.MEMOIZE[0]: "_memoize",
    pickle.LIST[0]: "_list",
    pickle.TUPLE[0]: "_tuple",
    pickle.FROZENSET[0]: "_frozenset",
    pickle.DICT[0]: "_dict",
    pickle.APPEND[0]: "_append",
    pickle.APPENDS[0]: "_appends",
    pickle.ADDITEMS[0]: "_add_items",
    pickle.SETITEM[0]: "_set_item",
    pickle.SETITEMS[0]: "_set_items",
    pickle.GLOBAL[0]: "_global",
    pickle.STACK_GLOBAL[0]: "_stack_global",
    pickle.REDUCE[0]: "_reduce",
    pickle.NEWOBJ[0]: "_new_object",
    pickle.BUILD[0]: "_build",
}


def _no_storages(pid: Any) -> Any:
    raise bad("its pickle refers to a storage where none can be")


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise bad("its pickle has text that is none") from None
