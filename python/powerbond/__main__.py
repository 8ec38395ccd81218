"""`python -m powerbond` is the command."""

from __future__ import annotations

import sys

from . import _powerbond


def main() -> None:
    """Is the command, and ends the process with its exit code."""
    _powerbond.main(sys.executable, _powerbond.__file__, sys.argv[1:])


if __name__ == "__main__":
    main()
