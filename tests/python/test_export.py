"""Exported models validate and run in other tools with the numbers that they have in powerbond.

Every built-in model as an FMU of FMI 2.0 and 3.0: FMPy's validation finds nothing, and FMPy computes the same numbers.
The quarter car and the oscillator also run coupled in libcosim. Needs fmpy and libcosimpy, and the release build:

    cargo build --release
    python -m unittest tests/python/test_export.py
"""

import csv
import ctypes
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import fmpy
import fmpy.validation
import numpy as np
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimManipulator import CosimManipulator
from libcosimpy.CosimObserver import CosimObserver

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target" / "release" / "powerbond"


def powerbond(*arguments):
    """What the command prints."""
    done = subprocess.run([POWERBOND, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"powerbond {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def rows(folder, text, *options):
    """The results of a system file, as a dictionary of columns; one row per time, as steps have ended."""
    (folder / "system.toml").write_text(text)
    powerbond("run", folder / "system.toml", "--quiet", "--overwrite", "--output-dir", folder / "results", *options)
    with open(folder / "results" / "results.csv", newline="") as file:
        lines = list(csv.reader(file))
    table = np.array(lines[1:], dtype=float)
    # Of the two rows of a discontinuity the first one: other tools change inputs after it is written.
    table = table[np.unique(table[:, 0], return_index=True)[1]]
    return {name: table[:, i] for i, name in enumerate(lines[0])}


def literal(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


def subsystem(name, model, parameters):
    given = ", ".join(f"{key} = {literal(value)}" for key, value in parameters.items())
    return f'[subsystems.{name}]\nmodel = "{model}"\nparameters = {{ {given} }}\n'


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not POWERBOND.exists():
            subprocess.run(["cargo", "build", "--release", "--workspace"], cwd=ROOT, check=True)
        cls.models = json.loads(powerbond("methods", "--json"))["models"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def export(self, model, fmi, parameters={}):
        path = self.folder / f"{model.replace('/', '_')}_{fmi}.fmu"
        settings = [part for name, value in parameters.items() for part in ("--set", f"{name}={value}")]
        powerbond("export", model, "--fmi", fmi, "--quiet", "-o", path, *settings)
        return path

    def test_every_model_validates_and_has_the_same_numbers(self):
        self.assertGreaterEqual(len(self.models), 16)
        for model in self.models:
            for fmi in (2, 3):
                with self.subTest(model=model["name"], fmi=fmi):
                    path = self.export(model["name"], fmi)
                    self.assertEqual(fmpy.validation.validate_fmu(str(path)), [])
                    self.compare(path, model["name"], {})

    def test_parameters_are_parameters_in_every_tool(self):
        exported = {"mass": 45.5, "damper": "square-root"}
        set_there = {"stiffness": 16000.0, "micro_steps": 3, "far_end": "once", "integrator": "accurate"}
        for fmi in (2, 3):
            with self.subTest(fmi=fmi):
                path = self.export("quarter-car/wheel-suspension", fmi, exported)
                self.compare(path, "quarter-car/wheel-suspension", exported | set_there, set_there)

    def compare(self, path, model, parameters, set_there={}):
        """Constant inputs off their start values, every variable, 100 steps of 1 ms."""
        description = fmpy.read_model_description(str(path))
        variables = [v for v in description.modelVariables if v.causality in ("input", "output", "local")]
        inputs = {v.name: float(v.start) + 0.01 for v in variables if v.causality == "input"}
        outputs = [v.name for v in variables if v.causality != "input"]
        theirs = fmpy.simulate_fmu(
            str(path), stop_time=0.1, step_size=1e-3, output_interval=1e-3, start_values=inputs | set_there, output=outputs
        )
        text = "[simulation]\nstop = 0.1\nstep = 1e-3\n" + subsystem("x", model, parameters)
        text += "[inputs]\n" + "".join(f'"x.{name}" = {value!r}\n' for name, value in inputs.items())
        ours = rows(self.folder, text + '[record]\nvariables = ["*"]\n')
        np.testing.assert_allclose(theirs["time"], ours["time"], rtol=0, atol=1e-12)
        for name in outputs:
            scale = np.max(np.abs(ours[f"x.{name}"]))
            np.testing.assert_allclose(
                theirs[name], ours[f"x.{name}"], rtol=1e-12, atol=1e-12 * scale, err_msg=f"{path.name} {name}"
            )

    def begun(self, path):
        """An instance in FMPy, initialized, with the value references of its variables."""
        description = fmpy.read_model_description(str(path))
        folder = fmpy.extract(str(path), str(path.with_suffix("")))
        unit = fmpy.instantiate_fmu(folder, description, "CoSimulation")
        self.addCleanup(unit.freeInstance)
        if description.fmiVersion == "2.0":
            unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        return unit, {v.name: v.valueReference for v in description.modelVariables}

    def test_the_command_alone_has_the_library_inside(self):
        """As `cargo install` leaves it: no file beside the command."""
        alone = self.folder / "bin" / "powerbond"
        alone.parent.mkdir()
        shutil.copy(POWERBOND, alone)
        path = self.folder / "alone.fmu"
        ran = subprocess.run([alone, "export", "quarter-car/wheel", "-o", path], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(fmpy.validation.validate_fmu(str(path)), [])
        self.assertEqual(fmpy.simulate_fmu(str(path), stop_time=0.1)["time"][-1], 0.1)

    def test_input_derivatives_in_fmpy(self):
        """Under the force 3 t + 2 t² a mass of 2 kg moves by t³/4 + t⁴/12, exactly."""
        unit, names = self.begun(self.export("quarter-car/chassis", 2, {"integrator": "accurate", "mass": 2.0}))
        for n in range(10):
            t = n / 10
            unit.setReal([names["force"]], [3 * t + 2 * t**2])
            references = (ctypes.c_uint * 2)(*[names["force"]] * 2)
            orders, values = (ctypes.c_int * 2)(1, 2), (ctypes.c_double * 2)(3 + 4 * t, 4.0)
            unit.fmi2SetRealInputDerivatives(unit.component, references, 2, orders, values)
            unit.doStep(t, 0.1)
            t = (n + 1) / 10
            np.testing.assert_allclose(unit.getReal([names["position"]]), [t**3 / 4 + t**4 / 12], rtol=1e-12)

    def test_directional_derivatives_in_fmpy(self):
        """The suspension force feeds the velocity of the chassis through with the damping, and the road not at all."""
        for fmi in (2, 3):
            unit, names = self.begun(self.export("quarter-car/wheel-suspension", fmi, {"damping": 1234.0}))
            known = [names["chassis_velocity"], names["road"]]
            found = unit.getDirectionalDerivative([names["suspension_force"]], known, [2.0, 5.0])
            self.assertEqual(list(found), [2468.0])

    def test_states_as_bytes_in_fmpy(self):
        """Ten steps, a copy as bytes, ten steps, back, the same ten steps."""
        for fmi in (2, 3):
            unit, names = self.begun(self.export("pendula/force-giver", fmi))
            get = unit.getReal if fmi == 2 else unit.getFloat64
            state = "FMUstate" if fmi == 2 else "FMUState"

            def ten_steps(start):
                seen = []
                for n in range(start, start + 10):
                    unit.doStep(n * 1e-2, 1e-2)
                    seen.append(list(get([names["angle"], names["force_x"], names["energy"]])))
                return seen

            ten_steps(0)
            copy = getattr(unit, f"get{state}")()
            data = getattr(unit, f"serialize{state}")(copy)
            getattr(unit, f"free{state}")(copy)
            first = ten_steps(10)
            copy = getattr(unit, "deSerializeFMUstate" if fmi == 2 else "deserializeFMUState")(data)
            getattr(unit, f"set{state}")(copy)
            getattr(unit, f"free{state}")(copy)
            self.assertEqual(first, ten_steps(10))

    def coupled(self, parts, connections, step, steps, recorded, inputs={}, texts={}, scenario=None):
        """The same system in libcosim and in powerbond: `recorded` after each step.

        `parts` are models with the start values that they are exported with, `inputs` and `texts` are set in libcosim,
        `scenario` is played by both.
        """
        for name, (model, given) in parts.items():
            self.export(model, 2, given).rename(self.folder / f"{name}.fmu")
        simulators = "".join(f'<Simulator name="{n}" source="{n}.fmu"/>' for n in parts)
        functions, wires = "", ""
        for k, (source, target, gain) in enumerate(connections):
            ends = [f'<Variable simulator="{end.split(".")[0]}" name="{end.split(".")[1]}"/>' for end in (source, target)]
            if gain == 1.0:
                wires += f"<VariableConnection>{ends[0]}{ends[1]}</VariableConnection>"
            else:
                functions += f'<LinearTransformation name="gain{k}" factor="{gain}" offset="0"/>'
                wires += f'<SignalConnection>{ends[0]}<Signal function="gain{k}" name="in"/></SignalConnection>'
                wires += f'<SignalConnection>{ends[1]}<Signal function="gain{k}" name="out"/></SignalConnection>'
        (self.folder / "OspSystemStructure.xml").write_text(
            '<?xml version="1.0" encoding="utf-8"?><OspSystemStructure version="0.1" '
            'xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure">'
            f"<BaseStepSize>{step}</BaseStepSize><Algorithm>fixedStep</Algorithm>"
            f"<Simulators>{simulators}</Simulators><Functions>{functions}</Functions>"
            f"<Connections>{wires}</Connections></OspSystemStructure>"
        )
        execution = CosimExecution.from_osp_config_file(str(self.folder))
        index = {part: execution.slave_index_from_instance_name(part) for part in parts}
        for name, value in inputs.items():
            part, variable = name.split(".")
            self.assertTrue(execution.real_initial_value(index[part], self.reference(part, variable), value))
        for name, value in texts.items():
            part, variable = name.split(".")
            self.assertTrue(execution.string_initial_value(index[part], self.reference(part, variable), value))
            parts[part][1][variable] = value
        observer = CosimObserver.create_last_value()
        self.assertTrue(execution.add_observer(observer))
        options = []
        if scenario:
            path = self.folder / "scenario.json"
            path.write_text(json.dumps(scenario))
            manager = CosimManipulator.create_scenario_manager()
            self.assertTrue(execution.add_manipulator(manager))
            self.assertTrue(execution.load_scenario(manager, str(path)))
            options = ["--scenario", path]
        references = {name: self.reference(*name.split(".")) for name in recorded}
        theirs = []
        for _ in range(steps):
            self.assertTrue(execution.step())
            row = []
            for name in recorded:
                part = name.split(".")[0]
                row += observer.last_real_values(index[part], [references[name]])
            theirs.append(row)
        text = f"[simulation]\nstop = {step * steps!r}\nstep = {step!r}\n"
        text += "".join(subsystem(name, model, given) for name, (model, given) in parts.items())
        for source, target, gain in connections:
            text += f'[[connections]]\nfrom = "{source}"\nto = "{target}"\ngain = {gain}\n'
        if inputs:
            text += "[inputs]\n" + "".join(f'"{name}" = {value!r}\n' for name, value in inputs.items())
        ours = rows(self.folder, text + "[record]\nvariables = [" + ", ".join(f'"{n}"' for n in recorded) + "]\n", *options)
        theirs = np.array(theirs)
        self.assertEqual(len(ours["time"]), steps + 1)
        for i, name in enumerate(recorded):
            scale = np.max(np.abs(ours[name]))
            np.testing.assert_allclose(theirs[:, i], ours[name][1:], rtol=1e-9, atol=1e-9 * scale, err_msg=name)

    def reference(self, part, variable):
        description = fmpy.read_model_description(str(self.folder / f"{part}.fmu"))
        return next(v.valueReference for v in description.modelVariables if v.name == variable)

    def test_the_quarter_car_in_libcosim(self):
        parts = {
            "chassis": ("quarter-car/chassis", {}),
            "wheel": ("quarter-car/wheel-suspension", {"mass": 41.0}),
        }
        connections = [
            ("chassis.velocity", "wheel.chassis_velocity", 1.0),
            ("wheel.suspension_force", "chassis.force", -1.0),
        ]
        recorded = ["chassis.velocity", "wheel.suspension_force", "wheel.position"]
        self.coupled(parts, connections, 1e-3, 2000, recorded, {"wheel.road": 0.1}, {"wheel.far_end": "once"})

    def test_a_scenario_in_libcosim(self):
        """Inputs that something feeds and inputs that nothing feeds; outputs change a step later there.

        None of them is fed through: what depends on an input at the same instant changes with it here, and a step later there."""
        parts = {"chassis": ("quarter-car/chassis", {}), "wheel": ("quarter-car/wheel-suspension", {})}
        connections = [
            ("chassis.velocity", "wheel.chassis_velocity", 1.0),
            ("wheel.suspension_force", "chassis.force", -1.0),
        ]
        recorded = ["chassis.velocity", "wheel.suspension_force", "wheel.position"]
        scenario = {
            "description": "a road with steps, a force with an offset, a seized strut",
            "defaults": {"model": "wheel", "action": "override"},
            "events": [
                {"time": 0.1, "variable": "road", "value": 0.05},
                {"time": 0.3, "variable": "road", "action": "bias", "value": 0.02},
                {"time": 0.5, "variable": "road", "action": "reset"},
                {"time": 0.6, "model": "chassis", "variable": "force", "action": "bias", "value": 50.0},
                {"time": 0.8, "model": "chassis", "variable": "force", "value": -100.0},
                {"time": 0.9, "model": "chassis", "variable": "force", "action": "reset"},
                {"time": 1.1, "variable": "road", "action": "bias", "value": -0.01},
            ],
            "end": 1.2,
        }
        inputs, texts = {"wheel.road": 0.1}, {"wheel.far_end": "once"}
        self.coupled(parts, connections, 1e-3, 1500, recorded, inputs, texts, scenario)

    def test_the_oscillator_in_libcosim(self):
        parts = {
            "giver": ("oscillator/force-giver", {"coupling_damping": 0.1, "initial_velocity": 90.0}),
            "mass": ("oscillator/mass", {"damping": 0.1}),
        }
        connections = [
            ("mass.position", "giver.position", 1.0),
            ("mass.velocity", "giver.velocity", 1.0),
            ("giver.force", "mass.force", 1.0),
        ]
        recorded = ["giver.force", "mass.position", "mass.velocity", "giver.energy"]
        self.coupled(parts, connections, 1e-3, 2000, recorded)


if __name__ == "__main__":
    unittest.main()
