"""Many runs of one system: here, on a Dask cluster, or wherever an executor of `concurrent.futures` works.

    result = pb.sweep("plan.toml", client=Client(cluster))
    Y = pb.evaluate("plan.toml", X)

A run is a pure function of the system with its files, its parameters and its method: results have the same bits whoever did the runs.
"""

from __future__ import annotations

import atexit
import importlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _names, _plan, _powerbond, _progress, _toml
from ._html import figure
from ._plan import PathLike, Source
from ._powerbond import Plan, PowerbondError
from ._system import System

__all__ = ["Sweep", "evaluate", "merge", "sweep"]

atexit.register(_powerbond.end_sweep_workers)


class Sweep(Mapping[str, NDArray[Any]]):
    """The dataset of a sweep: a column per parameter, result and fact, in the order of runs. Cells that have nothing are NaN or None."""

    #: Its folder.
    folder: Path

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(_names.path("folder", folder))
        self._columns = {name: _array(cells) for name, cells in _powerbond.sweep_columns(os.fspath(folder))}

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"the sweep has no column `{name}`.{_names.hint(name, self._columns)}") from None

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {word}" for word, n in self.totals["status"].items())
        return f"<Sweep {self.totals['name']!r}: {counts or 'no runs'}; {self.dataset}>"

    @property
    def dataset(self) -> str:
        """The Parquet files as a pattern, for polars, DuckDB and others."""
        return str(self.folder / "runs" / "part-*.parquet")

    @property
    def totals(self) -> dict[str, Any]:
        """How many runs ended how, and the spread of every result."""
        return dict(json.loads(_powerbond.sweep_totals(os.fspath(self.folder))))

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which runs came to their end."""
        return np.asarray(self["status"] == "ok", dtype=bool)

    def to_pandas(self) -> Any:
        """The dataset as a data frame of pandas."""
        import pandas as pd

        return pd.DataFrame(dict(self))

    def to_polars(self) -> Any:
        """The dataset as a data frame of polars."""
        import polars as pl

        return pl.read_parquet(self.dataset).sort("run")

    def _repr_html_(self) -> str:
        """What a notebook shows: how runs ended, the spread of results, the first failures, and where the report is."""
        totals = self.totals
        counts = ", ".join(f"{n} {escape(word)}" for word, n in totals["status"].items()) or "no runs"
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(o['name'])}</td>"
            + "".join(f"<td>{figure(o[key])}</td>" for key in ("min", "median", "mean", "max"))
            + "</tr>"
            for o in totals["outputs"]
        )
        head = "<tr><th style='text-align:left'>output</th><th>min</th><th>median</th><th>mean</th><th>max</th></tr>"
        failures = "".join(
            f"<div style='color:#cf222e'>run {f['run']} {escape(f['status'])}: {escape(_powerbond.in_python(f['message']))}</div>" for f in totals["failures"]
        )
        return (
            f'<div class="powerbond"><div><b>{escape(totals["name"])}</b>: {totals["runs"]} of {totals["planned"]} runs: {counts}</div>'
            f"<table>{head}{rows}</table>{failures}<div><code>{escape(str(self.folder / 'report.html'))}</code></div></div>"
        )

    def report(self, *, overwrite: bool = False) -> Path:
        """Writes the report, an HTML page, and returns its path."""
        return Path(_powerbond.sweep_report(os.fspath(self.folder), overwrite))


def _array(cells: list[Any]) -> NDArray[Any]:
    if any(isinstance(cell, str) for cell in cells):
        return np.array(cells, dtype=object)
    if cells and all(isinstance(cell, bool) for cell in cells):
        return np.array(cells, dtype=np.bool_)
    if any(isinstance(cell, bool) for cell in cells):
        return np.array(cells, dtype=object)
    if cells and all(isinstance(cell, int) for cell in cells):
        return np.array(cells, dtype=np.int64)
    if all(cell is None or isinstance(cell, (int, float)) for cell in cells) and any(cell is not None for cell in cells):
        return np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
    return np.array(cells, dtype=object)


@_names.suggesting
def sweep(
    plan: PathLike | Mapping[str, Any],
    *,
    output_dir: PathLike | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    client: Any = None,
    executor: Executor | None = None,
    shard: tuple[int, int] | None = None,
    chunk: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Does the runs of a plan that are missing in a folder, and returns the dataset there.

    plan: the path of a plan, or a dictionary with its keys. There `system` may be a `pb.System`, `parameters` a data frame with a row
        for each run, and `cases` a dictionary; paths are relative to the current folder.
    output_dir: the folder (default `results/<name of the plan>`).
    resume: do what is missing and what failed. What was done is kept whatever happens.
    overwrite: replace a sweep that is there.
    workers: processes of this machine (default: one per core). Runs of systems with subsystems in Python are done by this process,
        one after the other, unless there is a `client` or an `executor`.
    client: a client of Dask, whose workers do the runs.
    executor: any executor of `concurrent.futures` (processes, mpi4py, Ray).
    shard: `(i, n)` does the i-th of n parts, from 1, into a folder that all parts may share; `merge` follows.
    chunk: how many runs a task of `client` or `executor` has. They must see the files of the system at the same paths.
    progress: show a bar; by default in terminals and notebooks, for sweeps that take longer than half a second.
    """
    source, part = _plan.source(plan), _shard(shard)
    several, at_once = _count("workers", workers), _count("chunk", chunk)
    resumes, replaces = _names.truth("resume", resume), _names.truth("overwrite", overwrite)
    _engine(client, executor)
    checked = _checked(source)
    folder = Path(_names.path("output_dir", output_dir)) if output_dir is not None else Path("results") / checked.name
    goes_on = replaces or resumes or part is not None
    if source.text is not None and (goes_on or not (folder / "sweep.json").is_file()):
        source, checked = _at_home(source, checked, folder, replaces)
    dataset = _powerbond.Dataset(checked, os.fspath(folder), resumes, replaces, part)
    pending = dataset.pending
    bar = _progress.bar(progress, _progress.runs)
    show = None if bar is None else _showing(bar, len(pending))
    complete = False
    try:
        if client is None and executor is None:
            checked.run_into(dataset, pending, several or _cores(), show)
        else:
            done = failed = 0
            series = os.fspath(folder.absolute())
            for rows in _elsewhere(checked, source, pending, None, series, client, executor, at_once):
                dataset.add(rows)
                done += len(rows)
                failed += sum(checked.outcome(row)[1] != "ok" for row in rows)
                if show:
                    show(done, failed)
        complete = True
    finally:
        if bar is not None:
            bar.close()
        dataset.close(complete and part is None)
    if part is None:
        _powerbond.sweep_report(os.fspath(folder), replaces)
    return Sweep(folder)


def _checked(source: Source) -> Plan:
    with source.explaining():
        return Plan.read(source.file, source.text, False, source.members)


def _at_home(source: Source, plan: Plan, folder: Path, replaces: bool) -> tuple[Source, Plan]:
    """What was made in Python are files of the sweep: whoever continues it, or wants the report of a run, finds them there."""
    record = folder / "sweep.json"
    if record.is_file() and not replaces:
        base = json.loads(record.read_text(encoding="utf-8")).get("base")
        if base != plan.base:
            raise PowerbondError(
                f"the sweep in {folder} is of another system: the system, a file that it reads or `run` has changed since. Choose "
                "another `output_dir`"
            )
    folder.mkdir(parents=True, exist_ok=True)
    there = source.in_folder(os.fspath(folder.absolute()))
    with there.explaining():
        return there, Plan.read(there.file, there.text, True, there.members)


def _showing(bar: _progress.Bar, total: int) -> Callable[[int, int], None]:
    def show(done: int, failed: int) -> None:
        bar(0.0, float(total), float(done), failed)

    return show


def _shard(given: object) -> tuple[int, int] | None:
    if given is None:
        return None
    match given:
        case (int(i), int(n)) if 1 <= i <= n:
            return i, n
    raise ValueError(f"`shard` is {_names.shown(given)}; expected (i, n) with i from 1 to n, such as (3, 16)")


def _count(name: str, given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise TypeError(f"`{name}` is {_names.shown(given)}; expected an integer above 0")
    return int(given)


def _engine(client: Any, executor: Any) -> None:
    if client is not None and executor is not None:
        raise ValueError("runs are done by a `client` or by an `executor`, not by both")
    for name, given in (("client", client), ("executor", executor)):
        if given is not None and not callable(getattr(given, "submit", None)):
            what = "a Client of Dask" if name == "client" else "an executor of concurrent.futures"
            raise TypeError(f"`{name}` is {_names.shown(given)}; expected {what}")


@_names.suggesting
def merge(folders: PathLike | Sequence[PathLike], output_dir: PathLike | None = None, *, overwrite: bool = False) -> Sweep:
    """Merges the shards of a sweep: of one folder that all wrote to, or of several into `output_dir`."""
    several = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)
    if not several:
        raise ValueError("`folders` is empty; expected the folders of shards")
    if output_dir is None and len(several) != 1:
        raise ValueError("several folders are merged into another one: give it as `output_dir`")
    target = several[0] if output_dir is None else output_dir
    _powerbond.sweep_merge([os.fspath(folder) for folder in several], os.fspath(target), overwrite)
    _powerbond.sweep_report(os.fspath(target), overwrite)
    return Sweep(target)


@_names.suggesting
def evaluate(
    plan_or_system: PathLike | Mapping[str, Any] | System,
    X: ArrayLike,
    *,
    parameters: Sequence[str] | None = None,
    outputs: Mapping[str, str] | Sequence[str] | None = None,
    run: Mapping[str, Any] | None = None,
    on_error: Literal["raise", "nan"] = "raise",
    workers: int | None = None,
    client: Any = None,
    executor: Executor | None = None,
    chunk: int | None = None,
) -> NDArray[np.float64]:
    """Runs a system for each row of `X` and returns its results, a row each: what optimisers and uncertainty tools call.

    The columns of `X` are the parameters of a plan, in its order, and those of the result its outputs. Of a system, `parameters` are names
    and `outputs` expressions, such as `{"peak": "max(chassis.acceleration)"}`; `run` is what a plan has in `[run]`, such as
    `{"stop": 4.0}`. The columns of a data frame are found by their names, and so are the values of a row of one. A single point, `X`
    with one dimension, has a result with one. A run that fails, or that has a value which is not finite, raises, or gives NaN with
    `on_error="nan"`. `workers`, `client`, `executor` and `chunk` are those of `pb.sweep`.
    """
    if on_error not in ("raise", "nan"):
        raise ValueError(f"`on_error` is {_names.shown(on_error)}; expected 'raise' or 'nan'")
    several, at_once = _count("workers", workers), _count("chunk", chunk)
    _engine(client, executor)
    columns = _named(X)
    if columns is not None and parameters is None and outputs is not None:
        parameters = columns
    try:
        values = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"`X` is {_names.shown(X)}; expected rows of numbers") from None
    rows = np.atleast_2d(values)
    if rows.ndim != 2:
        raise ValueError(f"`X` has {rows.ndim} dimensions; expected rows of parameters")
    finite = np.isfinite(rows).all(axis=1)
    if on_error == "raise" and not finite.all():
        raise ValueError("`X` has values that are not finite")
    if not rows.shape[0]:
        raise ValueError("`X` has no rows")
    if columns is not None and parameters is not None:
        rows = _by_name(rows, columns, list(parameters))
    some = rows[finite][0] if finite.any() else np.zeros(rows.shape[1])
    source, plan, doubt = _planned(plan_or_system, parameters, outputs, run, some.tolist(), on_error == "nan")
    if columns is not None and parameters is None:
        rows = _by_name(rows, columns, plan.parameters)
    if rows.shape[1] != len(plan.parameters):
        expected = ", ".join(plan.parameters)
        raise ValueError(f"`X` has {rows.shape[1]} columns; expected {len(plan.parameters)}: {expected}")
    Y = np.full((rows.shape[0], len(plan.outputs)), math.nan)
    every = [int(row) for row in np.flatnonzero(finite)]
    if not every:
        return Y if values.ndim > 1 else Y[0]
    refused = 0
    if client is None and executor is None:
        pieces: Iterator[list[str]] = iter([plan.with_rows(rows).run(every, several or _cores(), None, None)])
    else:
        pieces = _elsewhere(plan, source, every, rows, None, client, executor, at_once)
    for row in itertools.chain.from_iterable(pieces):
        number, status, message, results = plan.outcome(row)
        if status != "ok" and on_error == "raise":
            point = ", ".join(f"{name}={x!r}" for name, x in zip(plan.parameters, rows[number - 1].tolist()))
            error = PowerbondError(f"{_powerbond.in_python(message)} (the run with {point})")
            error.exit_code = CODES.get(status, 1)
            raise error
        refused += status == "refused"
        Y[number - 1] = results
    if doubt is not None and refused == len(every):
        # No values are right: most likely a name is wrong.
        raise doubt
    return Y if values.ndim > 1 else Y[0]


def _named(X: Any) -> list[str] | None:
    """The names of the columns of a data frame, or of the values of a row of one."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    index = getattr(X, "index", None)
    if getattr(X, "ndim", None) == 1 and index is not None and not callable(index) and all(isinstance(name, str) for name in index):
        return list(index)
    return None


#: Exit codes of the command, by how a run ended.
CODES = {"refused": 3, "failed": 4, "crashed": 5, "timeout": 6, "inaccurate": 7, "not written": 8, "lost": 9}


def _by_name(rows: NDArray[np.float64], columns: list[str], names: list[str]) -> NDArray[np.float64]:
    """The columns of a data frame in the order of the parameters."""
    for name in columns:
        if name not in names:
            raise ValueError(f"`X` has a column `{name}`, which is no parameter.{_names.hint(name, names)}")
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"`X` lacks a column `{missing[0]}`")
    return np.ascontiguousarray(rows[:, [columns.index(name) for name in names]])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


#: Plans that were checked, by what they were made of.
_CHECKED: dict[tuple[Any, ...], tuple[Source, Plan]] = {}
#: Of them, as many are kept.
_KEPT = 16


def _planned(
    given: PathLike | Mapping[str, Any] | System,
    parameters: Sequence[str] | None,
    outputs: Mapping[str, str] | Sequence[str] | None,
    run: Mapping[str, Any] | None,
    first: list[float],
    lenient: bool,
) -> tuple[Source, Plan, PowerbondError | None]:
    """A plan that was checked, for values like the `first` ones; the same one again if nothing has changed. If `lenient`, values that are
    refused are no mistake of a plan; the error comes with it."""
    if isinstance(given, Mapping) or (parameters is None and outputs is None and run is None and not isinstance(given, System)):
        if parameters is not None or outputs is not None or run is not None:
            raise ValueError("a plan has `parameters`, `outputs` and `run` itself; give them there")
        if isinstance(given, (str, os.PathLike)) and os.path.isdir(given):
            raise ValueError(f"{os.fsdecode(given)} is a system: give `parameters` and `outputs`, or a plan, which has them")
        source = _plan.source(given)
        text = source.text
        if text is None and os.path.isfile(source.file):
            with open(source.file, encoding="utf-8", errors="replace") as file:
                text = file.read()
        key: tuple[Any, ...] = (*_stamp(source.file), text)
        if not _is_kept(key):
            _keep(key, source)
        return *_CHECKED[key], None
    if parameters is None or outputs is None:
        raise ValueError("of a system, both `parameters` and `outputs` are needed; a plan has them itself")
    names = _names.texts("parameters", parameters)
    if len(first) != len(names):
        raise ValueError(f"`X` has {len(first)} columns; expected {len(names)}: {', '.join(names)}")
    path, written, members = _plan.system_of("plan_or_system", given)
    named = {"outputs": outputs, "run": run or {}}
    key = (*_stamp(path), *names, repr(named))
    if not _is_kept(key):
        plan = _plan.source({"name": "evaluate", "system": given, "parameters": dict(zip(names, first)), **named})
        try:
            _keep(key, plan)
        except PowerbondError as error:
            if not lenient or error.exit_code != 3:
                raise
            with plan.explaining():
                return plan, Plan.read(plan.file, plan.text, True, plan.members), error
    return *_CHECKED[key], None


def _stamp(path: str) -> tuple[Any, ...]:
    """How a file looks from outside."""
    try:
        about = os.stat(path)
    except OSError:
        return (os.path.abspath(path), None, None)
    return (os.path.abspath(path), about.st_mtime_ns, about.st_size)


def _is_kept(key: tuple[Any, ...]) -> bool:
    """Whether a plan is known, and its files are still the same."""
    return key in _CHECKED and _CHECKED[key][1].is_current


def _keep(key: tuple[Any, ...], source: Source) -> None:
    plan = _checked(source)
    while len(_CHECKED) >= _KEPT and key not in _CHECKED:
        _CHECKED.pop(next(iter(_CHECKED)))
    _CHECKED[key] = source, plan


#: What somebody else needs of a plan: its file and text, the hash of its system, the file and the text of a system that was made in
#: Python, and members.
_Common = tuple[str, str, str, tuple[str, str] | None, list[Any]]


def _elsewhere(
    plan: Plan,
    source: Source,
    runs: list[int],
    rows: NDArray[np.float64] | None,
    folder: str | None,
    client: Any,
    executor: Executor | None,
    chunk: int | None,
) -> Iterator[list[str]]:
    """Rows of runs that somebody else does, chunk by chunk, as they end."""
    size = chunk or max(1, min(100, math.ceil(len(runs) / 64)))
    pieces = [runs[k : k + size] for k in range(0, len(runs), size)]
    common: _Common = (os.fspath(plan.file), plan.text, plan.base, source.written, source.members)

    def arguments(piece: list[int]) -> tuple[Any, ...]:
        return (common, None if rows is None else rows[piece], piece, folder)

    if client is not None:
        distributed: Any = importlib.import_module("distributed")
        # A task whose worker dies goes to another one.
        futures = [client.submit(_chunk, *arguments(piece), pure=False, retries=3) for piece in pieces]
        for future in distributed.as_completed(futures):
            yield future.result()
            future.release()
        return
    assert executor is not None
    waiting, ahead = iter(pieces), set(executor.submit(_chunk, *arguments(piece)) for piece in pieces[:MOST_AHEAD])
    next(itertools.islice(waiting, len(ahead), len(ahead)), None)
    try:
        while ahead:
            ended, ahead = wait(ahead, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
                ahead |= {executor.submit(_chunk, *arguments(piece)) for piece in itertools.islice(waiting, 1)}
    finally:
        # After Ctrl-C, or a failure, nobody waits for the rest.
        for future in ahead:
            future.cancel()


#: Chunks that an executor is given before the first ones end.
MOST_AHEAD = 256


#: Plans that this process has read for others.
_READ: dict[tuple[str, str, str], Plan] = {}


def _read(common: _Common) -> Plan:
    file, text, base, written, members = common
    key = (file, text, base)
    if key not in _READ or not _READ[key].is_current:
        # Here the system that was made in Python may be no file yet.
        local = text if written is None else text.replace(_toml.string(written[0]), _toml.string(_plan.kept(written[1])))
        plan = Plan.read(file, local, True, members)
        if plan.base != base:
            raise PowerbondError(f"the files of the system of {file} are not the same here as where the sweep began")
        while len(_READ) >= _KEPT and key not in _READ:
            _READ.pop(next(iter(_READ)))
        _READ[key] = plan
    return _READ[key]


def _chunk(common: _Common, rows: Any, runs: list[int], folder: str | None) -> list[str]:
    """Does some runs, in whatever process this is. Runs keep their numbers."""
    plan = _read(common)
    if rows is None:
        return plan.run(runs, 1, folder, None)
    ended = plan.with_rows(np.ascontiguousarray(rows)).run(list(range(len(runs))), 1, folder, None)
    return [_renumbered(row, runs) for row in ended]


def _renumbered(row: str, runs: list[int]) -> str:
    """The row with the number of its run, from 1, for its place among `runs`."""
    cells = json.loads(row)
    cells[0] = {"i": runs[cells[0]["i"] - 1] + 1}
    return json.dumps(cells)
