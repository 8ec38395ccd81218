"""`pb.open`: a run that is stepped, in the process of the program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import TracebackType

from . import _names, _options
from ._options import Runnable
from ._powerbond import Saved, Session
from ._solution import Solution


class Simulation:
    """A run that is stepped, in the process of its caller; FMUs have processes of their own unless it was opened with `isolate=False`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._session.finish()

    def __repr__(self) -> str:
        try:
            start, stop = self._session.span()
            return f"<Simulation at {self.time:.6g} s, from {start:.6g} s to {stop:.6g} s>"
        except RuntimeError:
            return "<Simulation, finished>"

    @property
    def time(self) -> float:
        """Now, in s."""
        return self._session.time()

    @property
    def stop(self) -> float:
        """When the run ends, in s."""
        return self._session.span()[1]

    @property
    def warnings(self) -> list[str]:
        """What should be known before the run."""
        return self._session.warnings()

    def __getitem__(self, name: str) -> float:
        """The value of a variable now; at a discontinuity the one after it."""
        return self._session.value(name)

    def __setitem__(self, name: str, value: float) -> None:
        """Sets an input that is not connected, or a tunable parameter, from now on. All that is set between two steps is one event."""
        self._session.set(name, value if type(value) is float else _names.value(f"value of {name}", value))

    def step(self) -> bool:
        """Makes one step; whether the run can go on."""
        return self._session.step()

    @_names.suggesting
    def run_until(self, time: float, *, land: bool = False) -> bool:
        """Runs to the first communication point at or after `time`; whether the run can go on. Ctrl-C pauses it.

        Pausing changes no bit of the run. With `land` a step ends at `time`, which changes steps.
        """
        t = _names.number("time", time, "a number of seconds")
        if math.isnan(t):
            raise ValueError("`time` is not a number; expected a number of seconds")
        return self._session.land_on(t) if _names.truth("land", land) else self._session.run_until(t)

    def run(self) -> None:
        """Runs to the end."""
        self._session.run_until(float("inf"))

    def save(self) -> Saved:
        """The whole state, to go back to as often as wanted."""
        return self._session.save()

    def restore(self, saved: Saved) -> None:
        """Goes to a state that was saved; from there on every bit is that of the first time."""
        self._session.restore(saved)

    def finish(self) -> Solution:
        """Ends the run, wherever it is."""
        told = self._session.finish()
        if told is None:
            raise RuntimeError("the run was finished before; open the system again for another one")
        return Solution(told)


@_names.suggesting
def open(
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
    real_time: float | None = None,
    worker_threads: int | None = None,
    allow_nonfinite: bool = False,
    isolate: bool = True,
) -> Simulation:
    """Starts a run that is stepped, of whatever `pb.run` takes; the options are those of `pb.run`. Results stay in memory.

    isolate: run each FMU in a process of its own, so that one that crashes is an exception. `False` steps, and above all starts,
        faster.
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
        real_time=real_time,
        worker_threads=worker_threads,
        allow_nonfinite=allow_nonfinite,
        isolate=isolate,
    )
    with _options.explained(system):
        return Simulation(Session(task))
