"""Plans that are made in Python: a dictionary as the text of a plan's file, with a system of any kind."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from . import _names, _toml
from ._member import Factory, fingerprint
from ._powerbond import PowerbondError
from ._system import System

#: What a path may be.
PathLike = str | os.PathLike[str]

#: Tables of a plan that are tables in its file, too, in their order.
TABLES = ("run", "parameters", "design", "outputs")
KEYS = ("name", "system", "series", *TABLES, "cases")
#: Keys whose values are paths from the current folder.
PATHS = {"run": ("method", "params", "scenario", "input"), "design": ("file",)}


@dataclass(frozen=True)
class Source:
    """A plan as the module reads it, here and wherever its runs are done."""

    #: Its file; a name of one that stands for it in messages if there is a text.
    file: str
    text: str | None = None
    #: What was said by every line of the text.
    lines: tuple[str, ...] = ()
    system: System | None = None
    #: The file that stands for a system made in Python, and its text.
    written: tuple[str, str] | None = None
    members: list[tuple[str, Factory]] = field(default_factory=list)

    def in_folder(self, folder: str) -> Source:
        """The same one of what is made in Python, with files in this folder, which is there: the plan, and the system."""
        if self.text is None:
            return self
        named, written = self.text, self.written
        if written is not None:
            place = os.path.join(folder, os.path.basename(written[0]))
            named = named.replace(_toml.string(written[0]), _toml.string(place))
            written = (place, written[1])
            _write(*written)
        plan = os.path.join(folder, "plan.toml")
        _write(plan, named)
        return Source(plan, named, self.lines, self.system, written, self.members)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Within it, mistakes have the places where they were made instead of lines that nobody has written."""
        try:
            if self.system is not None and self.written is not None:
                with self.system._explaining(self.written[0]):
                    yield
            else:
                yield
        except PowerbondError as error:
            if not self.lines:
                raise

            def place(found: re.Match[str]) -> str:
                n = int(found[1])
                return self.lines[n - 1] if 0 < n <= len(self.lines) else "the plan"

            error.args = (re.sub(re.escape(self.file) + r":(\d+):\d+", place, str(error)), *error.args[1:])
            if error.file == self.file:
                error.file = error.line = None
            raise


def source(plan: PathLike | Mapping[str, Any]) -> Source:
    """Of a file, or of a dictionary with the keys of one."""
    if isinstance(plan, (str, os.PathLike)):
        return Source(os.fsdecode(plan))
    if not isinstance(plan, Mapping):
        raise TypeError(f"`plan` is {_names.shown(plan)}; expected the path of a plan, or a dictionary with its keys: {', '.join(KEYS)}")
    for key in plan:
        if key not in KEYS:
            raise ValueError(f"unknown key `{key}` in the plan.{_names.hint(str(key), KEYS)}")
    if "system" not in plan:
        raise ValueError("the plan lacks the key `system`: a path or a pb.System")
    given, written, members = system_of("plan['system']", plan["system"])
    lines: list[tuple[str, str]] = [
        (f"name = {_toml.string(_names.text('name', plan.get('name', 'sweep')))}", "`name`"),
        (f"system = {_toml.string(written[0] if written else given)}", "`system`"),
    ]
    if "series" in plan:
        lines.append((f"series = {_toml.value('series', _names.texts('series', plan['series']))}", "`series`"))
    tables = {table: _table(table, plan[table]) for table in TABLES if table in plan}
    if _is_frame(plan.get("parameters")):
        design = tables.setdefault("design", {})
        if design.setdefault("kind", "list") != "list":
            raise ValueError("a data frame of parameters has a row for each run; expected no other `design`")
    for table in TABLES:
        if table in tables:
            lines += [("", f"`{table}`"), (f"[{table}]", f"`{table}`")]
            lines += [
                (f"{_toml.string(key)} = {_toml.value(f'{table}[{key!r}]', value)}", f"{table}[{key!r}]")
                for key, value in tables[table].items()
            ]
    for n, case in enumerate(_cases(plan.get("cases", ()))):
        lines += [("", ""), ("[[cases]]", f"cases[{n}]")]
        lines += [(f"{_toml.string(key)} = {_toml.value(key, value)}", f"cases[{n}][{key!r}]") for key, value in case.items()]
    text = "\n".join(line for line, _ in lines) + "\n"
    about = plan["system"] if isinstance(plan["system"], System) else None
    return Source(os.path.abspath("plan.toml"), text, tuple(said for _, said in lines), about, written, members)


def system_of(name: str, given: object) -> tuple[str, tuple[str, str] | None, list[tuple[str, Factory]]]:
    """The path of a system; of one that is made in Python the file that stands for it with its text, and its members."""
    if isinstance(given, (str, os.PathLike)):
        return os.path.abspath(os.fsdecode(given)), None, []
    if not isinstance(given, System):
        raise TypeError(f"`{name}` is {_names.shown(given)}; expected a path or a pb.System")
    members: list[tuple[str, Factory]] = given._members()
    # What a run is a function of.
    text = given._text() + "".join(f"# {model}: {fingerprint(factory)}\n" for model, factory in members)
    path = kept(text)
    return path, (path, text), members


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Of this process, and gone with it."""
    return tempfile.TemporaryDirectory(prefix="powerbond-plan-", ignore_cleanup_errors=True)


def kept(text: str) -> str:
    """A file with a text, which lives as long as this process."""
    folder = os.path.join(_folder().name, hashlib.sha256(text.encode()).hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "system.toml")
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return path


def _write(path: str, text: str) -> None:
    """Shards may do it at the same time, with the same text."""
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)


def _is_frame(given: object) -> bool:
    return not isinstance(given, Mapping) and (hasattr(given, "columns") or hasattr(given, "column_names"))


def _table(name: str, given: Any) -> dict[str, Any]:
    if name == "parameters" and _is_frame(given):
        columns = getattr(given, "column_names", None) or given.columns
        return {str(column): [one.item() if hasattr(one, "item") else one for one in _cells(given[column])] for column in columns}
    if name == "outputs" and isinstance(given, Sequence) and not isinstance(given, str):
        given = {text: text for text in _names.texts("outputs", given)}
    if not isinstance(given, Mapping):
        raise TypeError(f"`{name}` is {_names.shown(given)}; expected a dictionary")
    table = {_names.text(name, key, "strings as keys"): value for key, value in given.items()}
    for key in PATHS.get(name, ()):
        if key in table:
            value = table[key]
            several = isinstance(value, (list, tuple))
            paths = [os.path.abspath(_names.path(f"{name}[{key!r}]", one)) for one in (value if several else [value])]
            table[key] = paths if several or key == "params" else paths[0]
    if name == "parameters":
        # Arrays, ranges of Python and series are lists.
        table = {key: list(value) if _is_series(value) else value for key, value in table.items()}
    return table


def _is_series(value: object) -> bool:
    return getattr(value, "ndim", 0) == 1 or isinstance(value, (range, tuple))


def _cells(column: Any) -> list[Any]:
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _cases(given: Any) -> list[dict[str, Any]]:
    """A list of tables, or a dictionary of what each case sets by its name."""
    if isinstance(given, Mapping):
        given = [{"name": name, "set": values} for name, values in given.items()]
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(case, Mapping) for case in given):
        raise TypeError(f"`cases` is {_names.shown(given)}; expected a list of dictionaries, or what each case sets by its name")
    return [dict(case) for case in given]
