"""Writes expected.csv: the equations of both FMUs as one system, solved by SciPy. Needs scipy; nothing of powerbond."""

import numpy as np
from scipy.integrate import solve_ivp

SUPPLY, VALVE, BULK, A1, A2, STROKE, DEAD = 2e7, 2e-7, 1.2e9, 2e-3, 1e-3, 1.0, 2e-4
MASS, FRICTION = 200.0, 2000.0
TIMES = np.round(np.linspace(0, 3, 301), 9)
EDGES = [0.0, 0.2, 1.5, 3.0]  # the valve jumps at these times


def rates(t, x, opening):
    p1, p2, position, velocity = x[0] * 1e6, x[1] * 1e6, x[2], x[3]  # MPa, so that tolerances fit all states
    k = VALVE * opening
    q1, q2 = k * np.sqrt(SUPPLY - p1), k * np.sqrt(p2)  # the valve never opens the other way
    return [
        1e-6 * BULK / (DEAD + A1 * position) * (q1 - A1 * velocity),
        1e-6 * BULK / (DEAD + A2 * (STROKE - position)) * (A2 * velocity - q2),
        velocity,
        (A1 * p1 - A2 * p2 - FRICTION * velocity) / MASS,
    ]


def table():
    """The header and the rows of expected.csv."""
    x, parts = np.array([5.0, 10.0, 0.2, 0.0]), []
    for start, end in zip(EDGES, EDGES[1:]):
        opening = 0.3 if start == 0.2 else 0.0
        times = TIMES[(TIMES >= start) & (TIMES <= end)]
        done = solve_ivp(rates, (start, end), x, "DOP853", times, args=(opening,), rtol=1e-12, atol=1e-12)
        parts.append(done.y[:, :-1])
        x = done.y[:, -1]
    p1, p2, position, velocity = np.hstack([*parts, x[:, None]])
    header = ["time", "cylinder.pressure1", "cylinder.pressure2", "cylinder.force", "mass.position", "mass.velocity"]
    return header, np.stack([TIMES, 1e6 * p1, 1e6 * p2, 1e6 * (A1 * p1 - A2 * p2), position, velocity], 1)


if __name__ == "__main__":
    header, rows = table()
    np.savetxt("expected.csv", rows, "%.10g", ",", header=",".join(header), comments="")
