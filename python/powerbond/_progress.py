"""How far a run is: a bar in the look of tqdm, in terminals and in notebooks."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

#: A run that is shorter than this, in s, shows none.
PATIENCE = 0.5
#: Parts of a character that a bar grows by.
EIGHTHS = " ▏▎▍▌▋▊▉"
#: Characters of a bar.
WIDTH = 24

#: What stands behind a bar, of start, stop, now, a number, the times that passed and are left, and the seconds that passed.
Tell = Callable[[float, float, float, int, str, float], str]

#: Sees start, stop and time of a run, in s, and the number of its steps.
See = Callable[[float, float, float, int], None]


class Bar(Protocol):
    """Sees how far a run is, until it is closed."""

    def __call__(self, start: float, stop: float, now: float, steps: int) -> None: ...
    def close(self, crossed: tuple[float, float] | None = None) -> None: ...


def bar(wanted: bool | None, tell: Tell | None = None) -> Bar | None:
    """What shows the progress; by default where somebody sees it."""
    if wanted not in (None, True, False):
        raise TypeError(f"`progress` is {wanted!r}; expected True, False or None")
    if wanted is False:
        return None
    if in_notebook():
        return _Notebook(0.0 if wanted else PATIENCE, tell or seconds)
    if wanted or sys.stderr.isatty():
        return _Terminal(0.0 if wanted else PATIENCE, tell or seconds)
    return None


def seconds(start: float, stop: float, now: float, steps: int, times: str, elapsed: float) -> str:
    """Of a run: `1.5/4 s [00:01<00:02, 1.2 s/s]`."""
    rate = f"{(now - start) / elapsed:.3g}" if elapsed > 0.0 else "?"
    return f"{now:.4g}/{stop:.4g} s [{times}, {rate} s/s]"


def share(start: float, stop: float, now: float, steps: int, times: str, elapsed: float) -> str:
    """Of something that takes a known time: `[00:01<00:08]`."""
    return f"[{times}]"


def runs(start: float, stop: float, now: float, failed: int, times: str, elapsed: float) -> str:
    """Of a sweep: `120/1000 runs [00:01<00:08, 118 runs/s], 3 failed`."""
    rate = f"{(now - start) / elapsed:.3g}" if elapsed > 0.0 else "?"
    return f"{now:.0f}/{stop:.0f} runs [{times}, {rate} runs/s]" + (f", {failed} failed" if failed else "")


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class _Shown:
    """When something is shown, and what."""

    def __init__(self, patience: float, tell: Tell) -> None:
        self._begun, self._patience, self._is_shown, self._tell = time.monotonic(), patience, False, tell
        self._last: tuple[float, float, float] | None = None
        self._steps = 0

    def __call__(self, start: float, stop: float, now: float, steps: int) -> None:
        self._last, self._steps = (start, stop, now), steps
        if time.monotonic() - self._begun >= self._patience:
            self._is_shown = True
            self.show(*self._last)

    def close(self, crossed: tuple[float, float] | None = None) -> None:
        """Shows where it ended, if anything was or is to be shown: what was `crossed`, in s, or what was seen last."""
        last = self._last
        if crossed is not None:
            begun, reached = crossed
            start, stop, _ = last or (begun, reached, reached)
            last = (start, stop, reached)
        if last is not None and (self._is_shown or self._patience == 0.0):
            self.show(*last)
            self.end()

    def words(self, start: float, stop: float, now: float) -> tuple[float, str, str]:
        """The share that is done, and what stands before and behind the bar."""
        done = min(max((now - start) / (stop - start), 0.0), 1.0) if stop > start else 1.0
        elapsed = time.monotonic() - self._begun
        left = clock(elapsed * (1.0 - done) / done) if done > 0.0 else "?"
        return done, f"{100.0 * done:3.0f}%", self._tell(start, stop, now, self._steps, f"{clock(elapsed)}<{left}", elapsed)

    def show(self, start: float, stop: float, now: float) -> None:
        """Draws it."""

    def end(self) -> None:
        """Draws nothing more."""


class _Terminal(_Shown):
    """A line that is written again and again."""

    def show(self, start: float, stop: float, now: float) -> None:
        done, before, behind = self.words(start, stop, now)
        # A line that does not fit would stay where it is, and the next one follow it.
        columns = shutil.get_terminal_size().columns - 1
        width = max(min(WIDTH, columns - len(before) - len(behind) - 3), 0)
        full, part = divmod(int(done * width * 8), 8)
        blocks = "█" * full + (EIGHTHS[part] if full < width else "")
        line = f"{before}|{blocks:<{width}}| {behind}"
        sys.stderr.write(f"\r\x1b[K{line[:columns]}")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


class _Notebook(_Shown):
    """A bar of HTML that is replaced again and again."""

    _handle: Any = None

    def show(self, start: float, stop: float, now: float) -> None:
        import IPython.display

        shell: Any = IPython.display
        done, before, behind = self.words(start, stop, now)
        page = {
            "text/plain": f"{before}|{'█' * int(done * WIDTH):<{WIDTH}}| {behind}",
            "text/html": f'<progress value="{done:.4f}" max="1"></progress> <code>{before} {behind.replace("<", "&lt;")}</code>',
        }
        if self._handle is None:
            self._handle = shell.display(page, raw=True, display_id=True)
        else:
            self._handle.update(page, raw=True)


def clock(seconds: float) -> str:
    """`01:05`, or `1:01:05`."""
    minutes, s = divmod(int(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m:02}:{s:02}"
