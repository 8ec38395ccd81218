"""A system that is made in Python: the text of a system file, and where in the program every line of it was said."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _names, _toml
from ._member import Factory
from ._powerbond import PowerbondError

#: Where a line was said: file and line of the program.
Said = tuple[str, int]

_HERE = os.path.dirname(os.path.abspath(__file__))


def _said() -> Said:
    """Who called the package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _HERE:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


@dataclass(frozen=True)
class Port:
    """A side of a power bond: inputs and outputs of one subsystem whose products are power."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: 1 if input times output is power that leaves the subsystem, -1 if it enters.
    sign: int
    #: A factor on the product: a gear, or a unit that is not declared.
    ratio: float = 1.0
    #: The outputs whose shares of the inputs the port has, where several outputs feed an input.
    shares: tuple[str, ...] = ()

    def _text(self) -> str:
        table: dict[str, object] = {"input": list(self.inputs), "output": list(self.outputs), "sign": self.sign}
        if self.ratio != 1.0:
            table["ratio"] = self.ratio
        if self.shares:
            table["from"] = list(self.shares)
        return _toml.value("port", table)


def _port(inputs: str | Sequence[str], outputs: str | Sequence[str], sign: int, ratio: float, share_of: str | Sequence[str]) -> Port:
    return Port(
        tuple(_names.texts("inputs", inputs)),
        tuple(_names.texts("outputs", outputs)),
        sign,
        _names.number("ratio", ratio),
        tuple(_names.texts("share_of", share_of)),
    )


def leaving(
    inputs: str | Sequence[str], outputs: str | Sequence[str], *, ratio: float = 1.0, share_of: str | Sequence[str] = ()
) -> Port:
    """A port through which input times output is power that leaves its subsystem: a force against the velocity."""
    return _port(inputs, outputs, 1, ratio, share_of)


def entering(
    inputs: str | Sequence[str], outputs: str | Sequence[str], *, ratio: float = 1.0, share_of: str | Sequence[str] = ()
) -> Port:
    """A port through which input times output is power that enters its subsystem: force and velocity of one direction."""
    return _port(inputs, outputs, -1, ratio, share_of)


class System:
    """A coupled system, made call by call; each returns the system, so that calls can be chained.

        s = pb.System("drive")
        s.fmu("motor", "motor.fmu")
        s.python("load", Load())
        s.connect("motor.torque", "load.torque")
        s.connect("load.speed", "motor.speed")
        s.bond("shaft", pb.leaving("motor.speed", "motor.torque"), pb.entering("load.torque", "load.speed"))
        sol = pb.run(s, stop=1.0)

    Nothing is looked at before it runs or is checked; mistakes are then told all together, each with its line in the program.
    Paths are relative to the current folder.
    """

    def __init__(self, name: str = "system", description: str | None = None) -> None:
        self._name = _names.text("name", name)
        self._file = os.path.join(os.getcwd(), f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name) or 'system'}.toml")
        #: Tables in the order of their file, each with its lines.
        self._tables: dict[str, list[tuple[str, Said]]] = {}
        self._python: list[tuple[str, Factory]] = []
        self._add("system", f"name = {_toml.string(name)}")
        if description is not None:
            self._add("system", f"description = {_toml.string(_names.text('description', description))}")

    @_names.suggesting
    def fmu(
        self,
        name: str,
        path: str | os.PathLike[str],
        *,
        parameters: Mapping[str, object] | None = None,
        start: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        rate: int | None = None,
        step: float | None = None,
        sampled: float | Mapping[str, float] | None = None,
        feed_through: str | Sequence[Sequence[str]] | None = None,
        process: str | None = None,
        host: str | None = None,
    ) -> System:
        """Adds an FMU, a file or its unpacked folder. The keywords are the keys of `[subsystems.<name>]` in a system file."""
        self._subsystem(
            name,
            "fmu",
            os.path.abspath(_names.path("path", path)),
            {
                "parameters": parameters, "start": start, "options": options, "rate": rate, "step": step, "sampled": sampled,
                "feed_through": feed_through, "process": process, "host": host,
            },
        )  # fmt: skip
        return self

    @_names.suggesting
    def model(
        self,
        name: str,
        model: str,
        *,
        parameters: Mapping[str, object] | None = None,
        rate: int | None = None,
        step: float | None = None,
        sampled: float | Mapping[str, float] | None = None,
        feed_through: str | Sequence[Sequence[str]] | None = None,
        process: str | None = None,
        host: str | None = None,
    ) -> System:
        """Adds a built-in model: `powerbond methods` lists them."""
        self._subsystem(
            name,
            "model",
            _names.text("model", model),
            {
                "parameters": parameters, "rate": rate, "step": step, "sampled": sampled, "feed_through": feed_through,
                "process": process, "host": host,
            },
        )  # fmt: skip
        return self

    @_names.suggesting
    def python(
        self,
        name: str,
        member: object,
        *,
        parameters: Mapping[str, object] | None = None,
        rate: int | None = None,
        step: float | None = None,
        sampled: float | Mapping[str, float] | None = None,
    ) -> System:
        """Adds a subsystem that is written in Python: an object, of which every run gets a copy, or a class, of which every run gets
        a new object, made with `parameters`.

        It has `inputs` and `outputs`, names or names with units, and a method `step(time, h, **inputs)` that goes from `time` to
        `time + h` and returns the outputs there: a number, a dictionary by name, a sequence, or nothing if they are attributes of
        the object. Optional: `start(time)`, which may return the outputs at the start, and `output(time, **inputs)`, which
        returns outputs without a step; where there is one, they may depend on inputs at the same instant. With `sampled`, a number of
        seconds or a dictionary of `period` and `offset`, `step` is called at samples only, with the inputs there and the period
        as `h`, and outputs hold in between. A run with such a subsystem is in the process of the program.
        """
        factory = Factory(_names.text("name", name), member, parameters or {}, sampled)
        self._subsystem(name, "model", f"python/{name}", {"rate": rate, "step": step, "sampled": sampled})
        self._python.append((f"python/{name}", factory))
        return self

    @_names.suggesting
    def connect(
        self,
        source: str | Sequence[str],
        target: str,
        *,
        gain: float | Sequence[float] | None = None,
        offset: float | None = None,
        convert_units: bool | None = None,
    ) -> System:
        """Lets an output feed an input; several are added. `target = offset + Σ gain · source`, with units converted where both
        ends have one."""
        sources = _names.texts("source", source)
        said = _said()
        lines = [
            f"from = {_toml.value('source', sources[0] if isinstance(source, str) else sources)}",
            f"to = {_toml.string(_names.text('target', target))}",
        ]
        for key, value in (("gain", gain), ("offset", offset), ("convert_units", convert_units)):
            if value is not None:
                lines.append(f"{key} = {_toml.value(key, value)}")
        self._block("[[connections]]", lines, said)
        return self

    def input(self, name: str, signal: float | Mapping[str, object]) -> System:
        """Lets an input follow a signal: a number, or a table of a system file such as `{"step": {"time": 1.0, "to": 24.0}}`."""
        self._add("inputs", f"{_toml.string(_names.text('name', name))} = {_toml.value('signal', signal)}")
        return self

    @_names.suggesting
    def bond(
        self,
        name: str,
        *ports: Port,
        tolerance: float | None = None,
        energy_scale: float | None = None,
        pseudo: bool | None = None,
    ) -> System:
        """Adds a power bond, of ports made with `pb.leaving` and `pb.entering`: their powers must cancel. A pseudo-bond's products
        are no powers, such as of temperature and heat flow."""
        for n, port in enumerate(ports):
            if not isinstance(port, Port):
                raise TypeError(
                    f"port {n + 1} of `{name}` is {_names.shown(port)}; expected pb.leaving(input, output) or pb.entering(input, output)"
                )
        said = _said()
        lines = ["ports = [", *(f"  {port._text()}," for port in ports), "]"]
        for key, value in (("tolerance", tolerance), ("energy_scale", energy_scale), ("pseudo", pseudo)):
            if value is not None:
                lines.append(f"{key} = {_toml.value(key, value)}")
        self._block(f"[bonds.{_toml.string(_names.text('name', name))}]", lines, said)
        return self

    def simulation(self, **keys: object) -> System:
        """Sets keys of `[simulation]`, such as `stop`, `step` or `output_interval`; options of a run override them."""
        return self._keys("simulation", keys)

    def method(self, **keys: object) -> System:
        """Sets keys of `[method]`; without them the default method chooses everything."""
        return self._keys("method", keys)

    def record(self, **keys: object) -> System:
        """Sets keys of `[record]`, such as `variables` and `exclude`."""
        return self._keys("record", keys)

    def judge(self, **keys: object) -> System:
        """Sets keys of `[verdict]`."""
        return self._keys("verdict", keys)

    def remote(self, **keys: object) -> System:
        """Sets keys of `[remote]`: how other hosts are reached."""
        return self._keys("remote", keys)

    def to_toml(self) -> str:
        """The text of a system file. Subsystems in Python are named in it, and nothing else can run them."""
        return self._text()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a system file, with the paths of FMUs relative to its folder where they are below it."""
        if self._python:
            name = self._python[0][0].partition("/")[2]
            raise ValueError(f"a system file cannot hold `{name}`, which is written in Python")
        folder = os.path.dirname(os.path.abspath(_names.path("path", path)))

        def relative(found: re.Match[str]) -> str:
            inside = os.path.relpath(found[1], folder)
            return found[0] if inside.startswith(os.pardir) else f"fmu = {_toml.string(inside)}"

        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r'^fmu = "([^"\\]*)"$', relative, self._text(), flags=re.M))

    def __repr__(self) -> str:
        return f"<System {self._name!r}: {', '.join(self._subsystems()) or 'nothing in it yet'}>"

    def _subsystems(self) -> list[str]:
        return [head.partition(".")[2].strip('"') for head in self._tables if head.startswith("subsystems.")]

    def _subsystem(self, name: str, kind: str, what: str, keys: Mapping[str, object]) -> None:
        head = f"subsystems.{_toml.string(_names.text('name', name))}"
        if head in self._tables:
            raise ValueError(f"there is a subsystem `{name}` already")
        self._add(head, f"{kind} = {_toml.string(what)}")
        for key, value in keys.items():
            if value is not None:
                self._add(head, f"{key} = {_toml.value(key, value)}")

    def _keys(self, table: str, keys: Mapping[str, object]) -> System:
        for key, value in keys.items():
            lines = self._tables.setdefault(table, [])
            lines[:] = [line for line in lines if not line[0].startswith(f"{key} = ")]
            if value is not None:
                self._add(table, f"{key} = {_toml.value(key, value)}")
        return self

    def _add(self, table: str, line: str) -> None:
        self._tables.setdefault(table, []).append((line, _said()))

    def _block(self, head: str, lines: list[str], said: Said) -> None:
        """A table of its own. Spaces keep the heads of several connections apart."""
        key = head + " " * len(self._tables)
        self._tables[key] = [(line, said) for line in lines]

    def _has_stop(self) -> bool:
        return any(line.startswith("stop = ") for line, _ in self._tables.get("simulation", []))

    def _lines(self) -> Iterator[tuple[str, Said | None]]:
        for head, lines in self._tables.items():
            if lines:
                yield head.rstrip() if head.startswith("[") else f"[{head}]", lines[0][1]
                yield from lines
                yield "", None

    def _text(self) -> str:
        if not any(head.startswith("subsystems.") for head in self._tables):
            raise ValueError("the system has no subsystems: add one with `fmu`, `model` or `python`")
        return "\n".join(line for line, _ in self._lines())

    def _members(self) -> list[tuple[str, Any]]:
        return list(self._python)

    @contextmanager
    def _explaining(self, file: str | None = None) -> Iterator[None]:
        """Mistakes get their places in the program instead of those in a text that nobody has written; `file` stands for it."""
        file = file or self._file
        try:
            yield
        except PowerbondError as error:
            places = [said for _, said in self._lines()]

            def place(found: re.Match[str]) -> str:
                n = int(found[1])
                said = places[n - 1] if 0 < n <= len(places) else None
                return found[0] if said is None else f"{said[0]}:{said[1]}"

            message = re.sub(re.escape(file) + r":(\d+):\d+", place, str(error)).replace(file, f"`{self._name}`")
            error.args = (message, *error.args[1:])
            if error.file == file:
                said = places[error.line - 1] if error.line and error.line <= len(places) else None
                error.file, error.line = said or (None, None)
            raise
