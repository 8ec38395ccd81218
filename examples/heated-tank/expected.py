"""Writes expected.csv: the equations of both FMUs as one system, solved by SciPy. Needs scipy; nothing of powerbond."""

import numpy as np
from scipy.integrate import solve_ivp

CAPACITY, ROD, TRANSFER, LOSS, HEAT, INFLOW, ROOM = 50 * 4186.0, 2000.0, 200.0, 5.0, 4186.0, 10.0, 20.0
GAIN, RESET, LARGEST = 1000.0, 1200.0, 20e3
TIMES = np.linspace(0, 3600, 361)
EDGES = [0.0, 60.0, 1800.0, 3600.0]  # inputs jump at these times; rows have the values after the jump


def wanted(x, target):
    return GAIN * (target - x[0] + x[2] / RESET)


def power(x, target):
    return np.clip(wanted(x, target), 0, LARGEST)


def rates(t, x, target, flow):
    heat = TRANSFER * (x[1] - x[0])
    losses = flow * HEAT * (x[0] - INFLOW) + LOSS * (x[0] - ROOM)
    return [(heat - losses) / CAPACITY, (power(x, target) - heat) / ROD, target - x[0] + (power(x, target) - wanted(x, target)) / GAIN]


def table():
    """The header and the rows of expected.csv."""
    x, parts = np.array([20.0, 20.0, 0.0]), []
    for start, end in zip(EDGES, EDGES[1:]):
        inputs = (50.0 if start >= 60 else 20.0, 0.05 if start >= 1800 else 0.0)
        times = TIMES[(TIMES >= start) & (TIMES <= end)]
        # Short steps, as the limits of the power are bends that the solver does not know of.
        done = solve_ivp(rates, (start, end), x, "DOP853", times, args=inputs, rtol=1e-12, atol=1e-12, max_step=1.0)
        parts.append(np.vstack([done.y, power(done.y, inputs[0])])[:, : None if end == EDGES[-1] else -1])
        x = done.y[:, -1]
    water, rod, _, heating = np.hstack(parts)
    return ["time", "thermostat.power", "tank.temperature", "tank.rod_temperature"], np.stack([TIMES, heating, water, rod], 1)


if __name__ == "__main__":
    header, rows = table()
    np.savetxt("expected.csv", rows, "%.10g", ",", header=",".join(header), comments="")
