"""Co-simulation that follows the energy through the coupling.

    import powerbond as pb

    with pb.open("system.toml", stop=10.0) as sim:
        while sim.step():
            sim["wheel.road"] = road(sim.time)
        solution = sim.finish()

Times are in seconds; variables have names, `subsystem.variable`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ._powerbond import PowerbondError, Saved, Session

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PowerbondError", "Saved", "Simulation", "Solution", "open"]


class Solution(Mapping[str, NDArray[np.float64]]):
    """What a run recorded, a column per variable, and how far it can be trusted."""

    #: Unit of every column that has one.
    units: dict[str, str]
    #: Everything that `summary.json` says of a run.
    summary: dict[str, Any]

    def __init__(self, names: list[str], units: list[str], columns: list[NDArray[np.float64]], summary: str) -> None:
        self._columns = dict(zip(names, columns))
        self.units = {name: unit for name, unit in zip(names, units) if unit}
        self.summary = json.loads(summary)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self._columns:
            near = get_close_matches(str(name), self._columns, 1)
            raise KeyError(f"`{name}` is not recorded." + (f" Did you mean `{near[0]}`?" if near else ""))
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the rows, in s. At a discontinuity there are two rows, the limits from the left and from the right."""
        return self._columns["time"]

    @property
    def verdict(self) -> dict[str, Any]:
        """Whether the run can be trusted: `word`, `error`, `reasons`, `advice`."""
        return cast(dict[str, Any], self.summary["verdict"])

    @property
    def bonds(self) -> list[dict[str, Any]]:
        """Energy through every power bond, in J."""
        return cast(list[dict[str, Any]], self.summary["bonds"])

    def to_pandas(self, *, limits: Literal["right", "both"] = "right") -> pd.DataFrame:
        """The columns over `time`. At a discontinuity: the value after it, or both."""
        if limits not in ("right", "both"):
            raise ValueError(f"`limits` is {limits!r}; expected 'right' or 'both'")
        import pandas as pd

        table = pd.DataFrame(self._columns).set_index("time")
        return table if limits == "both" else table[~table.index.duplicated(keep="last")]

    def __repr__(self) -> str:
        word, outcome = self.verdict["word"], self.summary["outcome"]
        return f"<Solution: {outcome}, {word}, {len(self.time)} rows of {len(self) - 1} variables>"


class Simulation:
    """A run that is stepped, in the process of its caller: an FMU that crashes takes it along."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._session.finish()

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
        self._session.set(name, float(value))

    def step(self) -> bool:
        """Makes one step; whether the run can go on."""
        return self._session.step()

    def run_until(self, time: float) -> bool:
        """Runs to the first communication point at or after `time`; whether the run can go on. Ctrl-C pauses it."""
        return self._session.run_until(time)

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
        results = self._session.finish()
        if results is None:
            raise RuntimeError("the run was finished before; open the system again for another one")
        return Solution(*results)


def open(
    system: str | PathLike[str],
    *,
    stop: float | None = None,
    tolerance: float | None = None,
    step: float | None = None,
    output_interval: float | None = None,
    set: Mapping[str, float | str] | None = None,
) -> Simulation:
    """Starts a run of a system file, a folder with `system.toml`, or an FMU. Results stay in memory.

    stop: end of the run, in s.
    tolerance: choose steps and method for this relative error (the default method: 1e-3).
    step: constant step size, or the first one of an adaptive run, in s.
    output_interval: keep rows at multiples of this only, in s.
    set: parameters by name, `subsystem.parameter`; text for enumerations and strings.
    """
    assignments = [f"{name}={_written(value)}" for name, value in (set or {}).items()]
    session = Session(system, stop=stop, tolerance=tolerance, step=step, output_interval=output_interval, set=assignments)
    session.start()
    return Simulation(session)


def _written(value: float | str) -> str:
    """As in a system file. NumPy's scalars are numbers like others."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return repr(float(value))
