"""What the package costs beyond the runs, and runs per second beside FMPy's simulate_fmu.

    python tests/python/benchmark.py            # prints the table of docs/python.md
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import powerbond as pb

ROOT = pathlib.Path(__file__).parents[2]
QUARTER_CAR = ROOT / "examples/quarter-car"


def median(act, n):
    """Median of what `act` measures, in s, after a few that warm up."""
    return statistics.median([act() for _ in range(n + 3)][3:])


def beyond(system, **options):
    """Wall-clock time of a run beyond that of its own steps and initialization."""

    def act():
        began = time.perf_counter()
        sol = pb.run(system, progress=False, **options)
        _ = sol.time[-1], sol.verdict
        return time.perf_counter() - began - sol.stats.seconds

    return act


def timed(call):
    def act():
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return act


def steps(n):
    """Time of each of `n` steps from Python, the system's own work included."""
    with pb.open(QUARTER_CAR, stop=1e4, step=1e-4) as sim:
        began = time.perf_counter()
        for _ in range(n):
            sim.step()
        return (time.perf_counter() - began) / n


def loop(n):
    """A control loop: two values, an input and a step."""
    with pb.open(QUARTER_CAR, stop=1e4, step=1e-4) as sim:
        began = time.perf_counter()
        for _ in range(n):
            sim["wheel.road"] = 0.1 + 1e-3 * sim["chassis.velocity"] + 1e-3 * sim["wheel.velocity"]
            sim.step()
        return (time.perf_counter() - began) / n


def measure(n):
    """All of it, each `n` times: (what, value, unit)."""
    import fmpy

    with tempfile.TemporaryDirectory() as folder:
        fmu = pathlib.Path(folder, "mass.fmu")
        subprocess.run([sys.executable, "-m", "powerbond", "export", "oscillator/mass", "--quiet", "-o", fmu], check=True)
        short = {"stop_time": 0.1, "output_interval": 0.01}
        description = fmpy.read_model_description(str(fmu))
        yield "`pb.run` of an FMU in process, 10 steps, beyond the run", 1e3 * median(beyond(fmu, stop=0.1, step=0.01, isolate=False), n), "ms"
        yield "the same isolated, warm worker", 1e3 * median(beyond(fmu, stop=0.1, step=0.01), n), "ms"
        yield "`pb.run` of the quarter car in process, 0.1 s, beyond the run", 1e3 * median(beyond(QUARTER_CAR, stop=0.1, isolate=False), n), "ms"
        yield "the same isolated, warm worker", 1e3 * median(beyond(QUARTER_CAR, stop=0.1), n), "ms"
        theirs = median(timed(lambda: fmpy.simulate_fmu(str(fmu), **short)), n)
        prepared = median(timed(lambda: fmpy.simulate_fmu(str(fmu), model_description=description, **short)), n)
        yield "`fmpy.simulate_fmu`, 10 steps", 1.0 / theirs, "runs/s"
        yield "the same with `model_description` read before", 1.0 / prepared, "runs/s"
        yield "`pb.simulate_fmu`, isolated", 1.0 / median(timed(lambda: pb.simulate_fmu(fmu, **short)), n), "runs/s"
        yield "`pb.simulate_fmu(isolate=False)`", 1.0 / median(timed(lambda: pb.simulate_fmu(fmu, **short, isolate=False)), n), "runs/s"
        yield "`pb.run`, the same steps, isolated", 1.0 / median(timed(lambda: pb.run(fmu, stop=0.1, step=0.01)), n), "runs/s"
        yield "`pb.run(isolate=False)`", 1.0 / median(timed(lambda: pb.run(fmu, stop=0.1, step=0.01, isolate=False)), n), "runs/s"
        yield "`sim.step()`, the quarter car's own work included", 1e6 * min(steps(2000 * n) for _ in range(3)), "µs"
        yield "a step with two values read and an input set", 1e6 * min(loop(1000 * n) for _ in range(3)), "µs"
        large = pb.run(QUARTER_CAR, stop=0.8 * n)
        copied = sum(column.nbytes for column in large.values()) / 1e6
        began = time.perf_counter()
        arrays = [np.asarray(large[name]) for name in large]
        yield f"all {len(arrays)} columns of {copied:.1f} MB as arrays", 1e6 * (time.perf_counter() - began), "µs"


if __name__ == "__main__":
    rows = list(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
    if "--json" in sys.argv:
        print(json.dumps(rows))
    else:
        print("| | |\n|---|---|")
        for what, value, unit in rows:
            print(f"| {what} | {value:.3g} {unit} |")
