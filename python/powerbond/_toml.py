"""Values as they are written in system files."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping, Sequence

import numpy as np

from ._names import shown


def string(text: str) -> str:
    """A string in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(name: str, given: object) -> str:
    """A number, a string, a truth value, a list or a table in a line."""
    if isinstance(given, str):
        return string(given)
    if isinstance(given, os.PathLike):
        return string(os.fsdecode(given))
    if isinstance(given, (bool, np.bool_)):
        return "true" if given else "false"
    if isinstance(given, numbers.Integral):
        return str(int(given))
    if isinstance(given, numbers.Real):
        return repr(float(given))
    if isinstance(given, np.ndarray):
        return value(name, given.tolist())
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{string(str(k))} = {value(f'{name}.{k}', v)}" for k, v in given.items()) + " }"
    if isinstance(given, Sequence):
        return "[" + ", ".join(value(f"{name}[{n}]", one) for n, one in enumerate(given)) + "]"
    raise TypeError(f"`{name}` is {shown(given)}; expected a number, a string, a truth value, a list or a dictionary")


def typed(name: str, given: object) -> str:
    """As it is typed behind `--set name=`: strings have no quotes."""
    return given if isinstance(given, str) else value(name, given)
