"""Systems that powerbond converts run in other tools with the same numbers.

At a constant step with constant inputs: folders of OSP in libcosim, archives of SSP in FMPy and in Ecos. Needs fmpy, libcosimpy, ecospy
and tbb, and the release build:

    cargo build --release
    python tests/python/test_structures.py
"""

import csv
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd, read_ssv
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimObserver import CosimObserver

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target" / "release" / "powerbond"
STEP = 1e-3
STOP = 0.5
# The drive train makes as many internal steps as fit: round-off in the length of a step must not make one more.
VAN_STEP = 8e-4
VAN_STEPS = 1500
VAN_STOP = 1.2


def run(*words, cwd):
    done = subprocess.run([POWERBOND, *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_row(folder):
    """The values at the end, by name."""
    with open(folder / "results.csv", newline="") as file:
        rows = list(csv.reader(file))
    return dict(zip(rows[0], map(float, rows[-1])))


# Ecos finds threads of TBB where the loader looks, so it runs in a process of its own, which is told where they are.
ECOS = """
import sys
from ecospy import EcosLib, EcosSimulation
EcosLib.set_log_level("warn")
path, step, steps, *names = sys.argv[1:]
with EcosSimulation(float(step), path) as simulation:
    simulation.init(parameter_set="initialValues")
    simulation.step(int(steps))
    for name in names:
        print(name, repr(simulation.get_real(name)))
"""


def ecos(path, step, steps, names):
    """Values of outputs at the end of a run by Ecos."""
    files = importlib.metadata.files("tbb") or []
    folder = next(file.locate().resolve().parent for file in files if file.name.startswith("libtbb.so"))
    libraries = os.pathsep.join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))
    words = [sys.executable, "-c", ECOS, str(path), str(step), str(steps), *names]
    done = subprocess.run(words, env=dict(os.environ, LD_LIBRARY_PATH=libraries), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pairs = (line.split() for line in done.stdout.splitlines() if line.count("::") == 1)
    return {name: float(value) for name, value in pairs}


class Structures(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        text = (ROOT / "examples" / "quarter-car" / "system.toml").read_text().split("[method]")[0]
        text = text.replace("step = 1e-4", f"step = {STEP}").replace("stop = 4.0", f"stop = {STOP}")
        (self.folder / "system.toml").write_text(text)

    def tearDown(self):
        self.temporary.cleanup()

    def drive_train(self):
        """The example at a constant step, beside its FMUs."""
        folder = self.folder / "drive-train"
        shutil.copytree(ROOT / "examples" / "drive-train", folder)
        subprocess.run(["sh", "build.sh"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        run("convert", "drive-train", "van.toml", cwd=self.folder)
        text = (self.folder / "van.toml").read_text()
        (self.folder / "van.toml").write_text(text.replace("stop = 20.0", f"stop = {VAN_STOP}\nstep = {VAN_STEP}"))

    def assert_equal(self, theirs, ours):
        self.assertTrue(theirs)
        for name, value in theirs.items():
            scale = abs(ours[name])
            self.assertGreater(scale, 0.0, name)
            self.assertLess(abs(value - ours[name]) / scale, 1e-9, name)

    def libcosim(self, folder, stop, names):
        execution = CosimExecution.from_osp_config_file(osp_path=str(self.folder / folder))
        observer = CosimObserver.create_last_value()
        execution.add_observer(observer)
        self.assertTrue(execution.simulate_until(round(stop * 1e9)))
        found = {}
        for slave in execution.slave_infos():
            for variable in execution.slave_variables(slave.index):
                name = f"{slave.name.decode()}.{variable.name.decode()}"
                # Inputs are those of the step there, and those after it here.
                if name in names:
                    found[name] = observer.last_real_values(slave.index, [variable.reference])[0]
        self.assertEqual(set(found), set(names))
        return found

    def test_a_folder_of_osp_runs_in_libcosim(self):
        run("convert", "system.toml", "osp", cwd=self.folder)
        run("run", "osp", "--output-dir", "out", cwd=self.folder)
        names = ["chassis.velocity", "wheel.suspension_force"]
        self.assert_equal(self.libcosim("osp", STOP, names), last_row(self.folder / "out"))

    def test_steps_of_three_lengths_are_those_of_libcosim(self):
        # 2, 4 and 6 ms: two of them exchange values whenever their steps end together.
        text = "[simulation]\nstop = 0.6\nstep = 12e-3\n"
        for name, model, rate, values in [
            ("mass", "mass", 6, "mass = 1.2, stiffness = 800.0, initial_velocity = -100.0"),
            ("left", "force-giver", 3, "mass = 1.0, stiffness = 10.0, coupling_stiffness = 100.0, initial_velocity = 100.0"),
            ("right", "force-giver", 2, "mass = 1.7, stiffness = 22.0, coupling_stiffness = 60.0, initial_velocity = -20.0"),
        ]:
            text += f'[subsystems.{name}]\nmodel = "oscillator/{model}"\nrate = {rate}\nparameters = {{ {values} }}\n'
        wires = [("left.force", "mass.force")]
        wires += [(f"mass.{name}", f"{side}.{name}") for side in ("left", "right") for name in ("position", "velocity")]
        for start, end in wires:
            text += f'[[connections]]\nfrom = "{start}"\nto = "{end}"\n'
        (self.folder / "three.toml").write_text(text)
        run("convert", "three.toml", "three", cwd=self.folder)
        run("run", "three", "--output-dir", "out", cwd=self.folder)
        names = ["mass.position", "mass.velocity", "left.force", "right.force"]
        self.assert_equal(self.libcosim("three", 0.6, names), last_row(self.folder / "out"))

    def test_an_archive_of_ssp_runs_in_fmpy(self):
        # FMPy knows neither units nor transformations, nor parameters in structures: it takes them from a set that it is given. The first
        # inputs are zero there, as outputs are here in the beginning; numbers go from one FMU to the other as they are.
        self.drive_train()
        connections = [
            ("driver.demand", "motor.demand"),
            ("motor.speed", "gearbox.motor_speed"),
            ("gearbox.shaft_torque", "motor.load_torque"),
            ("vehicle.wheel_speed", "gearbox.wheel_speed"),
            ("gearbox.axle_torque", "vehicle.axle_torque"),
            ("vehicle.velocity", "driver.velocity"),
        ]
        parameters = {
            "motor": {"inertia": 0.5},
            "gearbox": {"ratio": 2.0, "stiffness": 1.5, "damping": 0.01},
            "vehicle": {"radius": 100.0, "mass": 2500.0},
        }
        text = f"[simulation]\nstop = {VAN_STOP}\nstep = {VAN_STEP}\n"
        for part in ("driver", "motor", "gearbox", "vehicle"):
            values = ", ".join(f"{name} = {value}" for name, value in parameters.get(part, {}).items())
            text += f'[subsystems.{part}]\nfmu = "files/{part}.fmu"\nparameters = {{ {values} }}\n'
        for start, end in connections:
            text += f'[[connections]]\nfrom = "{start}"\nto = "{end}"\nconvert_units = false\n'
        (self.folder / "plain.toml").write_text(text)
        run("convert", "plain.toml", "van.ssp", cwd=self.folder)
        run("run", "van.ssp", "--output-dir", "out", cwd=self.folder)
        structure = read_ssd(str(self.folder / "van.ssp"))
        self.assertEqual(len(structure.system.connections), len(connections))
        lines = "".join(
            f'<ssv:Parameter name="{part}.{name}"><ssv:Real value="{value}"/></ssv:Parameter>'
            for part, values in parameters.items()
            for name, value in values.items()
        )
        namespace = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
        set_of_all = self.folder / "all.ssv"
        set_of_all.write_text(
            f'<ssv:ParameterSet xmlns:ssv="{namespace}" version="1.0" name="all"><ssv:Parameters>{lines}</ssv:Parameters></ssv:ParameterSet>'
        )
        # Its rows have the outputs after the step that begins at their time; half a step less, and round-off adds none.
        rows = simulate_ssp(str(self.folder / "van.ssp"), stop_time=VAN_STOP - VAN_STEP / 2, step_size=VAN_STEP, parameter_set=read_ssv(str(set_of_all)))
        self.assertEqual(len(rows), VAN_STEPS)
        names = ["driver.demand", "motor.torque", "gearbox.shaft_torque", "vehicle.velocity"]
        self.assert_equal({name: rows[-1][name] for name in names}, last_row(self.folder / "out"))

    def test_an_archive_of_ssp_runs_in_ecos(self):
        # Gains, start values and inputs that stay constant are in it. What depends on inputs at once is read there after inputs have changed,
        # so it is compared where it arrives.
        run("convert", "system.toml", "car.ssp", cwd=self.folder)
        run("run", "car.ssp", "--output-dir", "out", cwd=self.folder)
        names = ["chassis.velocity", "chassis.force"]
        found = ecos(self.folder / "car.ssp", STEP, round(STOP / STEP), [name.replace(".", "::") for name in names])
        self.assert_equal({name.replace("::", "."): value for name, value in found.items()}, last_row(self.folder / "out"))

    def test_the_drive_train_runs_in_libcosim_and_ecos(self):
        # Conversions of units are functions in OSP and transformations in SSP.
        self.drive_train()
        run("run", "van.toml", "--output-dir", "out", cwd=self.folder)
        ours = last_row(self.folder / "out")
        run("convert", "van.toml", "osp", cwd=self.folder)
        run("convert", "van.toml", "van.ssp", cwd=self.folder)
        names = ["driver.demand", "powertrain/motor.torque", "powertrain/gearbox.shaft_torque", "vehicle.velocity"]
        self.assert_equal(self.libcosim("osp", VAN_STOP, names), ours)
        names = ["powertrain/motor.demand", "powertrain/motor.torque", "powertrain/motor.load_torque", "vehicle.velocity"]
        found = ecos(self.folder / "van.ssp", VAN_STEP, VAN_STEPS, [name.replace(".", "::") for name in names])
        self.assert_equal({name.replace("::", "."): value for name, value in found.items()}, ours)


if __name__ == "__main__":
    unittest.main()
