"""FMUs that other tools wrote, and ours, give the same numbers in powerbond and in FMPy.

Needs fmpy, pythonfmu and pythonfmu3 from the Python registry, a C compiler and a Rust toolchain:

    python tests/python/test_fmi_import.py
"""

import csv
import io
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile

import fmpy
import fmpy.validation
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
FMUS = ROOT / "crates" / "fmi" / "tests" / "fmus"

MODEL = """
from {package} import {prefix}Causality as Causality, {prefix}Slave, {prefix}Variability as Variability
from {package} import {real} as Real, {integer} as Integer, Boolean, String

class {name}({prefix}Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.time = 0.0
        self.u, self.x, self.v, self.k, self.n, self.on, self.label = 0.0, 1.0, 0.0, 4.0, 0, True, "spring"
        {time}
        self.register_variable(Real("u", causality=Causality.input))
        self.register_variable(Real("x", causality=Causality.output))
        self.register_variable(Real("v", causality=Causality.output))
        self.register_variable(Integer("n", causality=Causality.output, variability=Variability.discrete))
        self.register_variable(Boolean("on", causality=Causality.input, variability=Variability.discrete))
        self.register_variable(Real("k", causality=Causality.parameter, variability=Variability.fixed))
        self.register_variable(String("label", causality=Causality.parameter, variability=Variability.fixed))

    def do_step(self, t, h):
        if self.on:
            self.v += h * (-self.k * self.x + self.u)
            self.x += h * self.v
        self.n += len(self.label)
        return True
"""

TIME = 'self.register_variable(Real("time", causality=Causality.independent, variability=Variability.continuous))'


def python_fmu(folder, version):
    """An FMU made of Python code by pythonfmu or pythonfmu3."""
    if version == 2:
        words = dict(package="pythonfmu", prefix="Fmi2", real="Real", integer="Integer", name="Spring", time="")
    else:
        words = dict(package="pythonfmu3", prefix="Fmi3", real="Float64", integer="Int32", name="Spring3", time=TIME)
    script = folder / (words["name"].lower() + ".py")
    script.write_text(MODEL.format(**words))
    subprocess.run([sys.executable, "-m", words["package"], "build", "-f", script, "-d", folder], check=True)
    return folder / (words["name"] + ".fmu")


def c_fmu(folder, name):
    """One of the project's own C FMUs."""
    library = folder / f"{name}.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, FMUS / f"{name}.c", "-lm"], check=True)
    path = folder / f"{name}.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(FMUS / f"{name}.xml", "modelDescription.xml")
        platform = "x86_64-linux" if name.endswith("3") else "linux64"
        archive.write(library, f"binaries/{platform}/{name}.so")
        archive.writestr("resources/greeting.txt", "good morning")
    return path


def in_powerbond(path, step, values):
    """The rows that powerbond's example prints, as a dictionary of columns."""
    settings = [part for name, value in values.items() for part in ("--set", f"{name}={value}".replace("True", "true"))]
    runner = [ROOT / "target" / "debug" / "examples" / "run_fmu", path, "--stop", "1", "--step", str(step)]
    # The interpreter that runs this test may not be where the loader looks.
    libpython = pathlib.Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("INSTSONAME")
    environment = dict(os.environ, POWERBOND_PRELOAD=str(libpython) if libpython.exists() else "")
    done = subprocess.run(runner + settings, check=True, capture_output=True, text=True, env=environment)
    rows = list(csv.reader(io.StringIO(done.stdout)))
    table = np.array(rows[1:], dtype=float)
    return {name: table[:, i] for i, name in enumerate(rows[0])}


class Import(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run(["cargo", "build", "-q", "-p", "powerbond-fmi", "--example", "run_fmu"], cwd=ROOT, check=True)
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, path, outputs, values, step=0.01):
        ours = in_powerbond(path, step, values)
        theirs = fmpy.simulate_fmu(
            str(path), stop_time=1.0, step_size=step, output_interval=step, start_values=values, output=outputs
        )
        self.assertEqual(len(ours["time"]), len(theirs["time"]))
        for name in outputs:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-12, err_msg=name)
        return ours

    def test_python_models_of_fmi_2(self):
        path = python_fmu(pathlib.Path(self.folder.name), 2)
        ours = self.check(path, ["x", "v", "n"], {"k": 9.0, "u": 0.5, "label": "abc"})
        self.assertEqual(ours["n"][-1], 300)
        self.assertLess(abs(ours["x"][-1] - (0.5 / 9 + (1 - 0.5 / 9) * np.cos(3))), 0.02)

    def test_python_models_of_fmi_3(self):
        path = python_fmu(pathlib.Path(self.folder.name), 3)
        self.check(path, ["x", "v", "n"], {"k": 9.0, "u": 0.5})

    def test_c_models_of_fmi_2(self):
        path = c_fmu(pathlib.Path(self.folder.name), "integrator2")
        self.assertEqual(fmpy.validation.validate_fmu(str(path)), [])
        self.check(path, ["x", "y"], {"k": 2.0, "u": 3.0, "x0": 1.0}, step=0.25)

    def test_c_models_of_fmi_3(self):
        path = c_fmu(pathlib.Path(self.folder.name), "integrator3")
        # FMPy 0.3.32 wants aliases among the unknowns, for which the standard has no place.
        findings = [f for f in fmpy.validation.validate_fmu(str(path)) if "Expected {position, x, y}" not in f]
        self.assertEqual(findings, [])
        self.check(path, ["x", "y"], {"k": 2.0, "u": 3.0, "x0": 1.0}, step=0.25)

    def test_c_models_of_fmi_1(self):
        path = c_fmu(pathlib.Path(self.folder.name), "slave1")
        self.check(path, ["x", "steps"], {"k": 2.0, "u": 3.0}, step=0.25)


if __name__ == "__main__":
    unittest.main()
