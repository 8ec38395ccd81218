"""Everything that a run is given, checked and as the module takes it."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from . import _inputs, _names, _toml
from ._system import System

#: Exit code of the command for input that is refused: then there was no run.
REFUSED = 3

#: What may be run: a system file, a folder with one, an FMU, or a system made in Python.
Runnable = str | os.PathLike[str] | System


#: Threads that may be asked for.
MOST_THREADS = 65536
#: Bytes that the module can count.
MOST_BYTES = 2**63


def given(
    system: Runnable,
    *,
    start: float | None = None,
    stop: float | None = None,
    tolerance: float | None = None,
    step: float | None = None,
    output_interval: float | None = None,
    set: Mapping[str, object] | None = None,
    inputs: object = None,
    record: object = None,
    params: object = None,
    scenario: object = None,
    method: object = None,
    verify: bool | Literal["halves", "quarters"] = False,
    error: float | None = None,
    max_error: float | None = None,
    max_energy_residual: float | None = None,
    real_time: float | None = None,
    worker_threads: int | None = None,
    allow_nonfinite: bool = False,
    isolate: bool = True,
) -> dict[str, Any]:
    """The dictionary that the module reads."""
    if isinstance(system, System):
        what: dict[str, Any] = {"path": None, "file": system._file, "text": system._text(), "members": system._members()}
    elif isinstance(system, (str, os.PathLike)):
        what = {"path": os.fsdecode(system), "file": None, "text": None, "members": []}
    else:
        raise TypeError(f"`system` is {_names.shown(system)}; expected a path or a pb.System")
    file, samples = _inputs.read(inputs)
    return what | {
        "start": _names.seconds("start", start),
        "stop": _names.seconds("stop", stop),
        "tolerance": None if tolerance is None else _names.number("tolerance", tolerance, "a share, such as 0.01"),
        "step": _names.seconds("step", step),
        "output_interval": _names.seconds("output_interval", output_interval),
        "set": assignments(set),
        "params": [] if params is None else _paths("params", params),
        "scenario": None if scenario is None else _names.path("scenario", scenario),
        "method": None if method is None else _names.path("method", method),
        "record": None if record is None else _names.texts("record", record),
        "samples": samples,
        "input": file,
        "worker_threads": _count("worker_threads", worker_threads),
        "allow_nonfinite": _names.truth("allow_nonfinite", allow_nonfinite),
        "verify": _verify(verify),
        "error": _names.share("error", error, zero=False),
        "max_error": _names.share("max_error", max_error),
        "max_energy_residual": _names.share("max_energy_residual", max_energy_residual),
        "real_time": _names.positive("real_time", real_time),
        "isolate": _names.truth("isolate", isolate),
    }


def assignments(parameters: Mapping[str, object] | None) -> list[str]:
    """`subsystem.parameter=value` of a dictionary."""
    if parameters is None:
        return []
    if not isinstance(parameters, Mapping):
        raise TypeError(f"`set` is {_names.shown(parameters)}; expected a dictionary of values by name")
    return [
        f"{_names.text('set', name, 'names of parameters as keys')}={_toml.typed(f'set[{name!r}]', value)}"
        for name, value in parameters.items()
    ]


def bounds(
    timeout: float | None, call_timeout: float | None, memory_limit: float | None
) -> tuple[float | None, float | None, int | None]:
    """What a worker may take: seconds, seconds in one call, bytes."""
    bytes_ = _names.positive("memory_limit", memory_limit, "a number of bytes above 0")
    return (
        _names.positive("timeout", timeout, "a number of seconds above 0"),
        _names.positive("call_timeout", call_timeout, "a number of seconds above 0"),
        None if bytes_ is None else min(int(bytes_), MOST_BYTES),
    )


def explained(system: object) -> AbstractContextManager[None]:
    """Within it, mistakes in a system made in Python have their places in the program."""
    return system._explaining() if isinstance(system, System) else nullcontext()


def _paths(name: str, value: object) -> list[str]:
    if isinstance(value, (str, os.PathLike)):
        return [os.fsdecode(value)]
    if isinstance(value, (list, tuple)):
        return [_names.path(f"{name}[{n}]", one) for n, one in enumerate(value)]
    raise TypeError(f"`{name}` is {_names.shown(value)}; expected a path or a list of paths")


def _count(name: str, value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"`{name}` is {_names.shown(value)}; expected an integer, 0 or more")
    count = int(value)
    if not 0 <= count <= MOST_THREADS:
        raise ValueError(f"`{name}` is {_names.shown(value)}; expected an integer from 0 to {MOST_THREADS}")
    return count


def _verify(value: object) -> bool | None:
    """`True` stands for halves and `False` for quarters of steps, nothing for no verification."""
    if value is None or value is False:
        return None
    if value is True or value == "halves":
        return True
    if value == "quarters":
        return False
    raise ValueError(f"`verify` is {_names.shown(value)}; expected True, False, 'halves' or 'quarters'")
