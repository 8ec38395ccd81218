"""Writes expected.csv: the exact solution. Between samples the force is constant and the cart is solved by hand. Needs numpy."""

import numpy as np

MASS, FRICTION, STIFFNESS, DAMPING, PERIOD, CHANGE = 10.0, 5.0, 60.0, 30.0, 0.1, 0.53
TIMES = np.round(np.linspace(0, 6, 301), 9)


def after(t, position, velocity, force):
    """Position and velocity after a time t with a constant force."""
    final, decay = force / FRICTION, np.exp(-FRICTION / MASS * t)
    return position + final * t + (velocity - final) * MASS / FRICTION * (1 - decay), final + (velocity - final) * decay


def table():
    """The header and the rows of expected.csv."""
    position = velocity = previous = 0.0
    rows = []
    for k in range(61):
        target = 1.0 if k * PERIOD >= CHANGE else 0.0
        force = STIFFNESS * (target - position) - DAMPING * (position - previous) / PERIOD
        for t in TIMES[(TIMES > k * PERIOD - 1e-6) & (TIMES < (k + 1) * PERIOD - 1e-6)]:
            rows.append([t, *after(t - k * PERIOD, position, velocity, force)])
        previous = position
        position, velocity = after(PERIOD, position, velocity, force)
    return ["time", "cart.position", "cart.velocity"], np.array(rows)


if __name__ == "__main__":
    header, rows = table()
    np.savetxt("expected.csv", rows, "%.10g", ",", header=",".join(header), comments="")
