"""FMPy's functions for one FMU, with their names, arguments and results: a program that uses them needs another import only."""

from __future__ import annotations

import json
import math
import os
import re
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _names, _powerbond
from ._run import STOP, run
from ._system import System


class _Named:
    """Says what is not there on purpose, and what was meant."""

    def __getattr__(self, name: str) -> Any:
        if name == "valueReference":
            raise AttributeError("there are no value references: variables have names, everywhere")
        known = "" if name.startswith("_") else _names.hint(name, [n for n in dir(self) if not n.startswith("_")])
        raise AttributeError(f"`{type(self).__name__}` has no `{name}`.{known}")


@dataclass
class DefaultExperiment:
    """What an FMU suggests, in s."""

    startTime: float | None = None
    stopTime: float | None = None
    tolerance: float | None = None
    stepSize: float | None = None


@dataclass
class CoSimulation:
    """The interface for co-simulation."""

    modelIdentifier: str
    canHandleVariableCommunicationStepSize: bool = False
    fixedInternalStepSize: float | None = None
    canInterpolateInputs: bool = False
    maxOutputDerivativeOrder: int = 0
    canGetAndSetFMUState: bool = False
    canSerializeFMUState: bool = False
    providesDirectionalDerivatives: bool = False
    canBeInstantiatedOnlyOncePerProcess: bool = False
    hasEventMode: bool = False
    mightReturnEarlyFromDoStep: bool = False
    providesIntermediateUpdate: bool = False

    @property
    def canGetAndSetFMUstate(self) -> bool:
        """The name in FMI 2."""
        return self.canGetAndSetFMUState

    @property
    def canSerializeFMUstate(self) -> bool:
        """The name in FMI 2."""
        return self.canSerializeFMUState

    @property
    def providesDirectionalDerivative(self) -> bool:
        """The name in FMI 2."""
        return self.providesDirectionalDerivatives


@dataclass
class ModelExchange:
    """The interface for model exchange, which powerbond does not run."""


@dataclass
class Item:
    """An item of an enumeration."""

    name: str
    value: int
    description: str | None = None


@dataclass
class SimpleType:
    """A declared type: what variables of it have in common."""

    name: str
    type: str
    description: str | None = None
    quantity: str | None = None
    unit: str | None = None
    min: float | None = None
    max: float | None = None
    nominal: float | None = None
    #: Of an enumeration.
    items: list[Item] = field(default_factory=list)


@dataclass
class ModelVariable(_Named):
    """A variable, by its name."""

    name: str
    type: str
    causality: str
    variability: str
    initial: str | None = None
    declaredType: SimpleType | None = field(default=None, repr=False)
    quantity: str | None = None
    unit: str | None = None
    start: str | None = None
    nominal: float | None = None
    min: float | None = None
    max: float | None = None
    description: str | None = None
    #: The variable of which it is another name.
    alias: str | None = None
    #: Of an array: lengths, or names of structural parameters that have them.
    dimensions: list[int | str] = field(default_factory=list)


@dataclass
class Unknown:
    """A variable that is computed."""

    variable: ModelVariable


@dataclass
class ModelDescription(_Named):
    """What an FMU says about itself."""

    fmiVersion: str
    modelName: str
    guid: str = field(repr=False)
    description: str | None = field(repr=False)
    author: str | None = field(repr=False)
    version: str | None = field(repr=False)
    copyright: str | None = field(repr=False)
    license: str | None = field(repr=False)
    generationTool: str | None = field(repr=False)
    generationDateAndTime: str | None = field(repr=False)
    defaultExperiment: DefaultExperiment = field(repr=False)
    coSimulation: CoSimulation | None = field(repr=False)
    modelExchange: ModelExchange | None = field(repr=False)
    #: Folders of its binaries.
    platforms: list[str] = field(repr=False)
    typeDefinitions: list[SimpleType] = field(repr=False)
    modelVariables: list[ModelVariable] = field(repr=False)
    #: What its files have that the standard does not allow.
    findings: list[str] = field(repr=False)

    @property
    def fmiMajorVersion(self) -> int:
        """1, 2 or 3."""
        return int(self.fmiVersion.partition(".")[0])

    @property
    def outputs(self) -> list[Unknown]:
        """The outputs; `.variable` of each is the variable. Other names of an output are none of their own."""
        return [Unknown(v) for v in self.modelVariables if v.causality == "output" and v.alias is None]

    @property
    def modelIdentifier(self) -> str:
        """The name of the library for co-simulation."""
        if self.coSimulation is None:
            raise AttributeError(f"`{self.modelName}` has no co-simulation interface")
        return self.coSimulation.modelIdentifier

    @property
    def instantiationToken(self) -> str:
        """The name of `guid` in FMI 3."""
        return self.guid

    def __getitem__(self, name: str) -> ModelVariable:
        """The variable of this name."""
        for variable in self.modelVariables:
            if variable.name == name:
                return variable
        raise KeyError(f"unknown variable `{name}`.{_names.hint(name, [v.name for v in self.modelVariables])}")


def read_model_description(
    filename: str | os.PathLike[str],
    validate: bool = True,
    validate_variable_names: bool = False,
    validate_model_structure: bool = False,
) -> ModelDescription:
    """What an FMU says about itself: a file or its unpacked folder. Variables have names and no value references. What violates the
    standard and is understood all the same is in `findings`; what is not understood raises."""
    document = json.loads(_powerbond.inspected(_names.path("filename", filename)))
    experiment = document["default_experiment"]
    types = {t["name"]: _type(t, document["fmi"]) for t in document["types"]}
    return ModelDescription(
        fmiVersion=document["fmi"],
        modelName=document["model"],
        guid=document["token"],
        description=document["description"] or None,
        author=document["author"] or None,
        version=document["version"] or None,
        copyright=document["copyright"] or None,
        license=document["license"] or None,
        generationTool=document["tool"] or None,
        generationDateAndTime=document["generated"] or None,
        defaultExperiment=DefaultExperiment(experiment["start"], experiment["stop"], experiment["tolerance"], experiment["step"]),
        coSimulation=_co_simulation(document["co_simulation"]),
        modelExchange=ModelExchange() if document["model_exchange"] else None,
        platforms=document["platforms"],
        typeDefinitions=list(types.values()),
        # As in FMPy, other names of variables come last.
        modelVariables=sorted((_variable(v, document["fmi"], types) for v in document["variables"]), key=lambda v: v.alias is not None),
        findings=document["findings"],
    )


def _co_simulation(c: Mapping[str, Any] | None) -> CoSimulation | None:
    if c is None:
        return None
    return CoSimulation(
        modelIdentifier=c["model_identifier"],
        canHandleVariableCommunicationStepSize=c["variable_step_size"],
        fixedInternalStepSize=c["fixed_internal_step_size"],
        canInterpolateInputs=c["input_derivatives"],
        maxOutputDerivativeOrder=c["output_derivatives"],
        canGetAndSetFMUState=c["state"],
        canSerializeFMUState=c["serialized_state"],
        providesDirectionalDerivatives=c["directional_derivatives"],
        canBeInstantiatedOnlyOncePerProcess=c["once_per_process"],
        hasEventMode=c["event_mode"],
        mightReturnEarlyFromDoStep=c["early_return"],
        providesIntermediateUpdate=c["intermediate_update"],
    )


#: What types of FMI 3 are called in FMI 1 and 2.
OLDER = {"Float64": "Real", "Int32": "Integer"}


def _kind(name: str, version: str) -> str:
    return name if version.startswith("3") else OLDER.get(name, name)


def _type(t: Mapping[str, Any], version: str) -> SimpleType:
    items = [Item(item["name"], item["value"], item["description"] or None) for item in t["items"]]
    return SimpleType(
        t["name"], _kind(t["type"], version), t["description"] or None, t["quantity"], t["unit"] or None,
        t["min"], t["max"], t["nominal"], items,
    )  # fmt: skip


def _variable(v: Mapping[str, Any], version: str, types: Mapping[str, SimpleType]) -> ModelVariable:
    # `structural parameter` is `structuralParameter`, and `the independent variable` is `independent`.
    first, *rest = v["causality"].removeprefix("the ").removesuffix(" variable").split(" ")
    causality = first + "".join(word.capitalize() for word in rest)
    kind = _kind(v["type"], version)
    start = v["start"]
    if start and kind == "String":
        start = json.loads(start)
    elif start and v["dimensions"]:
        # As it is in the file.
        start = start.strip("[]").replace(",", "")
    # FMPy has a word for inputs, too, and none in FMI 1.
    initial = None if version.startswith("1") else v["initial"] or ("exact" if causality == "input" else None)
    return ModelVariable(
        v["name"], kind, causality, v["variability"], initial, types.get(v["declared_type"]), v["quantity"], v["unit"] or None,
        start, v["nominal"], v["min"], v["max"], v["description"] or None, v["alias_of"], list(v["dimensions"]),
    )  # fmt: skip


class Recorder:
    """What `step_finished` is handed: the rows so far, as tuples of numbers and arrays."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = ["time", *names]
        self.rows: list[tuple[Any, ...]] = []

    @property
    def lastSampleTime(self) -> float:
        """Time of the last row, in s."""
        return float(self.rows[-1][0])


@_names.suggesting
def simulate_fmu(
    filename: str | os.PathLike[str],
    validate: bool = True,
    start_time: float | str | None = None,
    stop_time: float | str | None = None,
    solver: str = "CVode",
    step_size: float | str | None = None,
    relative_tolerance: float | str | None = None,
    output_interval: float | str | None = None,
    record_events: bool = True,
    fmi_type: str | None = None,
    start_values: Mapping[str, Any] = {},
    apply_default_start_values: bool = False,
    input: NDArray[Any] | None = None,
    output: Sequence[str] | None = None,
    timeout: float | str | None = None,
    debug_logging: bool = False,
    visible: bool = False,
    logger: Callable[..., Any] | None = None,
    fmi_call_logger: Callable[[str], None] | None = None,
    step_finished: Callable[[float, Recorder], object] | None = None,
    model_description: object = None,
    fmu_instance: object = None,
    set_input_derivatives: bool = False,
    remote_platform: str | None = "auto",
    early_return_allowed: bool = False,
    use_event_mode: bool = False,
    initialize: bool = True,
    terminate: bool = True,
    fmu_state: object = None,
    set_stop_time: bool = True,
    *,
    isolate: bool = True,
) -> NDArray[Any]:
    """Simulates one FMU of co-simulation, as FMPy's function of this name: a step at every multiple of `output_interval`, and a
    structured array with `time` and the outputs.

    What differs: a `step_finished` that returns nothing goes on (what is false ends, as in FMPy), names that do not exist are refused, as
    are outputs that become infinite or NaN and runs of no length, an input that is recorded has the value of its row's time instead of the one at the start of the step, and an FMU that crashes, or a
    call that does not return within a second after `timeout`, is an exception (`isolate`). Model exchange is not supported, nor are
    arguments that hand over instances and states, for which there is `pb.open`. `validate`, `solver`, `step_size`, `record_events`,
    `apply_default_start_values`, `visible`, `model_description`, `remote_platform`, `early_return_allowed` and `set_stop_time` change
    nothing.
    """
    instead = "step the FMU with `pb.open`"
    for name, given, usual, cure in (
        ("fmu_instance", fmu_instance, None, instead),
        ("fmu_state", fmu_state, None, instead),
        ("initialize", initialize, True, instead),
        ("terminate", terminate, True, instead),
        ("logger", logger, None, "messages of FMUs are in the log: `powerbond run -v`"),
        ("fmi_call_logger", fmi_call_logger, None, "calls are in the log: `powerbond run -vvv`"),
    ):
        if given is not usual:
            raise NotImplementedError(f"`{name}` is not supported: {cure}")
    if fmi_type not in (None, "CoSimulation"):
        raise NotImplementedError(f"`fmi_type` is {_names.shown(fmi_type)}; powerbond runs co-simulation only")
    description = read_model_description(filename)
    if description.coSimulation is None:
        raise NotImplementedError(f"{os.fsdecode(filename)} has no co-simulation interface, and powerbond runs co-simulation only")
    experiment = description.defaultExperiment
    begin = _time("start_time", start_time, experiment.startTime or 0.0)
    end = _time("stop_time", stop_time, begin + 1.0 if experiment.stopTime is None else experiment.stopTime)
    interval = _time("output_interval", output_interval, _interval(description, end - begin))

    name = re.sub(r"\W", "_", description.modelName) or "fmu"
    recorded = _recorded(description, output)
    options: dict[str, object] = {}
    if relative_tolerance is not None:
        options["tolerance"] = _time("relative_tolerance", relative_tolerance, 0.0)
    if debug_logging:
        options["logging"] = True
    if use_event_mode and description.coSimulation.hasEventMode:
        options["events"] = True
    system = System(name)
    system.fmu(name, filename, options=options or None, start=_start(description, start_values))
    may_shorten = end > begin and description.coSimulation.canHandleVariableCommunicationStepSize
    system.simulation(step=min(interval, end - begin) if may_shorten else interval)
    system.method(hold=1 if set_input_derivatives else 0)

    limit = None if timeout is None else _time("timeout", timeout, 0.0)
    recorder = Recorder([v.name for v in recorded])
    # Of an array all elements, in their order.
    names = [f"{name}.{v.name}{'[*' if v.dimensions else ''}" for v in recorded]

    def finished(time: float, row: dict[str, float]) -> object:
        # Of two rows at a discontinuity the first one.
        if not grid.has(time) or (recorder.rows and recorder.lastSampleTime == time):
            return None
        recorder.rows.append((time, *(_value(v, wanted, row) for v, wanted in zip(recorded, names))))
        # The start is no step.
        goes_on = step_finished(time, recorder) if step_finished is not None and time > begin else None
        late = limit is not None and clock.perf_counter() - begun > limit
        return STOP if late or (goes_on is not None and not goes_on) else None

    signals, events = _input(description, name, input)
    grid = _Grid(begin, end, interval, events)
    begun = clock.perf_counter()
    is_watched = step_finished is not None or limit is not None
    solution = run(
        system,
        start=begin,
        stop=end,
        output_interval=interval if grid.is_regular else None,
        inputs={variable: grid.seen(signal) for variable, signal in signals.items()},
        # An empty list would be nothing but the time.
        record=names,
        callback=finished if is_watched else None,
        # Between steps it ends without an error.
        timeout=None if limit is None else limit + 1.0,
        isolate=isolate,
        progress=False,
    )
    time = solution.time
    # At a discontinuity the value before it, which the step ended with.
    kept = grid.has(time) & np.append(True, time[1:] != time[:-1])
    if is_watched:
        # A run that was ended makes its last step before it knows.
        kept &= time <= recorder.lastSampleTime
    columns = {v.name: _elements(wanted, solution) for v, wanted in zip(recorded, names)}
    types = {v.name: TYPES[_kept_as(v, description)] for v in recorded}
    fields = [(v.name, types[v.name], _shape(columns[v.name])) if v.dimensions else (v.name, types[v.name]) for v in recorded]
    result = np.empty(int(kept.sum()), np.dtype([("time", np.float64), *fields]))
    result["time"] = time[kept]
    for v in recorded:
        elements = [solution[column][kept] for column in columns[v.name]]
        result[v.name] = np.stack(elements, axis=-1).reshape(result[v.name].shape) if v.dimensions else elements[0]
    return result


def _elements(wanted: str, row: Mapping[str, Any]) -> list[str]:
    """The columns of a variable: one, or those of the elements of an array."""
    return [column for column in row if column.startswith(wanted[:-1])] if wanted.endswith("[*") else [wanted]


def _shape(elements: list[str]) -> tuple[int, ...]:
    """The shape of an array, of its last element: `b[2,3]`."""
    return tuple(int(index) for index in elements[-1].rpartition("[")[2].rstrip("]").split(",")) if elements else (0,)


def _value(v: ModelVariable, wanted: str, row: Mapping[str, float]) -> Any:
    """The value of a variable in a row: a number or an array."""
    if not v.dimensions:
        return row[wanted]
    elements = _elements(wanted, row)
    return np.array([row[column] for column in elements]).reshape(_shape(elements))


class _Grid:
    """The times of rows: multiples of an interval, the end, and events."""

    def __init__(self, begin: float, end: float, interval: float, events: NDArray[np.float64]) -> None:
        self._begin, self._end, self._interval = begin, end, interval
        ends = not interval > 0.0 or not end > begin or bool(self._near(np.float64(end)))
        self._events = events[(events > begin) & (events < end)]
        #: Whether all times are multiples, and none has two rows.
        self.is_regular = ends and not self._events.size

    def has(self, time: Any) -> Any:
        """Whether a time is one of them."""
        return self.is_regular or self._near(time) | (time == self._end) | np.isin(time, self._events)

    def seen(self, signal: _Signal) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What steps see of a signal: of lines between samples the values at their beginnings. No step ends at a bend between."""
        times, values = signal.times, signal.values
        if not signal.is_continuous or not self._interval > 0.0 or not self._end > self._begin:
            return times, values
        count = math.ceil((self._end - self._begin) / self._interval - 1e-6)
        regular = self._begin + self._interval * np.arange(count)
        later = np.sort(np.append(np.setdiff1d(regular, self._events), [*self._events, self._end]))
        # At a sample its value, of two at the same time the later one; just before an event the first one.
        after, before = np.searchsorted(times, later, side="right"), np.searchsorted(times, self._events, side="left")
        y = np.where(np.isin(later, times), values[after - 1], np.interp(later, times, values))
        seen, y = np.append(self._events, later), np.append(values[before], y)
        order = np.argsort(seen, kind="stable")
        return seen[order], y[order]

    def _near(self, time: Any) -> Any:
        steps = (time - self._begin) / self._interval
        return np.abs(steps - np.round(steps)) < 1e-6


def _time(name: str, given: float | str | None, usual: float) -> float:
    """A number, also as text, as FMPy takes it."""
    if given is None:
        return usual
    if isinstance(given, str):
        try:
            return float(given)
        except ValueError:
            raise TypeError(f"`{name}` is {given!r}; expected a number") from None
    return _names.number(name, given)


def _interval(description: ModelDescription, length: float) -> float:
    """The FMU's own step, doubled until there are at most 1000 of them; else a round one of which there are 500 to 1000."""
    own = (description.coSimulation and description.coSimulation.fixedInternalStepSize) or description.defaultExperiment.stepSize
    if own:
        while length / own > 1000:
            own *= 2
        return own
    if not length > 0.0:
        return 1.0
    h = 10.0 ** (round(math.log10(length)) - 3)
    steps = length / h
    for least, factor in ((2500, 5.0), (2000, 4.0), (1000, 2.0)):
        if steps >= least:
            return h * factor
    for most, divisor in ((200, 5.0), (250, 4.0), (500, 2.0)):
        if steps <= most:
            return h / divisor
    return h


#: Variables that are recorded of an FMU without outputs.
WITHOUT_OUTPUTS = 5

#: Types whose inputs may follow lines.
CONTINUOUS = ("Real", "Float32", "Float64")
#: NumPy's types of FMI's, in the order of FMPy's columns.
TYPES = {
    "Real": np.float64, "Integer": np.int32, "Float32": np.float32, "Float64": np.float64,
    "Int8": np.int8, "UInt8": np.uint8, "Int16": np.int16, "UInt16": np.uint16, "Int32": np.int32, "UInt32": np.uint32,
    "Int64": np.int64, "UInt64": np.uint64, "Boolean": np.bool_,
}  # fmt: skip


def _kept_as(v: ModelVariable, description: ModelDescription) -> str:
    """The type that a variable is read with: enumerations are integers."""
    if v.type != "Enumeration":
        return v.type
    return "Int64" if description.fmiMajorVersion == 3 else "Integer"


def _recorded(description: ModelDescription, output: Sequence[str] | None) -> list[ModelVariable]:
    """The outputs, or what is asked for, by their types."""
    order = list(TYPES)
    if output is None:
        outputs = [v for v in description.modelVariables if v.causality == "output"]
        # As FMPy does with an FMU that has none.
        listed = outputs or description.modelVariables[:WITHOUT_OUTPUTS]
        chosen = [v for v in listed if _kept_as(v, description) in order]
    else:
        wanted = [description[name] for name in _names.texts("output", output) if name != "time"]
        for v in wanted:
            if _kept_as(v, description) not in order:
                raise NotImplementedError(f"`output`: `{v.name}` is a {v.type}; numbers and truth values are recorded only")
        chosen = [v for v in description.modelVariables if v in wanted]
    return sorted(chosen, key=lambda v: order.index(_kept_as(v, description)))


def _start(description: ModelDescription, values: Mapping[str, Any]) -> dict[str, object]:
    if not isinstance(values, Mapping):
        raise TypeError(f"`start_values` is {_names.shown(values)}; expected a dictionary of values by name")
    given: dict[str, object] = {}
    for name, value in values.items():
        v = description[_names.text("start_values", name, "names as keys")]
        if isinstance(value, tuple):
            value = _in_unit(v, value)
        given[v.name] = _parsed(v, value) if isinstance(value, str) and v.type not in ("String", "Binary") else value
    return given


def _in_unit(v: ModelVariable, given: tuple[Any, ...]) -> object:
    """The value of a pair `(value, unit)`."""
    if len(given) != 2 or given[1] != v.unit:
        raise NotImplementedError(f"`start_values[{v.name!r}]` is {given!r}; expected a value in {v.unit or 'no unit'}: others are not converted")
    return given[0]


#: How FMPy reads truth values.
TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _parsed(v: ModelVariable, text: str) -> object:
    """A number or truth value that is given as text, as FMPy takes it; of an array several, with blanks between."""

    def parsed(text: str) -> object:
        if v.type == "Boolean":
            return TRUTH[text.strip().lower()]
        return float(text) if v.type in ("Real", "Float32", "Float64") else int(text)

    try:
        return [parsed(word) for word in text.split()] if v.dimensions else parsed(text)
    except (KeyError, ValueError):
        raise TypeError(f"`start_values[{v.name!r}]` is {text!r}; expected a value of type {v.type}") from None


@dataclass
class _Signal:
    """What an input follows."""

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    #: Lines between samples; else every sample is held.
    is_continuous: bool


def _input(description: ModelDescription, subsystem: str, given: NDArray[Any] | None) -> tuple[dict[str, _Signal], NDArray[np.float64]]:
    """Signals of inputs, and times at which they jump, if steps may end there."""
    if given is None:
        return {}, np.empty(0)
    if not isinstance(given, np.ndarray) or not given.dtype.names:
        raise TypeError(f"`input` is {_names.shown(given)}; expected a structured array whose first field is the time")
    table = np.atleast_1d(given)
    first, *names = given.dtype.names
    times = table[first].astype(np.float64)
    if not times.size or (np.diff(times) < 0.0).any():
        raise ValueError("`input` has no rows" if not times.size else "`input`: times decrease; two of the same time are a discontinuity")
    jumps = np.diff(times) == 0.0
    signals = {}
    for name in names:
        v, column = description[name], table[name]
        is_continuous = v.type in CONTINUOUS and v.variability == "continuous"
        if not is_continuous:
            jumps |= (column[1:] != column[:-1]).any(axis=tuple(range(1, column.ndim)))
        # Elements of arrays are variables of their own: `a[1,2]`.
        for element in np.ndindex(column.shape[1:]):
            index = f"[{','.join(str(n + 1) for n in element)}]" if element else ""
            values = column[(slice(None), *element)].astype(np.float64)
            signals[f"{subsystem}.{v.name}{index}"] = _Signal(times, values, is_continuous)
    may_end = description.coSimulation is not None and description.coSimulation.canHandleVariableCommunicationStepSize
    return signals, np.unique(times[1:][jumps]) if may_end else np.empty(0)
