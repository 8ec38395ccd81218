"""What arguments may be, and messages that name the one that is wrong."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from . import _powerbond

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


#: What other tools call an argument, and what it is called here.
ELSEWHERE = {
    "stop_time": "stop", "end_time": "stop", "final_time": "stop", "t_end": "stop", "tend": "stop", "duration": "stop",
    "start_time": "start", "begin_time": "start", "t_start": "start", "step_size": "step", "dt": "step", "h": "step",
    "rtol": "tolerance", "relative_tolerance": "tolerance", "tol": "tolerance", "start_values": "set", "parameters": "set",
    "input": "inputs", "output": "record", "outputs": "record", "filter": "record", "interval": "output_interval",
    "sample_interval": "output_interval", "threads": "worker_threads", "speed": "real_time", "step_finished": "callback",
    "n_jobs": "workers", "processes": "workers", "max_workers": "workers", "folder": "output_dir", "out": "output_dir",
}  # fmt: skip


def suggesting(call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same function; a keyword that it does not have is told with the one that was meant, and so are values without one."""
    signature = inspect.signature(call)
    known = [name for name in signature.parameters if name != "self"]
    in_order = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    is_open = any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values())
    keyword = next((p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY), None)

    @functools.wraps(call)
    def checked(*args: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        for name in keywords:
            if name not in known:
                meant = ELSEWHERE.get(name)
                cure = f" Did you mean `{meant}`?" if meant in known else hint(name, known)
                raise TypeError(f"`{call.__name__}` has no argument `{name}`.{cure}")
        if len(args) > len(in_order) and not is_open and keyword is not None:
            raise TypeError(f"`{call.__name__}` got {shown(args[len(in_order)])} without a name; write `{keyword}=…`, or what it is")
        return call(*args, **keywords)

    return checked


def number(name: str, value: object, what: str = "a number") -> float:
    """A number; NumPy's scalars are numbers like others, and `True` is none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        try:
            # A scalar in an array of no dimension.
            if getattr(value, "ndim", None) == 0 and not isinstance(value, bool):
                return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
        raise TypeError(f"`{name}` is {shown(value)}; expected {what}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"`{name}` is {shown(value)}; expected {what} that a double can hold") from None


def value(name: str, given: object) -> float:
    """A number, or a truth value as the number that it is."""
    return float(given) if isinstance(given, (bool, np.bool_)) else number(name, given)


def seconds(name: str, value: object) -> float | None:
    """A time, if there is one."""
    return None if value is None else number(name, value, "a number of seconds")


def positive(name: str, value: object, what: str = "a number above 0") -> float | None:
    """A number above 0, if there is one."""
    if value is None:
        return None
    x = number(name, value, what)
    if not (math.isfinite(x) and x > 0.0):
        raise ValueError(f"`{name}` is {value!r}; expected {what}")
    return x


def share(name: str, value: object, *, zero: bool = True, what: str = "a share, such as 0.01") -> float | None:
    """A share, such as 0.01, if there is one: above 0, or also 0."""
    if value is None:
        return None
    x = number(name, value, what)
    if not (math.isfinite(x) and (x > 0.0 or (zero and x == 0.0))):
        raise ValueError(f"`{name}` is {value!r}; expected {what}, {'0 or more' if zero else 'above 0'}")
    return x


def truth(name: str, value: object) -> bool:
    """`True` or `False`."""
    if not (isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")):
        raise TypeError(f"`{name}` is {shown(value)}; expected True or False")
    return bool(value)


def text(name: str, value: object, what: str = "a string") -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"`{name}` is {shown(value)}; expected {what}")
    return value


def path(name: str, value: object) -> str:
    """A path as a string."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"`{name}` is {shown(value)}; expected a path")
    return os.fsdecode(value)


def texts(name: str, value: object) -> list[str]:
    """One string or several."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        return [text(f"{name}[{n}]", one) for n, one in enumerate(value)]
    raise TypeError(f"`{name}` is {shown(value)}; expected a string or a list of strings")


def function(name: str, value: object) -> Any:
    """Something that can be called, if there is anything."""
    if value is not None and not callable(value):
        raise TypeError(f"`{name}` is {shown(value)}; expected a function")
    return value


def shown(value: object) -> str:
    """A value and its type, briefly."""
    try:
        as_text = repr(value)
    except ValueError:
        # Digits of an integer that are more than Python prints.
        as_text = "…"
    if len(as_text) > 60:
        as_text = as_text[:57] + "…"
    return "None" if value is None else f"{as_text} ({type(value).__name__})"


def hint(name: str, known: Iterable[str]) -> str:
    """` Did you mean …?`, or a short list, or nothing."""
    return _powerbond.hint(str(name), list(known))
