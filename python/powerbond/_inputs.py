"""What inputs follow: columns of data frames, dictionaries, structured arrays, or a CSV file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._names import hint, shown

Column = NDArray[np.float64]
#: Names, times in s and values.
Samples = list[tuple[str, Column, Column]]

WHAT = (
    "a CSV file, a data frame with a column or an index of times, a structured array whose first field is the time, or a "
    "dictionary of numbers, of pairs (times, values), of series over times, or of columns beside `time`"
)


def read(inputs: object) -> tuple[str | None, Samples]:
    """A CSV file, or samples."""
    if inputs is None:
        return None, []
    if isinstance(inputs, (str, os.PathLike)):
        return os.fsdecode(inputs), []
    if isinstance(inputs, np.ndarray) and inputs.dtype.names:
        first, *names = inputs.dtype.names
        flat = np.atleast_1d(inputs)
        return None, _columns(flat[first], {name: flat[name] for name in names})
    if isinstance(inputs, Mapping):
        return None, _mapping(inputs)
    if type(inputs).__name__ == "LazyFrame":
        raise TypeError(f"`inputs` is a {type(inputs).__name__}, which has no values yet; expected a data frame: `frame.collect()`")
    if _is_series(inputs) and isinstance(getattr(inputs, "name", None), str):
        return None, _columns(_index(inputs, "`inputs`"), {inputs.name: inputs})  # type: ignore[attr-defined]
    columns = getattr(inputs, "column_names", None)
    if columns is None:
        columns = getattr(inputs, "columns", None)
    if columns is None or not hasattr(inputs, "__getitem__"):
        raise TypeError(f"`inputs` is {shown(inputs)}; expected {WHAT}")
    return None, _frame(inputs, list(columns))


def _frame(frame: Any, names: list[Any]) -> Samples:
    """Of pandas, polars or pyarrow."""
    for n, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"`inputs` has the column {shown(name)}; expected names of inputs, such as `wheel.road`")
        if name in names[:n]:
            raise ValueError(f"`inputs` has two columns `{name}`")
    if "time" in names:
        time = frame["time"]
    elif _has_index(frame):
        time = _index(frame, "`inputs`")
    else:
        raise ValueError(f"`inputs` has no column `time`.{hint('time', names)}")
    return _columns(time, {name: frame[name] for name in names if name != "time"})


def _has_index(given: object) -> bool:
    """As what pandas makes has."""
    return hasattr(given, "index") and not callable(given.index)


def _is_series(given: object) -> bool:
    """Of pandas: values over an index."""
    return _has_index(given) and getattr(given, "ndim", None) == 1


def _index(given: Any, what: str) -> Any:
    """The times of a frame or a series of pandas. Those that pandas makes up by itself are none."""
    index = given.index
    if type(index).__name__ == "RangeIndex" and index.name is None and (index.start, index.step) == (0, 1):
        raise ValueError(
            f"{what} has no times: its index counts rows. Name the column of times `time`, or set them: `frame.index = times`"
        )
    return index


def _mapping(inputs: Mapping[Any, object]) -> Samples:
    time = inputs.get("time")
    samples: Samples = []
    for name, given in inputs.items():
        if name == "time":
            continue
        if not isinstance(name, str):
            raise TypeError(f"`inputs` has the key {shown(name)}; expected names of inputs")
        what = f"inputs[{name!r}]"
        if callable(given):
            raise TypeError(
                f"`{what}` is a function; expected numbers. A function of time is set while the run is stepped (`pb.open`), or is "
                "a subsystem in Python (`pb.System().python`)"
            )
        if _is_series(given) and time is None:
            samples += _columns(_index(given, f"`{what}`"), {name: given})
        elif isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) == 1:
            samples += _columns(given[0], {name: given[1]})
        elif np.ndim(given) == 0:  # type: ignore[arg-type]
            samples.append((name, np.zeros(1), _column(what, given).reshape(1)))
        elif time is not None:
            samples += _columns(time, {name: given})
        else:
            raise ValueError(f"`{what}` has values without times: give a pair (times, values), or add the key `time`")
    return samples


def _columns(time: object, columns: Mapping[str, object]) -> Samples:
    times = _column("inputs: times", _in_seconds(time))
    if not times.size:
        raise ValueError("`inputs` has no rows")
    if (np.diff(times) < 0.0).any():
        raise ValueError("`inputs`: times decrease; two of the same time are a discontinuity")
    samples: Samples = []
    for name, values in columns.items():
        column = _column(f"inputs[{name!r}]", values)
        if column.shape != times.shape:
            raise ValueError(f"`inputs[{name!r}]` has {column.size} values at {times.size} times")
        samples.append((name, times, column))
    return samples


def _in_seconds(time: Any) -> Any:
    """Durations as seconds; other times as they are. Dates have no beginning from which to count."""
    times = np.asarray(time)
    if times.dtype.kind == "m":
        return times / np.timedelta64(1, "s")
    if times.dtype.kind == "M":
        raise TypeError("`inputs` has dates; expected seconds, or durations such as `frame.index - frame.index[0]`")
    return times


def _column(name: str, values: object) -> Column:
    try:
        if values is None:
            raise TypeError("None")
        column = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"`{name}`: expected numbers ({error})") from None
    if column.ndim > 1:
        raise ValueError(f"`{name}` has {column.ndim} dimensions; expected one number per time")
    if not np.isfinite(column).all():
        raise ValueError(f"`{name}` has values that are not finite")
    return column
