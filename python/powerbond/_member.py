"""Subsystems that are written in Python: whatever their authors wrote, the module sees the same few methods."""

from __future__ import annotations

import copy
import hashlib
import inspect
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._names import hint, number, positive, shown


class Factory:
    """Makes the subsystem of a run: a copy of an object, or a new object of a class."""

    def __init__(self, name: str, member: object, parameters: Mapping[str, object], sampled: object = None) -> None:
        self.name, self.member, self.parameters = name, member, dict(parameters)
        self.samples = None if sampled is None else Samples(name, sampled)
        if not isinstance(member, type):
            try:
                copy.deepcopy(member)
            except Exception as error:
                raise TypeError(
                    f"`{name}` cannot be copied ({error}), and every run gets a copy: give its class and `parameters` instead"
                ) from error
            # Whether it is a subsystem at all; a class is not asked, as making an object of it may do things.
            self({})

    def __call__(self, given: dict[str, object]) -> Adapter:
        parameters = self.parameters | given
        if isinstance(self.member, type):
            return Adapter(self.name, self.member(**parameters), self.samples)
        made = copy.deepcopy(self.member)
        for key, value in parameters.items():
            if not hasattr(made, key):
                known = [name for name in vars(made) if not name.startswith("_")]
                raise AttributeError(f"unknown parameter `{key}`.{hint(key, known)}")
            setattr(made, key, value)
        return Adapter(self.name, made, self.samples)


def fingerprint(factory: Factory) -> str:
    """A hash of what is known of a subsystem: its class with its source, its state and its parameters. It tells whether a sweep goes
    on with what it began with."""
    kind = factory.member if isinstance(factory.member, type) else type(factory.member)
    known = [f"{kind.__module__}.{kind.__qualname__}", repr(sorted(factory.parameters.items()))]
    try:
        known.append(inspect.getsource(kind))
    except (OSError, TypeError):
        # Of what is typed in an interpreter nothing is kept.
        pass
    state = b""
    if factory.member is not kind:
        try:
            state = pickle.dumps(factory.member, protocol=4)
        except Exception:
            state = repr(sorted(vars(factory.member))).encode() if hasattr(factory.member, "__dict__") else b""
    if factory.samples is not None:
        known.append(f"{factory.samples.period!r} {factory.samples.offset!r}")
    return hashlib.sha256("\n".join(known).encode() + state).hexdigest()


class Samples:
    """When a subsystem samples: at `offset + n·period`, in s."""

    def __init__(self, name: str, given: object) -> None:
        table = given if isinstance(given, Mapping) else {"period": given}
        for key in table:
            if key not in ("period", "offset"):
                raise ValueError(f"`sampled` of `{name}` has `{key}`.{hint(str(key), ('period', 'offset'))}")
        if table.get("period") is None:
            raise ValueError(f"`sampled` of `{name}` has no `period`")
        self.period = positive("sampled", table["period"], "a number of seconds above 0")
        self.offset = number("offset", table.get("offset", 0.0))

    def next(self, time: float) -> float:
        """The first sample after `time`."""
        assert self.period is not None
        # Times of steps that end at samples are off by round-off only.
        passed = math.floor((time - self.offset) / self.period + 1e-6)
        return self.offset + (passed + 1) * self.period


class Adapter:
    """A subsystem as the module calls it: values in the order of `inputs` and `outputs`."""

    def __init__(self, name: str, made: Any, samples: Samples | None) -> None:
        self._name, self._object, self._samples = name, made, samples
        self._next, self._held = -math.inf, [0.0]
        if not hasattr(made, "outputs") and not hasattr(made, "step"):
            raise TypeError(f"`{name}` is {shown(made)}; expected an object or a class with `outputs` and a method `step`")
        for needed in ("outputs", "step"):
            if not hasattr(made, needed):
                raise AttributeError(f"`{type(made).__name__}` has no `{needed}`.{hint(needed, _public(made))}")
        self._inputs = _variables(name, "inputs", getattr(made, "inputs", ()))
        self._outputs = _variables(name, "outputs", made.outputs)
        #: What the module asks for.
        self.kind = type(made).__name__
        self.inputs = [(variable, unit, _start(made, variable)) for variable, unit in self._inputs.items()]
        self.outputs = list(self._outputs.items())
        self.has_output = callable(getattr(made, "output", None))
        self.sub_steps = bool(getattr(made, "sub_steps", True))
        self.can_restore = bool(getattr(made, "can_restore", _can_be_copied(made)))
        self._own_state = callable(getattr(made, "save", None)) and callable(getattr(made, "restore", None))
        self._fits("step", made.step, (0.0, 0.0))
        if self.has_output:
            self._fits("output", made.output, (0.0,))

    def start(self, time: float) -> list[float]:
        """The outputs at the start."""
        begin = getattr(self._object, "start", None)
        returned = begin(time) if callable(begin) else None
        if self._samples is not None:
            self._next = self._samples.next(time - 1e-3 * (self._samples.period or 0.0))
        # `output` is asked right after this.
        self._held = [0.0] * len(self._outputs) if self.has_output else self._values("start", returned)
        return self._held

    def step(self, time: float, h: float, inputs: list[float]) -> list[float]:
        """Goes from `time` to `time + h`; the outputs there."""
        if self._samples is not None:
            period = self._samples.period or 0.0
            if time < self._next - 1e-6 * period:
                return self.output(time + h, inputs) if self.has_output else self._held
            self._next, h = self._samples.next(time), period
        returned = self._object.step(time, h, **dict(zip(self._inputs, inputs)))
        if returned is None and self.has_output:
            return self.output(time + h, inputs)
        self._held = self._values("step", returned)
        return self._held

    def output(self, time: float, inputs: list[float]) -> list[float]:
        """The outputs now."""
        return self._values("output", self._object.output(time, **dict(zip(self._inputs, inputs))))

    def save(self) -> object:
        """The state, to go back to."""
        own = self._object.save() if self._own_state else copy.deepcopy(self._object)
        return own, self._next, self._held

    def restore(self, state: Any) -> None:
        """Goes to a state that was saved, as often as wanted."""
        own, self._next, self._held = state
        if self._own_state:
            self._object.restore(own)
        else:
            self._object = copy.deepcopy(own)

    def _values(self, call: str, returned: object) -> list[float]:
        if returned is None:
            attributes: dict[str, object] = {}
            for output in self._outputs:
                if not hasattr(self._object, output):
                    raise ValueError(
                        f"`{call}` returns nothing, and there is no attribute `{output}`: return the outputs, or set `self.{output}`"
                    )
                attributes[output] = getattr(self._object, output)
            returned = attributes
        if isinstance(returned, Mapping):
            for key in returned:
                if key not in self._outputs:
                    raise KeyError(f"`{call}` returns `{key}`, which is no output.{hint(key, self._outputs)}")
            missing = [output for output in self._outputs if output not in returned]
            if missing:
                raise KeyError(f"`{call}` returns no value of `{missing[0]}`")
            return [_number(call, output, returned[output]) for output in self._outputs]
        if isinstance(returned, (str, bytes)):
            raise TypeError(f"`{call}` returns {shown(returned)}; expected numbers: {', '.join(self._outputs)}")
        if isinstance(returned, Sequence) or getattr(returned, "ndim", 0) == 1:
            values = list(returned)  # type: ignore[call-overload]
        else:
            values = [returned]
        if len(values) != len(self._outputs):
            raise ValueError(f"`{call}` returns {len(values)} values; expected {len(self._outputs)}: {', '.join(self._outputs)}")
        return [_number(call, output, value) for output, value in zip(self._outputs, values)]

    def _fits(self, name: str, method: Callable[..., object], times: tuple[float, ...]) -> None:
        """Whether it can be called."""
        try:
            inspect.signature(method).bind(*times, **dict.fromkeys(self._inputs, 0.0))
        except TypeError as error:
            given = ", ".join(["time", "h"][: len(times)] + list(self._inputs))
            raise TypeError(f"`{name}` of `{self.kind}` cannot be called as {name}({given}): {error}") from None
        except ValueError:
            # Nothing is known of functions that are not written in Python.
            pass


def _number(call: str, output: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`{call}` returns {shown(value)} for `{output}`; expected a number") from None


def _public(made: object) -> list[str]:
    return [name for name in dir(made) if not name.startswith("_")]


def _can_be_copied(made: object) -> bool:
    try:
        copy.deepcopy(made)
    except Exception:
        return False
    return True


def _start(made: object, name: str) -> float:
    """The start value of an input: the attribute of that name, if it is a number."""
    value = getattr(made, name, 0.0)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _variables(name: str, what: str, given: object) -> dict[str, str]:
    """Names and units; units are empty where there are none."""
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Mapping):
        pairs = [(variable, unit or "") for variable, unit in given.items()]
    elif isinstance(given, Sequence):
        pairs = [(variable, "") for variable in given]
    else:
        raise TypeError(f"`{what}` of `{name}` is {shown(given)}; expected names, or a dictionary of names and units")
    for variable, unit in pairs:
        if not isinstance(variable, str) or not isinstance(unit, str):
            raise TypeError(f"`{what}` of `{name}` has {shown(variable)}: {shown(unit)}; expected a name and a unit")
    return dict(pairs)
