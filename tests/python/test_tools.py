"""What is asked beside runs: check, tune, compare, inspect; and FMPy's functions, beside FMPy itself."""

import inspect
import os
import signal
import subprocess
import threading
from pathlib import Path
from time import sleep

import fmpy
import numpy as np
import powerbond as pb
import pytest
from crashing import crashing_fmu
from test_fmi_import import c_fmu

ROOT = Path(__file__).parents[2]
POWERBOND = ROOT / "target/release/powerbond"
QUARTER_CAR = ROOT / "examples/quarter-car"


@pytest.fixture(scope="module", params=["2", "3"])
def wheel(request, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("fmu") / "wheel.fmu"
    export = [POWERBOND, "export", "quarter-car/wheel-suspension", "--fmi", request.param, "-o", file]
    subprocess.run(export, check=True, capture_output=True)
    return file


def test_a_system_is_checked(tmp_path):
    check = pb.check(QUARTER_CAR)
    assert [s["name"] for s in check.subsystems] == ["chassis", "wheel"] and check.loops == [] and check.failure is None
    assert "<svg" in check._repr_html_() and "2 subsystems" in repr(check)
    with pytest.raises(AttributeError, match="Did you mean `loops`"):
        check.lops
    (tmp_path / "system.toml").write_text("[subsystems.a]\nmodle = 'algebraic/gain'\n[simulation]\nstopp = 1.0\n")
    with pytest.raises(pb.PowerbondError) as caught:
        pb.check(tmp_path)
    # Both mistakes, in one go.
    assert "Did you mean `model`" in str(caught.value) and "Did you mean `stop`" in str(caught.value)
    assert (Path(caught.value.file), caught.value.line) == (tmp_path / "system.toml", 2)


def test_a_crash_in_a_check_is_an_exception(tmp_path):
    crash = crashing_fmu(tmp_path)
    # A check makes no step; the start of a run with a later beginning does not either.
    assert pb.check(crash).failure is None


def test_methods_are_tuned():
    tuning = pb.tune(QUARTER_CAR, error=0.05, budget=3.0, stop=0.5, progress=False)
    assert tuning.choice["reached"] and tuning.choice["name"] in repr(tuning) and tuning.wanted == 0.05
    assert len(tuning.methods) > 5
    with pytest.raises(ValueError, match="`budget`"):
        pb.tune(QUARTER_CAR, budget=-1.0)


def test_ctrl_c_ends_tuning():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        pb.tune(QUARTER_CAR, budget=60.0, stop=4.0)


def test_results_are_compared():
    fine, coarse = pb.run(QUARTER_CAR, stop=1.0, tolerance=1e-6), pb.run(QUARTER_CAR, stop=1.0, tolerance=1e-2)
    far = pb.compare(coarse, fine, rtol=1e-9)
    assert not far.within and "chassis.velocity" in repr(far)
    assert pb.compare(coarse, fine, rtol=0.5).within and pb.compare(fine, fine).exceeded == 0
    with pytest.raises(TypeError, match="`reference` is 3"):
        pb.compare(fine, 3)
    with pytest.raises(pb.PowerbondError, match="no-such"):
        pb.compare(fine, "no-such.csv")


def test_an_fmu_is_inspected(wheel):
    info = pb.inspect(wheel)
    assert info.model and {"road", "suspension_force"} <= {v["name"] for v in info.variables}
    with pytest.raises(pb.PowerbondError, match="no-such.fmu"):
        pb.inspect("no-such.fmu")
    with pytest.raises(TypeError, match="`fmu` is None"):
        pb.inspect(None)


def test_model_descriptions_have_fmpys_names(wheel):
    ours, theirs = pb.read_model_description(wheel), fmpy.read_model_description(wheel)
    for name in ("fmiVersion", "modelName", "guid", "description", "generationTool"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.coSimulation.modelIdentifier == theirs.coSimulation.modelIdentifier
    assert float(theirs.defaultExperiment.stopTime) == ours.defaultExperiment.stopTime
    variables = {v.name: v for v in theirs.modelVariables if v.type != "String"}
    for v in ours.modelVariables:
        if v.name in variables:
            other = variables[v.name]
            assert (v.type, v.causality, v.variability) == (other.type, other.causality, other.variability), v.name
            assert (v.unit, v.description) == (other.unit, other.description), v.name
    assert ours.fmiMajorVersion == theirs.fmiMajorVersion
    assert [u.variable.name for u in ours.outputs] == [u.variable.name for u in theirs.outputs]
    assert ours.coSimulation.canGetAndSetFMUstate
    assert ours["damper"].start == {v.name: v for v in theirs.modelVariables}["damper"].start
    with pytest.raises(KeyError, match="Did you mean `road`"):
        ours["raod"]


def test_interfaces_types_and_first_values_are_described(tmp_path):
    """`modelExchange` was False, so that `is not None` held of every FMU; `initial` and declared types were not there."""
    fmu = c_fmu(tmp_path, "types2")
    ours, theirs = pb.read_model_description(fmu), fmpy.read_model_description(fmu, validate=False)
    assert ours.modelExchange is theirs.modelExchange is None and ours.modelIdentifier == theirs.modelIdentifier
    assert [(t.name, [(i.name, i.value) for i in t.items]) for t in ours.typeDefinitions] == [
        (t.name, [(i.name, int(i.value)) for i in t.items]) for t in theirs.typeDefinitions
    ]
    for v, other in zip(ours.modelVariables, theirs.modelVariables, strict=True):
        assert v.name == other.name and (v.declaredType and v.declaredType.name) == (other.declaredType and other.declaredType.name)
        assert v.initial == other.initial, v.name
    assert pb.read_model_description(c_fmu(tmp_path, "types3"))["a"].start == "0.0 5.0 7.0"
    with pytest.raises(AttributeError, match="variables have names"):
        ours["real_in"].valueReference
    with pytest.raises(AttributeError, match="Did you mean `causality`"):
        ours["real_in"].causalty
    aliased = c_fmu(tmp_path, "integrator3")
    ours, theirs = pb.read_model_description(aliased), fmpy.read_model_description(aliased, validate=False)
    assert [v.name for v in ours.modelVariables] == [v.name for v in theirs.modelVariables]
    assert [o.variable.name for o in ours.outputs] == [o.variable.name for o in theirs.outputs]


def both(fmu, **arguments):
    """FMPy's result and ours."""
    return fmpy.simulate_fmu(str(fmu), **arguments), pb.simulate_fmu(fmu, **arguments)


def same(theirs, ours):
    assert theirs.dtype.names == ours.dtype.names and [theirs.dtype[n] for n in theirs.dtype.names] == [ours.dtype[n] for n in ours.dtype.names]
    assert len(theirs) == len(ours)
    for name in ours.dtype.names:
        assert np.allclose(ours[name], theirs[name], rtol=1e-10, atol=1e-12), name


def test_simulate_fmu_has_fmpys_results(wheel):
    same(*both(wheel))
    same(*both(wheel, start_time=0.0, stop_time=0.7, output_interval=0.01))
    same(*both(wheel, stop_time=1.0, start_values={"mass": 45.0, "road": 0.1}, output_interval=5e-3))
    same(*both(wheel, stop_time=1.0, output=["suspension_force", "position", "road"], output_interval=5e-3, start_values={"road": 0.1}))
    # The last row is the end, also where that is no multiple of the interval.
    same(*both(wheel, stop_time=0.123, output_interval=0.05))
    # Values may be texts.
    same(*both(wheel, stop_time=0.1, start_values={"mass": "45.0", "road": "0.1", "damper": "linear"}))
    same(pb.simulate_fmu(wheel, stop_time=0.1, start_values={"mass": (45.0, "kg")}), pb.simulate_fmu(wheel, stop_time=0.1, start_values={"mass": 45}))
    times = np.linspace(0.0, 1.0, 11)
    signals = np.array(list(zip(times, np.sin(times))), dtype=[("time", float), ("chassis_velocity", float)])
    same(*both(wheel, stop_time=1.0, output_interval=0.01, input=signals))
    # With derivatives the FMU knows the lines between samples: fewer steps are as good.
    arguments = {"stop_time": 1.0, "input": signals, "output": ["position"]}
    fine = pb.simulate_fmu(wheel, output_interval=1e-4, **arguments)["position"][::100]
    held = pb.simulate_fmu(wheel, output_interval=0.01, **arguments)["position"]
    followed = pb.simulate_fmu(wheel, output_interval=0.01, set_input_derivatives=True, **arguments)["position"]
    assert np.abs(followed - fine).max() < 0.1 * np.abs(held - fine).max()


def test_steps_of_simulate_fmu_end_where_those_of_fmpy_do(wheel):
    """Samples between two steps were bends that a step ended at, which FMPy's do not, and rows of jumps were missing."""
    samples = [(0.0, 0.0, 0.0), (0.033, 0.5, 0.01), (0.155, 0.2, 0.02), (0.155, -0.4, 0.0), (0.2, 0.1, 0.0), (0.2, 0.1, 0.05), (0.3, 0.3, 0.0)]
    signals = np.array(samples, dtype=[("time", float), ("chassis_velocity", float), ("road", float)])
    arguments = {"stop_time": 0.4, "output_interval": 0.01, "output": ["position", "suspension_force"]}
    theirs, ours = both(wheel, input=signals, **arguments)
    same(theirs, ours)
    assert len(ours) == 42 and 0.155 in ours["time"]
    # Smooth ones, and ones that begin late, or have one row.
    same(*both(wheel, input=signals[:3], **arguments))
    same(*both(wheel, input=signals[1:3], **arguments))
    same(*both(wheel, input=signals[1:2], **arguments))
    # One step, where the interval is longer than the run.
    same(*both(wheel, stop_time=1e-4, output_interval=1.0))


def test_integers_and_arrays_are_inputs_of_simulate_fmu(tmp_path):
    """Arrays were refused, and enumerations of FMI 3 were 32 bits wide. FMPy would need functions that this FMU does not have; it
    delays outputs that follow inputs at once by a step."""
    fmu = c_fmu(tmp_path, "types3")
    table = [(0.0, 1, True, [1.0, 2.0, 3.0]), (0.5, 2, False, [2.0, 3.0, 4.0]), (1.0, 3, True, [3.0, 4.0, 5.0])]
    signals = np.array(table, dtype=[("time", float), ("int64_in", np.int64), ("boolean_in", bool), ("a", float, (3,))])
    done = pb.simulate_fmu(fmu, stop_time=1.0, output_interval=0.25, input=signals)
    assert done["time"].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert done["int64_out"].tolist() == [1, 1, 1, 2, 2] and done["boolean_out"].tolist() == [True, True, True, False, False]
    assert done["twice"][:, 0].tolist() == [2.0, 2.0, 3.0, 4.0, 5.0]
    assert done.dtype["gear_out"] == np.int64 and done.dtype.names.index("gear_out") == done.dtype.names.index("int64_out") + 1
    assert (pb.simulate_fmu(fmu, stop_time=1.0, start_values={"a": "1 2 3"})["twice"] == [2.0, 4.0, 6.0]).all()
    assert (pb.simulate_fmu(fmu, stop_time=1.0, input=signals[:1])["int64_out"] == 1).all()


def test_arrays_of_fmi_3_have_their_shapes(tmp_path):
    """An FMU with an output that is an array was refused. FMPy would need functions that this one does not have."""
    fmu = c_fmu(tmp_path, "types3")
    arguments = {"stop_time": 0.2, "output_interval": 0.1, "start_values": {"a": [1.0, 2.0, 3.0]}}
    done = pb.simulate_fmu(fmu, **arguments)
    assert done["twice"].shape == (3, 3) and done["twice"][-1].tolist() == [2.0, 4.0, 6.0]
    assert done.dtype["b"].shape == (2, 2) and done.dtype["int8_out"] == np.int8
    rows = []
    pb.simulate_fmu(fmu, output=["twice"], step_finished=lambda time, recorder: rows.append(recorder.rows[-1]), **arguments)
    assert rows[-1][0] == 0.2 and rows[-1][1].tolist() == [2.0, 4.0, 6.0]
    assert pb.read_model_description(fmu)["b"].dimensions == [2, "n"]


def test_step_finished_goes_on_with_none_and_ends_with_false(wheel):
    seen, theirs = [], []
    done = pb.simulate_fmu(wheel, stop_time=1.0, output_interval=0.1, step_finished=lambda time, recorder: seen.append(time))
    fmpy.simulate_fmu(wheel, stop_time=1.0, output_interval=0.1, step_finished=lambda time, recorder: theirs.append(time) or True)
    # After every step, not before the first one.
    assert seen == pytest.approx(theirs) and len(seen) == 10 and len(done) == 11
    done = pb.simulate_fmu(wheel, stop_time=1.0, output_interval=0.1, step_finished=lambda time, recorder: time < 0.45)
    assert done["time"][-1] == pytest.approx(0.5)
    # NumPy's truth values are no `False`.
    done = pb.simulate_fmu(wheel, stop_time=1.0, output_interval=0.1, step_finished=lambda time, recorder: np.float64(time) < 0.45)
    assert done["time"][-1] == pytest.approx(0.5)


@pytest.mark.parametrize("isolate", [True, False])
def test_timeout_of_simulate_fmu_keeps_the_rows_so_far(wheel, isolate):
    """It was an error, and in the process of the program it was nothing."""
    arguments = {"stop_time": 1.0, "output_interval": 0.01, "timeout": 0.2, "step_finished": lambda time, recorder: sleep(0.02) or True}
    ours, theirs = pb.simulate_fmu(wheel, isolate=isolate, **arguments), fmpy.simulate_fmu(wheel, **arguments)
    assert 2 <= len(ours) <= 12 and 2 <= len(theirs) <= 12 and ours["time"][1] == theirs["time"][1]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"start_values": {"mas": 1.0}}, KeyError, "Did you mean `mass`"),
        ({"output": ["suspension_forc"]}, KeyError, "suspension_force"),
        ({"stop_time": "late"}, TypeError, "`stop_time` is 'late'"),
        ({"fmu_instance": 3}, NotImplementedError, "pb.open"),
        ({"fmi_type": "ModelExchange"}, NotImplementedError, "co-simulation"),
        ({"input": [1.0]}, TypeError, "`input`"),
        ({"start_values": {"mass": "heavy"}}, TypeError, r"`start_values\['mass'\]` is 'heavy'"),
        ({"start_values": {"mass": (45.0, "lb")}}, NotImplementedError, "expected a value in kg"),
    ],
)
def test_wrong_arguments_of_simulate_fmu_are_named(wheel, arguments, error, words):
    with pytest.raises(error, match=words):
        pb.simulate_fmu(wheel, **arguments)


def test_simulate_fmu_has_fmpys_signature():
    ours, theirs = inspect.signature(pb.simulate_fmu).parameters, inspect.signature(fmpy.simulate_fmu).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    assert all(ours[name].default == theirs[name].default for name in theirs)
    ours, theirs = inspect.signature(pb.read_model_description).parameters, inspect.signature(fmpy.read_model_description).parameters
    assert list(ours) == list(theirs)
