"""Writes expected.csv: the equations of both FMUs as one system, solved by SciPy. Needs scipy; nothing of powerbond."""

import numpy as np
from scipy.integrate import solve_ivp

R, L, K, J, D = 0.5, 2e-3, 0.1, 5e-4, 1e-4
TIMES = np.round(np.linspace(0, 1, 101), 9)
EDGES = [0.0, 0.05, 0.5, 1.0]  # inputs jump at these times; rows have the values after the jump


def rates(t, x, voltage, brake):
    current, speed, _ = x
    return [(voltage - R * current - K * speed) / L, (K * current - D * speed - brake) / J, speed]


def table():
    """The header and the rows of expected.csv."""
    x, parts = np.zeros(3), []
    for start, end in zip(EDGES, EDGES[1:]):
        inputs = (24.0 if start >= 0.05 else 0.0, 0.5 if start >= 0.5 else 0.0)
        times = TIMES[(TIMES >= start) & (TIMES <= end)]
        done = solve_ivp(rates, (start, end), x, "DOP853", times, args=inputs, rtol=1e-12, atol=1e-12)
        parts.append(done.y[:, :-1])
        x = done.y[:, -1]
    current, speed, angle = np.hstack([*parts, x[:, None]])
    header = ["time", "motor.current", "motor.torque", "load.speed", "load.angle"]
    return header, np.stack([TIMES, current, K * current, speed, angle], 1)


if __name__ == "__main__":
    header, rows = table()
    np.savetxt("expected.csv", rows, "%.10g", ",", header=",".join(header), comments="")
