"""Draws the pictures of the README and of the examples with FMUs from runs: results in, SVG out.

    python docs/pictures/draw.py target/release/powerbond

Needs gcc, and pythonfmu, libcosimpy and scipy in this Python. Pictures follow the reader's light or dark theme.
"""

import csv
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
STYLE = """text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:12px;fill:#24292f}.ground{fill:#fff}.axis{stroke:#8c959f;fill:none}
.grid{stroke:#d8dee4;stroke-width:.7}.dim{fill:#6a737d}.line{fill:none;stroke-width:1.5;stroke-linejoin:round}.title{font-weight:600;font-size:13px}
.a{stroke:#0969da}.b{stroke:#cf222e}.c{stroke:#1a7f37}.d{stroke:#8250df}text.a,text.b,text.c,text.d{stroke:none}
text.a{fill:#0969da}text.b{fill:#cf222e}text.c{fill:#1a7f37}text.d{fill:#8250df}.exact{stroke:#24292f;stroke-width:1;stroke-dasharray:2 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.grid{stroke:#30363d}.dim{fill:#9198a1}.exact{stroke:#e6edf3}
.a{stroke:#58a6ff}.b{stroke:#ff7b72}.c{stroke:#56d364}.d{stroke:#bc8cff}text.a{fill:#58a6ff}text.b{fill:#ff7b72}text.c{fill:#56d364}text.d{fill:#bc8cff}}"""
WIDTH, LEFT, RIGHT, HEIGHT = 830, 70, 20, 150


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def ticks(low, high, wanted=4):
    """Round numbers between low and high."""
    rough = (high - low) / wanted
    size = 10 ** math.floor(math.log10(rough))
    step = next(m * size for m in (1, 2, 5, 10) if m * size >= rough)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def simplified(points, allowed=0.15):
    """The points without those that a straight line between others replaces, in pixels (Douglas-Peucker)."""
    keep, todo = {0, len(points) - 1}, [(0, len(points) - 1)]
    while todo:
        a, b = todo.pop()
        (xa, ya), (xb, yb) = points[a], points[b]
        length = math.hypot(xb - xa, yb - ya) or 1.0
        far = [(abs((xb - xa) * (ya - y) - (xa - x) * (yb - ya)) / length, a + 1 + k) for k, (x, y) in enumerate(points[a + 1 : b])]
        distance, k = max(far, default=(0.0, a))
        if distance > allowed:
            keep.add(k)
            todo += [(a, k), (k, b)]
    return [points[k] for k in sorted(keep)]


class Panel:
    """One chart: lines over time, each with a class of the style and a name, values cut at `low` and `high`."""

    def __init__(self, title, unit, lines, low=None, high=None):
        self.title, self.unit, self.lines = title, unit, lines
        values = [v for _, _, ts, vs in lines for v in vs if math.isfinite(v)]
        margin = 0.05 * (max(values) - min(values)) if low is None else 0
        self.low = min(values) - margin if low is None else low
        self.high = max(values) + margin if high is None else high

    def svg(self, number, top, start, stop, height):
        x = lambda t: LEFT + (t - start) / (stop - start) * (WIDTH - LEFT - RIGHT)
        y = lambda v: top + height - (v - self.low) / (self.high - self.low) * height
        out = [f'<text class="title" x="{LEFT}" y="{top - 10}">{escape(self.title)}</text>']
        for v in ticks(self.low, self.high):
            out.append(f'<path class="grid" d="M{LEFT} {y(v):.1f}H{WIDTH - RIGHT}"/>')
            out.append(f'<text class="dim" x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
        for t in ticks(start, stop, 6):
            out.append(f'<text class="dim" x="{x(t):.1f}" y="{top + height + 16}" text-anchor="middle">{t:g}</text>')
        out.append(f'<text class="dim" x="{LEFT - 8}" y="{top - 10}" text-anchor="end">{self.unit}</text>')
        out.append(f'<clipPath id="p{number}"><rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{height}"/></clipPath>')
        out.append(f'<g clip-path="url(#p{number})">')
        at = WIDTH - RIGHT
        names = []
        for kind, name, ts, vs in self.lines:
            far = 3 * (self.high - self.low)
            points = simplified([(x(t), y(min(max(v, self.low - far), self.high + far))) for t, v in zip(ts, vs)])
            out.append(f'<polyline class="line {kind}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
            if name:
                names.append((kind, name))
        out.append("</g>")
        out.append(f'<path class="axis" d="M{LEFT} {top}V{top + height}H{WIDTH - RIGHT}"/>')
        for kind, name in reversed(names):
            out.append(f'<text class="{kind}" x="{at}" y="{top - 10}" text-anchor="end">{escape(name)}</text>')
            at -= 7 * len(name) + 18
        return "".join(out)


def draw(path, title, panels, start, stop, height=HEIGHT, time="time in s"):
    parts, top = [], 44
    for number, panel in enumerate(panels):
        parts.append(panel.svg(number, top, start, stop, height))
        top += height + 56
    total = top - 16
    parts.append(f'<text class="dim" x="{WIDTH - RIGHT}" y="{total - 8}" text-anchor="end">{time}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" width="{WIDTH}" height="{total}" role="img">'
    ground = '<rect class="ground" width="100%" height="100%"/>'
    path.write_text(f"{head}<title>{escape(title)}</title><style>{STYLE}</style>{ground}{''.join(parts)}</svg>\n")


class Bench:
    """A folder with an example's FMUs, and the command."""

    def __init__(self, powerbond, name, folder):
        self.powerbond, self.example, self.folder = powerbond, ROOT / "examples" / name, folder / name
        subprocess.run(["cp", "-r", self.example, self.folder], check=True)
        environment = dict(os.environ, PYTHON=sys.executable)
        subprocess.run(["sh", "build.sh"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, env=environment)

    def run(self, *options, code=0):
        """Columns by name, and the summary."""
        arguments = [self.powerbond, "run", ".", "--output-dir", "out", "--overwrite", "--quiet", *options]
        ran = subprocess.run(arguments, cwd=self.folder, capture_output=True, text=True)
        assert ran.returncode == code, ran.stderr
        summary = json.loads((self.folder / "out/summary.json").read_text())
        return columns(self.folder / "out/results.csv"), summary

    def exact(self, times):
        """The columns of expected.py at other times."""
        spec = importlib.util.spec_from_file_location("expected", self.example / "expected.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.TIMES = times
        header, rows = module.table()
        return dict(zip(header, rows.T))


def columns(path):
    rows = list(csv.reader(path.open()))
    return {name: [float(row[k]) for row in rows[1:]] for k, name in enumerate(rows[0])}


def libcosim(bench, step, stop):
    """The hydraulic cylinder in libcosim, fixed-step algorithm: times and velocities of the mass."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.WARNING)
    execution = CosimExecution.from_step_size(int(round(step * 1e9)))
    cylinder, mass = (execution.add_local_slave(CosimLocalSlave(str(bench.folder / f"{n}.fmu"), n)) for n in ("cylinder", "mass"))
    for source, output, target, taken in [(cylinder, 5, mass, 0), (mass, 1, cylinder, 1), (mass, 2, cylinder, 2)]:
        assert execution.connect_real_variables(source, output, target, taken) == 0
    observer, valve = CosimObserver.create_last_value(), CosimManipulator.create_override()
    assert execution.add_observer(observer) and execution.add_manipulator(valve)
    times, values = [0.0], [0.0]
    for k in range(int(round(stop / step))):
        for at, opening in [(0.0, 0.0), (0.2, 0.3), (1.5, 0.0)]:
            if k == int(round(at / step)):
                assert valve.slave_real_values(cylinder, [0], [opening])
        assert execution.step()
        times.append((k + 1) * step)
        values.append(observer.last_real_values(mass, [2])[0])
    return times, values


def main(powerbond):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        examples = ROOT / "examples"

        bench = Bench(powerbond, "dc-motor", folder)
        run, _ = bench.run()
        t = run["time"]
        draw(examples / "dc-motor/results.svg", "DC motor", [
            Panel("speed", "rad/s", [("a", "load.speed", t, run["load.speed"])]),
            Panel("torque", "N.m", [("b", "motor.torque", t, run["motor.torque"]), ("d", "load.brake", t, run["load.brake"])]),
        ], 0, 1)

        bench = Bench(powerbond, "sampled-control", folder)
        run, _ = bench.run()
        t = run["time"]
        draw(examples / "sampled-control/results.svg", "Sampled control", [
            Panel("position", "m", [("d", "controller.target", t, run["controller.target"]), ("a", "cart.position", t, run["cart.position"])]),
            Panel("force", "N", [("b", "controller.force", t, run["controller.force"])]),
        ], 0, 6)

        bench = Bench(powerbond, "heated-tank", folder)
        run, _ = bench.run()
        t = [x / 60 for x in run["time"]]
        draw(examples / "heated-tank/results.svg", "Heated tank", [
            Panel("water", "°C", [("d", "thermostat.target", t, run["thermostat.target"]), ("a", "tank.temperature", t, run["tank.temperature"])]),
            Panel("power", "kW", [("b", "thermostat.power", t, [p / 1e3 for p in run["thermostat.power"]])]),
        ], 0, 60, time="time in min")

        bench = Bench(powerbond, "drive-train", folder)
        run, _ = bench.run()
        t = run["time"]
        axle = [torque / 1e3 for torque in run["powertrain/gearbox.axle_torque"]]
        draw(examples / "drive-train/results.svg", "Drive train", [
            Panel("speed", "km/h", [("d", "driver.reference", t, [3.6 * v for v in run["driver.reference"]]), ("a", "vehicle.velocity", t, run["vehicle.velocity"])]),
            Panel("torque at the axle", "kN.m", [("b", "gearbox.axle_torque", t, axle)]),
            Panel("power", "kW", [("c", "motor.power", t, run["powertrain/motor.power"])]),
        ], 0, 20)

        bench = Bench(powerbond, "hydraulic-cylinder", folder)
        run, summary = bench.run("--verify")
        exact = bench.exact(np.round(np.linspace(0, 3, 3001), 9))
        t = run["time"]
        draw(examples / "hydraulic-cylinder/results.svg", "Hydraulic cylinder", [
            Panel("velocity", "m/s", [("a", "mass.velocity", t, run["mass.velocity"])]),
            Panel("force", "kN", [("b", "cylinder.force", t, [f / 1e3 for f in run["cylinder.force"]])]),
            Panel("pressures", "MPa", [(c, f"cylinder.{n}", t, [p / 1e6 for p in run[f"cylinder.{n}"]]) for c, n in (("a", "pressure1"), ("d", "pressure2"))]),
        ], 0, 3)
        error, steps = summary["verdict"]["error"], summary["steps"]["accepted"]
        step = 5e-4
        other_t, other = libcosim(bench, step, 3.0)
        reference = ("exact", "", exact["time"], exact["mass.velocity"])
        largest = max(map(abs, other))
        percent = lambda x: f"{100 * x:.2g} %"
        draw(ROOT / "docs/pictures/stiff-pair.svg", "The same two FMUs, coupled twice", [
            Panel(f"a constant step of {1e3 * step:g} ms, {len(other) - 1} steps (libcosim): no error, no warning, {largest:.2g} m/s at the end", "m/s",
                  [("b", "", other_t, other), reference], -0.25, 0.35),
            Panel(f"powerbond without any setting, {steps} steps: {summary['verdict']['word'].upper()}, error {percent(error['estimate'])} ({percent(error['low'])} to {percent(error['high'])})", "m/s",
                  [("a", "", t, run["mass.velocity"]), reference], -0.25, 0.35),
        ], 0, 3, time="velocity of the mass over the time in s; dotted: the exact solution")


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
