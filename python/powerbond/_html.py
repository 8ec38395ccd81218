"""What a notebook shows of a solution: verdict, ledger and small plots."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._solution import Solution
    from ._table import Column

#: Small plots that are shown at most.
MOST = 12
#: Size of a small plot.
WIDTH, HEIGHT = 220, 60
#: Room for the largest and the smallest value beside it: `-1.234e+05`.
BESIDE = 76
#: Points of a small plot: the smallest and the largest value in each part of the time.
PARTS = 110

COLOURS = {"trustworthy": "#1a7f37", "check": "#9a6700", "unreliable": "#cf222e"}


def solution(sol: Solution) -> str:
    """The page."""
    verdict = sol.verdict
    word = str(verdict["word"])
    colour = COLOURS.get(word, "#57606a")
    parts = [
        f'<div style="border-left:4px solid {colour};padding-left:8px">'
        f'<b style="color:{colour}">{escape(word)}</b> {said(verdict.get("text", ""))}</div>'
    ]
    if sol.error is not None:
        parts.append(f'<div style="color:#cf222e">{escape(str(sol.summary["outcome"]))}: {said(sol.error)}</div>')
    advice = "".join(f"<li>{said(line)}</li>" for line in verdict.get("advice", []))
    if advice:
        parts.append(f'<div>What helps:<ul style="margin:0">{advice}</ul></div>')
    parts += [ledger(sol), plots(sol)]
    return f'<div class="powerbond">{"".join(parts)}</div>'


def said(text: object) -> str:
    """A sentence; what is typed stands between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(str(text)))


def ledger(sol: Solution) -> str:
    """A row per bond."""
    if not sol.bonds:
        return ""
    rows = []
    for bond in sol.bonds:
        exchanged, residual, share = bond["exchanged"], bond["residual"], bond["residual_share"]
        word = "created" if residual is not None and residual > 0.0 else "lost"
        size = None if residual is None else abs(residual)
        rows.append(
            f"<tr><td style='text-align:left'>{escape(str(bond['name']))}</td><td>{figure(bond['transmitted'])}</td>"
            f"<td>{figure(exchanged)}</td><td>{figure(size)} {word}</td>"
            f"<td>{figure(None if share is None else 100.0 * abs(share))} %</td></tr>"
        )
    head = "<tr><th style='text-align:left'>bond</th><th>transmitted / J</th><th>exchanged / J</th><th>residual / J</th><th>of exchanged</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def plots(sol: Solution) -> str:
    """The first variables that move."""
    names = [name for name in sol if name != "time"]
    moving = [name for name in names if sol[name].size and np.ptp(sol[name]) > 0.0]
    shown = moving[:MOST]
    cells = [
        f'<figure style="display:inline-block;margin:4px"><figcaption style="font-size:11px">{escape(name)}'
        f"{escape(f' / {sol.units[name]}') if name in sol.units else ''}</figcaption>{plot(sol.time, sol[name])}</figure>"
        for name in shown
    ]
    rest = len(names) - len(shown)
    noun = "variable" if rest == 1 else "variables"
    what = f"{rest} more {noun}: <code>sol.plot()</code> draws them all" if shown else f"{rest} {noun}, constant in this run"
    more = f'<div style="font-size:11px">{what}</div>' if rest > 0 else ""
    return f"<div>{''.join(cells)}</div>{more}"


def plot(time: Column, values: Column) -> str:
    """A line in a box, with the smallest and the largest value beside it."""
    kept = extremes(values)
    t, y = time[kept], values[kept]
    finite = np.isfinite(y)
    if not finite.any():
        return "–"
    t, y = t[finite], y[finite]
    low, high = float(y.min()), float(y.max())
    span = (float(t[-1] - t[0]) or 1.0, high - low or 1.0)
    x = (t - t[0]) / span[0] * WIDTH
    z = HEIGHT - (y - low) / span[1] * HEIGHT
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, z))
    return (
        f'<svg width="{WIDTH + BESIDE}" height="{HEIGHT + 4}" viewBox="-1 -2 {WIDTH + BESIDE} {HEIGHT + 4}" font-size="10" fill="currentColor">'
        f'<polyline points="{points}" fill="none" stroke="#0969da" stroke-width="1.2"/>'
        f'<text x="{WIDTH + 3}" y="9">{figure(high)}</text><text x="{WIDTH + 3}" y="{HEIGHT - 1}">{figure(low)}</text></svg>'
    )


def extremes(values: Column) -> np.ndarray:
    """Rows of the smallest and the largest value of every part, in their order."""
    if values.size <= 2 * PARTS:
        return np.arange(values.size)
    edges = np.linspace(0, values.size, PARTS + 1).astype(int)
    quiet = np.nan_to_num(values)
    kept = {0, values.size - 1}
    for a, b in zip(edges[:-1], edges[1:]):
        kept |= {a + int(quiet[a:b].argmin()), a + int(quiet[a:b].argmax())}
    return np.array(sorted(kept))


def figure(x: float | None) -> str:
    """A number with four digits."""
    return "–" if x is None else f"{x:.4g}"
