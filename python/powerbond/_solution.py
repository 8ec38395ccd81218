"""What a run came to: what it recorded, how far it can be trusted, where the energy went."""

from __future__ import annotations

import json
import os
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from . import _html, _powerbond
from ._answer import Answer
from ._names import hint, path as _path, suggesting, texts
from ._powerbond import PowerbondError
from ._progress import in_notebook
from ._table import Column, Table, arrays, interpolated, mapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(Answer):
    """Whether a run can be trusted: `word`, `text`, `error`, `reasons`, `advice`."""

    def __str__(self) -> str:
        return f"{self['word']}: {self['text']}" if self.get("text") else str(self["word"])

    def __repr__(self) -> str:
        return f"<Verdict {self}>"


class Solution(Table):
    """What a run recorded, a column per variable, and how far it can be trusted.

    `sol["chassis.velocity"]` is a column, `sol.time` the times of the rows, `sol(3.2)` all values at a time.
    """

    #: Why the run failed; None if it did not.
    error: PowerbondError | None
    #: Limits of the user that it exceeds, in words.
    exceeded: list[str]
    #: Powers, residuals and step sizes over time.
    energy: Table

    def __init__(self, told: tuple[Any, ...]) -> None:
        summary, self.error, self.exceeded, results, energy, *descriptor = told
        if descriptor:
            results, energy = mapped([results, energy], descriptor[0])
        super().__init__(*results)
        self.energy = Table(*energy)
        self._summary = summary

    @classmethod
    def _of_failure(cls, error: PowerbondError) -> Solution:
        """Of a run whose process is gone: the rows that were seen until then, without units."""
        summary = {
            "outcome": "failed", "error": str(error), "verdict": {"word": "not judged", "text": "", "reasons": [], "advice": []},
            "bonds": [], "warnings": [],
        }  # fmt: skip
        nothing = (["time"], ["s"], [np.empty(0)])
        names, columns = error.__dict__.pop("rows", ((), ()))
        rows = (list(names), ["s", *[""] * (len(names) - 1)], list(columns)) if columns else nothing
        return cls((json.dumps(summary), error, [], rows, nothing))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Everything that `summary.json` says of a run."""
        return cast(dict[str, Any], json.loads(self._summary))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the run can be trusted: `word`, `text`, `error`, `reasons`, `advice`."""
        told = self.summary["verdict"]
        # What the command would be told to do has other names here.
        said = _powerbond.in_python
        reasons = [reason | {"advice": said(reason["advice"])} if reason.get("advice") else reason for reason in told["reasons"]]
        return Verdict(told | {"reasons": reasons, "advice": [said(line) for line in told["advice"]]})

    @property
    def bonds(self) -> list[dict[str, Any]]:
        """Energy through every power bond, in J."""
        return cast(list[dict[str, Any]], self.summary["bonds"])

    @cached_property
    def stats(self) -> Answer:
        """What the run took: `steps`, `step_size`, `seconds`, `engine_seconds`, `subsystems`, `loops`."""
        keys = ("steps", "step_size", "seconds", "engine_seconds", "subsystems", "loops")
        return Answer({key: self.summary[key] for key in keys if key in self.summary})

    @property
    def warnings(self) -> list[str]:
        """What should be known of the run."""
        return [_powerbond.in_python(line) for line in self.summary["warnings"]]

    @overload
    def __call__(self, time: float) -> dict[str, float]: ...
    @overload
    def __call__(self, time: Column | list[float]) -> dict[str, Column]: ...
    def __call__(self, time: Any) -> Any:
        """All values at a time, or at several: straight lines between rows, and the value after a discontinuity."""
        return interpolated(self, arrays(time))

    def _names_like(self, patterns: tuple[str, ...]) -> list[str]:
        """The variables that fit patterns with `*` and `?`, in the order of the columns."""
        names = [name for name in self if name != "time"]
        if not patterns:
            return names
        chosen: dict[str, None] = {}
        for pattern in texts("patterns", patterns):
            found = _powerbond.matching(pattern, names)
            if not found:
                raise KeyError(f"no recorded variable fits `{pattern}`.{hint(pattern, names)}")
            chosen.update(dict.fromkeys(found))
        return [name for name in names if name in chosen]

    @suggesting
    def plot(self, *patterns: str, figsize: tuple[float, float] | None = None) -> Figure:
        """Draws variables over time with matplotlib, one below the other by their units: `sol.plot("chassis.*")`."""
        names = self._names_like(patterns)
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("`plot` needs matplotlib: pip install matplotlib") from error
        by_unit: dict[str, list[str]] = {}
        for name in names:
            by_unit.setdefault(self.units.get(name, ""), []).append(name)
        rows = max(len(by_unit), 1)
        size = figsize or (8.0, 1.0 + 2.0 * rows)
        figure, axes = pyplot.subplots(rows, 1, sharex=True, squeeze=False, figsize=size, layout="constrained")
        for axis, (unit, together) in zip(axes[:, 0], by_unit.items()):
            for name in together:
                axis.plot(self.time, self[name], label=name)
            axis.set_ylabel(unit or "–")
            axis.legend(loc="best", fontsize="small")
            axis.grid(alpha=0.3)
        axes[-1, 0].set_xlabel("time / s")
        if in_notebook():
            # It shows what a cell returns: the figure would be there twice.
            pyplot.close(figure)
        return figure

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `results.csv`, `energy.csv` and `summary.json` to a folder, for `powerbond report` and `powerbond compare`."""
        if "schema" not in self.summary:
            raise PowerbondError(
                "the process of this run died before it could say what it came to: there is no summary, and no report. Recorded rows are "
                "in `sol.to_csv(…)`; `powerbond run` keeps all that there is of such a run in its folder"
            )
        os.makedirs(_path("folder", folder), exist_ok=True)
        self.to_csv(os.path.join(folder, "results.csv"))
        self.energy.to_csv(os.path.join(folder, "energy.csv"))
        summary = self.summary | {"files": {"results": "results.csv", "energy": "energy.csv"}}
        with open(os.path.join(folder, "summary.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2, ensure_ascii=False)

    @suggesting
    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the report: one HTML page with plots, verdict and ledger. A report there is replaced, other files with `overwrite`."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            _powerbond.report(folder, _path("path", path), overwrite)

    def __repr__(self) -> str:
        word, outcome = self.verdict["word"], self.summary["outcome"]
        return f"<Solution: {outcome}, {word}, {len(self.time)} rows of {len(self) - 1} variables>"

    def _repr_html_(self) -> str:
        return _html.solution(self)
