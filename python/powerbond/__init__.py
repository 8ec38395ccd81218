"""Co-simulation that follows the energy through the coupling.

    import powerbond as pb

    sol = pb.run("system.toml", stop=10.0, tolerance=1e-4)
    sol["chassis.velocity"], sol.time, sol.verdict

    with pb.open("system.toml", stop=10.0) as sim:
        while sim.step():
            sim["wheel.road"] = road(sim.time)

Times are in seconds; variables have names, `subsystem.variable`.
"""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

from . import _names, _powerbond
from ._answer import Answer
from ._fmpy import ModelDescription, read_model_description, simulate_fmu
from ._powerbond import PowerbondError, Saved, __version__
from ._run import STOP, run
from ._simulation import Simulation, open
from ._solution import Solution, Verdict
from ._system import Port, System, entering, leaving
from ._table import Table
from ._tools import Check, Comparison, Tuning, check, compare, inspect, tune
from .sweep import Sweep, evaluate, merge, sweep

__all__ = [
    "Answer", "Check", "Comparison", "ModelDescription", "Port", "PowerbondError", "STOP", "Saved", "Simulation", "Solution", "System",
    "Table", "Tuning", "Verdict", "check", "compare", "entering", "inspect", "leaving", "open", "read_model_description", "run",
    "simulate_fmu", "tune", "Sweep", "evaluate", "merge", "sweep", "__version__",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name):
        known = "" if name.startswith("_") else _names.hint(name, __all__)
        raise AttributeError(f"`powerbond` has no `{name}`.{known}")

    def __dir__():
        return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


# Workers are this interpreter with the module, and end with the program.
_powerbond.prepare(sys.executable, _powerbond.__file__)
atexit.register(_powerbond.end_workers)
