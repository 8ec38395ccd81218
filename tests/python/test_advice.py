"""Advice for Python FMUs that can do nothing optional, followed: it helps as it says."""

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"

GAIN = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real

class Gain(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.u, self.w, self.y = 0.0, 0.0, 0.0
        self.register_variable(Real("u", causality=Fmi2Causality.input))
        self.register_variable(Real("w", causality=Fmi2Causality.input))
        self.register_variable(Real("y", causality=Fmi2Causality.output))

    def do_step(self, t, h):
        self.y = 0.9 * (self.u + self.w)
        return True
"""

MASS = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real

class Mass(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.f, self.x, self.v = 0.0, 0.0, 1.0
        self.register_variable(Real("f", causality=Fmi2Causality.input))
        self.register_variable(Real("v", causality=Fmi2Causality.output))

    def do_step(self, t, h):
        self.x, self.v = self.x + h * self.v, self.v + h * (self.f - 2 * self.v - 100 * self.x)
        return True
"""

SPRING = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real

class Spring(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.v, self.x, self.f = 0.0, 0.0, 0.0
        self.register_variable(Real("v", causality=Fmi2Causality.input))
        self.register_variable(Real("f", causality=Fmi2Causality.output))

    def do_step(self, t, h):
        self.x += h * self.v
        self.f = -40 * self.x
        return True
"""


def build(folder, *sources):
    for source in sources:
        name = re.search(r"class (\w+)", source)[1]
        (folder / f"{name.lower()}.py").write_text(source)
        subprocess.run([sys.executable, "-m", "pythonfmu", "build", "-f", f"{name.lower()}.py"], cwd=folder, check=True, capture_output=True)


def run(folder, *options):
    libpython = pathlib.Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("INSTSONAME")
    preload = str(libpython) if libpython.exists() else ""
    command = [POWERBOND, "run", "system.toml", "--output-dir", "out", "--overwrite", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=dict(os.environ, POWERBOND_PRELOAD=preload))


def test_what_explodes_in_ever_smaller_steps_is_met_by_constant_ones(tmp_path):
    """A ring of gains whose outputs follow inputs in steps only: a larger tolerance was advised, which explodes as well."""
    build(tmp_path, GAIN)
    (tmp_path / "system.toml").write_text("""
        [simulation]
        stop = 1.0
        [subsystems.a]
        fmu = "Gain.fmu"
        [subsystems.b]
        fmu = "Gain.fmu"
        [[connections]]
        from = "a.y"
        to = "b.u"
        [[connections]]
        from = "b.y"
        to = "a.u"
        [inputs]
        "a.w" = { step = { time = 0.1, to = 1.0 } }
        "b.w" = 0.0
    """)
    ran = run(tmp_path)
    assert ran.returncode == 4 and "a larger `--tolerance`" not in ran.stderr, ran.stderr
    option, step = re.search(r"`(--step-size) (\S+)`", " ".join(ran.stderr.split())).groups()
    ran = run(tmp_path, option, step)
    assert ran.returncode == 0, ran.stderr
    header, *_, last = (tmp_path / "out/results.csv").read_text().splitlines()
    # y = 0.9 (0.9 y + 1).
    found = dict(zip(header.split(","), map(float, last.split(","))))["a.y"]
    assert abs(found - 0.9 / (1 - 0.81)) < 1e-6


def test_own_steps_that_nothing_divides_are_met_by_a_rate(tmp_path):
    """Of a mass with steps of Euler's method: a smaller tolerance came first, which they do not follow."""
    build(tmp_path, MASS, SPRING)
    system = """
        [simulation]
        stop = 2.0
        [subsystems.mass]
        fmu = "Mass.fmu"
        [subsystems.spring]
        fmu = "Spring.fmu"
        [[connections]]
        from = "mass.v"
        to = "spring.v"
        [[connections]]
        from = "spring.f"
        to = "mass.f"
    """

    def judged(text):
        (tmp_path / "system.toml").write_text(text)
        ran = run(tmp_path, "--tolerance", "1e-2")
        assert ran.returncode == 0, ran.stderr
        verdict = json.loads((tmp_path / "out/summary.json").read_text())["verdict"]
        return verdict["error"]["own"], verdict["advice"]

    before, advice = judged(system)
    rate = re.fullmatch(r"`(rate = \d+)` in `\[subsystems\.mass\]`: .*", advice[0])
    assert rate, advice
    after, _ = judged(system.replace("Mass.fmu\"", f"Mass.fmu\"\n        {rate[1]}"))
    # Steps of order 1, four times as short.
    assert after < 0.4 * before, (before, after)
