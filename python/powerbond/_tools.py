"""What is asked about systems, FMUs and results beside runs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from html import escape

from . import _names, _options, _powerbond, _progress
from ._answer import Answer
from ._options import Runnable
from ._system import System
from ._table import Table


class Check(Answer):
    """A system before it runs: `subsystems`, `connections`, `bonds`, `loops`, `order`, `warnings`, `failure`, …"""

    def __repr__(self) -> str:
        loops, warnings = len(self["loops"]), len(self["warnings"])
        return f"<Check of {self['system']!r}: {len(self['subsystems'])} subsystems, {loops} loops, {warnings} warnings>"

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(str(warning))}</li>" for warning in self["warnings"])
        return f"<div>{self['svg']}</div><ul>{items}</ul>"


class Tuning(Answer):
    """Every method on a system: `methods`, `choice`, `fastest`, `reference`."""

    def __repr__(self) -> str:
        choice = self["choice"]
        if choice is None:
            return "<Tuning: no run came to its end>"
        return f"<Tuning: {choice['name']}{'' if choice['reached'] else ', which misses the error that was wanted'}>\n{choice['block']}"


class Comparison(Answer):
    """How far two results are apart: `variables` with `max`, `rms` and shares of the reference; `within` tells whether all are allowed."""

    @property
    def within(self) -> bool:
        """Whether no variable is farther apart than allowed."""
        return bool(self["exceeded"] == 0)

    def __repr__(self) -> str:
        lines = [f"{v['name']}: max {v['max']:.3g} at {v['time']:.4g} s, rms {100.0 * v['relative_rms']:.3g} %" for v in self["variables"]]
        return "\n".join(lines)


@_names.suggesting
def check(
    system: Runnable,
    *,
    stop: float | None = None,
    tolerance: float | None = None,
    step: float | None = None,
    set: Mapping[str, object] | None = None,
    params: object = None,
    probe: bool = False,
    isolate: bool = True,
    timeout: float | None = None,
) -> Check:
    """Looks at a system without running it: structure, algebraic loops, capabilities, a picture. `probe` also steps scratch
    instances of FMUs, as a run does at its start. Mistakes raise. `stop` is needed where the system has none: steps are chosen by it;
    a `pb.System` without one is checked for a run of 1 s."""
    if stop is None and isinstance(system, System) and not system._has_stop():
        stop = 1.0
    task = _options.given(system, stop=stop, tolerance=tolerance, step=step, set=set, params=params, isolate=isolate)
    limits = _options.bounds(timeout, None, None)
    with _options.explained(system):
        answer = _powerbond.check(task, limits, _names.truth("probe", probe))
    return Check(json.loads(answer))


@_names.suggesting
def tune(
    system: Runnable,
    *,
    error: float = 0.01,
    budget: float = 60.0,
    stop: float | None = None,
    step: float | None = None,
    set: Mapping[str, object] | None = None,
    params: object = None,
    scenario: object = None,
    isolate: bool = True,
    progress: bool | None = None,
) -> Tuning:
    """Runs every method on a system and chooses the cheapest one with an error of at most `error`, in `budget` seconds."""
    task = _options.given(system, stop=stop, step=step, set=set, params=params, scenario=scenario, isolate=isolate)
    wanted = _names.positive("error", error, "a share above 0") or 0.0
    time = _names.positive("budget", budget, "a number of seconds above 0") or 0.0
    bar = _progress.bar(progress, _progress.share)
    crossed: tuple[float, float] | None = None
    try:
        with _options.explained(system):
            answer = _powerbond.tuned(task, (None, None, None), wanted, time, bar)
        crossed = (0.0, 1.0)
    finally:
        if bar is not None:
            bar.close(crossed)
    return Tuning(json.loads(answer))


@_names.suggesting
def compare(
    first: Table | str | os.PathLike[str],
    reference: Table | str | os.PathLike[str],
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Compares a solution, a run folder or a table (CSV, Arrow, Parquet) with another one, variable by variable. With `rtol` (a
    share of the largest value of the reference) or `atol`, `within` says whether all are that near."""
    tolerance = None
    if rtol is not None or atol is not None:
        tolerance = (_names.share("rtol", rtol) or 0.0, _names.share("atol", atol, what="a number") or 0.0)
    with tempfile.TemporaryDirectory() as folder:
        sides = _side("first", first, folder), _side("reference", reference, folder)
        return Comparison(json.loads(_powerbond.compared(*sides, tolerance)))


def inspect(fmu: str | os.PathLike[str]) -> Answer:
    """What an FMU says about itself, as `powerbond inspect --json` prints it: `variables`, `co_simulation`, `findings`, …"""
    return Answer(json.loads(_powerbond.inspected(_names.path("fmu", fmu))))


def _side(name: str, given: object, folder: str) -> str:
    """A path. Tables are read row by row, so that one in memory becomes a file."""
    if isinstance(given, Table):
        path = os.path.join(folder, f"{name}.csv")
        given.to_csv(path)
        return path
    if isinstance(given, (str, os.PathLike)):
        return os.fsdecode(given)
    raise TypeError(f"`{name}` is {_names.shown(given)}; expected a solution, a folder or a file")
