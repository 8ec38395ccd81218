"""Writes expected.csv: the equations of all FMUs as one system, solved by SciPy. Needs scipy; nothing of powerbond.

Parameters are in SI, converted by hand from those in parameters/.
"""

import numpy as np
from scipy.integrate import solve_ivp

MASS, RADIUS, DRAG_AREA, ROLLING = 3200.0, 0.348, 1.8, 0.011
RATIO, STIFFNESS, DAMPING = 9.7, 1.85 * 180 / np.pi, 0.35
INERTIA, FRICTION, LAG, LIMIT = 460e-4, 0.012, 0.025, 0.8 * 350
GAIN, RESET, FEEDFORWARD = 400.0, 4.0, 115.0
DRIVES, WITHIN = [(1.0, 9.0, 1.6), (13.0, 17.0, -2.0)], 0.1
TIMES = np.round(np.linspace(0, 20, 401), 9)


def step(t):
    x = np.clip(t / WITHIN, 0, 1)
    return x**2 * (3 - 2 * x)


def ramp(t):
    x = np.clip(t / WITHIN, 0, 1)
    return WITHIN * x**3 * (1 - x / 2) + np.maximum(t - WITHIN, 0)


def reference(t):
    return sum(a * (ramp(t - begin) - ramp(t - end)) for begin, end, a in DRIVES)


def acceleration(t):
    return sum(a * (step(t - begin) - step(t - end)) for begin, end, a in DRIVES)


def algebraic(t, x):
    """What follows from the states: demand, torque in the shaft at the motor."""
    integral, _, omega, twist, _, v = x
    demand = FEEDFORWARD * acceleration(t) + GAIN * (reference(t) - v) + integral
    return demand, STIFFNESS * twist + DAMPING * (omega - RATIO * v / RADIUS)


def rates(t, x):
    integral, torque, omega, twist, _, v = x
    demand, shaft = algebraic(t, x)
    drag = 0.5 * 1.2 * DRAG_AREA * v * abs(v)
    rolling = MASS * 9.81 * ROLLING * np.tanh(v / 0.1)
    return [
        GAIN / RESET * (reference(t) - v),
        (LIMIT * np.tanh(demand / LIMIT) - torque) / LAG,
        (torque - FRICTION * omega - shaft) / INERTIA,
        omega - RATIO * v / RADIUS,
        v,
        (RATIO * shaft / RADIUS - drag - rolling) / MASS,
    ]


def table():
    """The header and the rows of expected.csv."""
    done = solve_ivp(rates, (0, TIMES[-1]), np.zeros(6), "DOP853", TIMES, rtol=1e-12, atol=1e-12, max_step=0.01)
    _, torque, omega, _, position, v = done.y
    demand, shaft = algebraic(TIMES, done.y)
    columns = {
        "time": TIMES,
        "driver.demand": demand,
        "powertrain/motor.torque": torque,
        "powertrain/motor.speed": omega * 30 / np.pi,
        "powertrain/motor.power": 1e-3 * torque * omega,
        "powertrain/gearbox.axle_torque": RATIO * shaft,
        "vehicle.velocity": 3.6 * v,
        "vehicle.position": position,
    }
    return list(columns), np.stack(list(columns.values()), 1)


if __name__ == "__main__":
    header, rows = table()
    np.savetxt("expected.csv", rows, "%.10g", ",", header=",".join(header), comments="")
