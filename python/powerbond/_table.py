"""Columns over time, as NumPy arrays and for every library that reads Arrow."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _powerbond
from ._names import hint, path as _path, shown, suggesting

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Column = NDArray[np.float64]
Limits = Literal["right", "both"]
#: Names that are shown of a table.
LISTED = 6


class Table(Mapping[str, Column]):
    """A column per variable. Arrow reads the columns where they are."""

    #: Unit of every column that has one.
    units: dict[str, str]

    def __init__(self, names: list[str], units: list[str], columns: list[Column]) -> None:
        self._columns = dict(zip(names, columns))
        self.units = {name: unit for name, unit in zip(names, units) if unit}

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"`{name}` is not recorded.{hint(name, self._columns)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        names = [name for name in self._columns if name != "time"]
        listed = ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else "")
        return f"<{type(self).__name__}: {len(self.time) if 'time' in self else 0} rows of {len(names)} variables: {listed}>"

    def __eq__(self, other: object) -> bool:
        """Whether they have the same columns, bit by bit but for zeros."""
        if not isinstance(other, Table):
            return NotImplemented
        return list(self) == list(other) and all(np.array_equal(self[name], other[name], equal_nan=True) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._columns)

    @property
    def time(self) -> Column:
        """Times of the rows, in s. At a discontinuity there are two rows, the limits from the left and from the right."""
        return self._columns["time"]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows for pandas, polars, pyarrow, DuckDB and others, without copies; fields have their unit as metadata."""
        names = list(self._columns)
        return _powerbond.arrow_stream(names, [self.units.get(name, "") for name in names], list(self._columns.values()))

    @suggesting
    def to_arrow(self, *, limits: Limits = "right") -> pa.Table:
        """A table of pyarrow. At a discontinuity: the value after it, or both."""
        import pyarrow as pa

        return pa.table(self._limited(limits))

    @suggesting
    def to_pandas(self, *, limits: Limits = "right") -> pd.DataFrame:
        """A data frame of pandas over `time`. At a discontinuity: the value after it, or both."""
        import pandas as pd

        table = self._limited(limits)
        columns = {name: column for name, column in table._columns.items() if name != "time"}
        return pd.DataFrame(columns, index=pd.Index(table.time, name="time"), copy=False)

    @suggesting
    def to_polars(self, *, limits: Limits = "right") -> pl.DataFrame:
        """A data frame of polars. At a discontinuity: the value after it, or both."""
        import polars as pl

        return pl.DataFrame(_Stream(self._limited(limits)))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes a CSV file as the command does: every digit, a header, `time` first. A file there is replaced."""
        _powerbond.write_csv(_path("path", path), list(self._columns), list(self._columns.values()))

    def _limited(self, limits: Limits) -> Table:
        """With one row per time, if that is wanted; itself where there is no other row."""
        if limits not in ("right", "both"):
            raise ValueError(f"`limits` is {shown(limits)}; expected 'right' or 'both'")
        time = self._columns.get("time")
        if limits == "both" or time is None or time.size < 2:
            return self
        last = np.append(time[1:] != time[:-1], True)
        if last.all():
            return self
        table = Table([], [], [])
        table._columns = {name: column[last] for name, column in self._columns.items()}
        table.units = self.units
        return table


class _Stream:
    """A table that is nothing but its stream: libraries that know dictionaries do not take it for one."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


#: Names, units and rows of a table whose columns are in a file.
Head = tuple[list[str], list[str], int]


def mapped(heads: list[Head], descriptor: int | None) -> list[tuple[list[str], list[str], list[Column]]]:
    """The tables that follow one another in a file, where they are; the descriptor is closed."""
    memory: Any = b""
    if descriptor is not None:
        size = 8 * sum(len(names) * rows for names, _, rows in heads)
        try:
            # Private: whoever writes into a column changes it for himself.
            memory = mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
        finally:
            os.close(descriptor)
    tables, place = [], 0
    for names, units, rows in heads:
        columns = []
        for _ in names:
            columns.append(np.frombuffer(memory, np.float64, rows, place) if rows else np.empty(0))
            place += 8 * rows
        tables.append((names, units, columns))
    return tables


def arrays(times: object) -> Column:
    """Times as an array."""
    try:
        array = np.asarray(times)
        if array.dtype.kind not in "iuf" and array.size:
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise TypeError(f"`time` is {shown(times)}; expected a number of seconds, or an array of them") from None


def interpolated(table: Table, times: Column) -> dict[str, Any]:
    """Values at times: straight lines between rows, and the value after a discontinuity."""
    time = table.time
    if not time.size or (times.size and not (times.min() >= time[0] and times.max() <= time[-1])):
        span = f"from {time[0]} s to {time[-1]} s" if time.size else "and there are no rows"
        raise ValueError(f"a time is outside of the run, {span}")
    left = np.clip(np.searchsorted(time, times, side="right") - 1, 0, time.size - 1)
    right = np.minimum(left + 1, time.size - 1)
    width = time[right] - time[left]
    share = np.divide(times - time[left], width, out=np.zeros_like(times), where=width > 0.0)
    values = {}
    for name, column in table.items():
        if name != "time":
            at = np.where(share > 0.0, column[left] + share * (column[right] - column[left]), column[left])
            values[name] = at if times.ndim else float(at)
    return values
