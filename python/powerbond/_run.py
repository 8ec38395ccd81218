"""`pb.run`: a system to its end, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from . import _names, _options, _powerbond, _progress
from ._options import REFUSED, Runnable
from ._powerbond import PowerbondError
from ._solution import Solution

class _Stop:
    """What a callback returns to end the run."""

    def __repr__(self) -> str:
        return "powerbond.STOP"

    def __reduce__(self) -> str:
        return "STOP"


#: What a callback returns to end the run.
STOP = _Stop()


@_names.suggesting
def run(
    system: Runnable,
    *,
    stop: float | None = None,
    start: float | None = None,
    tolerance: float | None = None,
    step: float | None = None,
    output_interval: float | None = None,
    set: Mapping[str, object] | None = None,
    inputs: object = None,
    record: str | list[str] | None = None,
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
    callback: Callable[[float, dict[str, float]], object] | None = None,
    check: bool = True,
    isolate: bool = True,
    progress: bool | None = None,
    timeout: float | None = None,
    call_timeout: float | None = None,
    memory_limit: float | None = None,
) -> Solution:
    """Runs a system to its end: a system file, a folder with `system.toml`, an FMU, a structure of SSP or OSP, or a `pb.System`.

        sol = pb.run("system.toml", stop=10.0, set={"wheel.stiffness": 2e5}, record=["*.velocity"])
        sol["chassis.velocity"], sol.time, sol.verdict

    Raises `pb.PowerbondError` for what the system, an FMU or a file has, `TypeError` and `ValueError` for arguments.

    stop, start: end and start of the run, in s.
    tolerance: choose steps and method for this relative error (the default method: 1e-3).
    step: constant step size, or the first one of an adaptive run, in s.
    output_interval: keep rows at multiples of this only, in s.
    set: parameters by name, `subsystem.parameter`, and knobs, `method.knob`.
    inputs: what inputs follow: a CSV file, a data frame with times, a structured array, or a dictionary of numbers, of pairs
        (times, values), of series over times, or of columns beside `time`. Names are `subsystem.input`.
    record: patterns of what is recorded, such as `["*.velocity", "wheel.*"]`.
    params, scenario, method: files (.ssv; scenario; another [method]).
    verify: measure the error by a second run with every step in halves, or quarters.
    error: repeat with other tolerances until the verified error is at most this share.
    max_error, max_energy_residual: fail if the estimated error, or the residual of a bond, is larger than this share.
    real_time: seconds of the run per second of wall-clock time.
    worker_threads: threads that advance subsystems side by side.
    allow_nonfinite: go on with NaN and infinite outputs.
    callback: called as `callback(time, row)` with every row, a dictionary; `pb.STOP` ends the run, anything else goes on.
    check: raise if the run failed; with `check=False`, `sol.error` says what happened, and what was recorded until then is there.
    isolate: run in another process, which stays for the next run. An FMU that crashes is an exception then. Systems with
        subsystems in Python run in this process, and each of their FMUs in one of its own.
    progress: show a bar; by default in terminals and notebooks, for runs that take longer than half a second.
    timeout, call_timeout: kill the run, or a single call of an FMU, that takes longer, in s of wall-clock time (isolated runs).
    memory_limit: kill a run that needs more, in bytes (isolated runs).
    """
    task = _options.given(
        system,
        start=start,
        stop=stop,
        tolerance=tolerance,
        step=step,
        output_interval=output_interval,
        set=set,
        inputs=inputs,
        record=record,
        params=params,
        scenario=scenario,
        method=method,
        verify=verify,
        error=error,
        max_error=max_error,
        max_energy_residual=max_energy_residual,
        real_time=real_time,
        worker_threads=worker_threads,
        allow_nonfinite=allow_nonfinite,
        isolate=isolate,
    )
    limits = _options.bounds(timeout, call_timeout, memory_limit)
    seen = _names.function("callback", callback)
    must = _names.truth("check", check)
    bar = _progress.bar(progress)
    crossed: tuple[float, float] | None = None
    try:
        with _options.explained(system):
            told: Any = _powerbond.run(task, limits, None if seen is None else (seen, STOP), bar, not must)
        solution = Solution(told)
        crossed = (float(solution.time[0]), float(solution.time[-1])) if len(solution.time) else None
    except PowerbondError as failed:
        if must or failed.exit_code == REFUSED:
            raise
        return Solution._of_failure(failed)
    finally:
        if bar is not None:
            bar.close(crossed)
    if must:
        if solution.error is not None:
            raise solution.error
        if solution.exceeded:
            raise _powerbond.exceeded(solution.exceeded[0])
    return solution
