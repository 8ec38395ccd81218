"""Documents whose keys are attributes, too."""

from __future__ import annotations

from typing import Any

from ._names import hint


class Answer(dict[str, Any]):
    """A document: `answer["loops"]` is `answer.loops`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            # Python and libraries look for names of their own.
            known = "" if name.startswith("_") else hint(name, self)
            raise AttributeError(f"`{type(self).__name__}` has no `{name}`.{known}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]
