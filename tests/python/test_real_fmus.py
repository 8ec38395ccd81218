"""What real FMUs do, beside FMPy and libcosim: inputs before initialization, discrete inputs, events, the end, integers of 64 bits."""

import csv
import os
import pathlib
import subprocess
import sys
import sysconfig
import zipfile

import fmpy
import fmpy.fmi3
import numpy as np
import pytest
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave
from test_fmi_import import c_fmu

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"
STEP = 0.1
# Times at which steps begin: what changes there changes for both tools.
HALF, LATER = 5 * STEP, 8 * STEP


def powerbond(*arguments, code=0, **environment):
    ran = subprocess.run(
        [POWERBOND, *map(str, arguments)], capture_output=True, text=True, env=dict(os.environ, **environment)
    )
    assert ran.returncode == code, ran.stderr
    return ran


def ours(path, table, folder, stop=1.0, settings={}):
    """The columns of results as texts; at a discontinuity the limits from the right."""
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    if table is not None:
        names = table.dtype.names
        lines = [",".join(names)] + [",".join(repr(x.item()) for x in row).replace("True", "1").replace("False", "0") for row in table]
        (folder / "in.csv").write_text("\n".join(lines) + "\n")
        options += ["--input", folder / "in.csv"]
    out = folder / "out"
    ran = powerbond("run", path, "-e", stop, "-s", STEP, "--output-dir", out, "--overwrite", *options)
    rows = list(csv.reader((out / "results.csv").open()))
    last = {round(float(row[0]), 9): row for row in rows[1:]}
    columns = {name.split(".", 1)[-1]: [row[k] for row in last.values()] for k, name in enumerate(rows[0])}
    return columns, ran


def theirs(path, table, outputs, stop=1.0, **options):
    """The columns that FMPy comes to."""
    done = fmpy.simulate_fmu(
        str(path), stop_time=stop, step_size=STEP, output_interval=STEP, input=table, output=outputs, validate=False, **options
    )
    return {name: done[name] for name in ["time", *outputs]}


def same(ours, theirs, names):
    for name in names:
        np.testing.assert_allclose([float(x) for x in ours[name]], theirs[name].astype(float), rtol=1e-12, atol=1e-12, err_msg=name)


def test_inputs_of_fmi_1_are_set_before_it_initializes(tmp_path):
    """x is computed in `fmiInitializeSlave` and never again: u + 10 i + 100 b."""
    path = c_fmu(tmp_path, "init1")
    table = np.array([(0.0, 2.5, 3, True), (1.0, 9.0, 3, True)], dtype=[("time", float), ("u", float), ("i", np.int32), ("b", bool)])
    found, _ = ours(path, table, tmp_path)
    same(found, theirs(path, table, ["x"]), ["x"])
    assert float(found["x"][-1]) == 132.5


def test_discrete_reals_are_held(tmp_path):
    """u is a line, d a staircase; held is d at the start of the last step. FMPy has no other way for either of them."""
    path = c_fmu(tmp_path, "odd2")
    table = np.array(
        [(0.0, 0.0, 1.0), (HALF, 0.0, 2.0), (LATER, 0.0, 4.0), (1.0, 0.0, 4.0)], dtype=[("time", float), ("u", float), ("d", float)]
    )
    found, _ = ours(path, table, tmp_path)
    same(found, theirs(path, table, ["held", "x"]), ["held", "x"])


@pytest.mark.parametrize(("name", "options"), [("odd2", {}), ("events3", dict(use_event_mode=True, early_return_allowed=True))])
def test_an_fmu_may_end_the_simulation(tmp_path, name, options):
    path = c_fmu(tmp_path, name)
    found, ran = ours(path, None, tmp_path, settings={"mode": 5})
    beside = theirs(path, None, ["x"], start_values={"mode": 5}, **options)
    assert "ended the simulation at 0.55 s" in ran.stderr
    assert beside["time"][-1] == pytest.approx(0.55)
    same(found, beside, ["time", "x"])


def stepwise(path, changes, outputs, steps=10):
    """The columns that FMPy's calls come to, step by step. `changes` has, by step, setters and what they are given in Event Mode.

    FMPy's own loop sets discrete inputs in Step Mode, too, which FMI 3.0.2 forbids and the FMU refuses.
    """
    folder = fmpy.extract(str(path))
    description = fmpy.read_model_description(folder)
    unit = fmpy.fmi3.FMU3Slave(
        guid=description.guid, unzipDirectory=folder, modelIdentifier=description.coSimulation.modelIdentifier, instanceName="unit"
    )

    def change(step):
        for setter, references, values in changes.get(step, []):
            getattr(unit, setter)(references, values)

    rows = []
    unit.instantiate(eventModeUsed=True, earlyReturnAllowed=True)
    unit.enterInitializationMode()
    change(0)
    unit.exitInitializationMode()
    unit.updateDiscreteStates()
    unit.enterStepMode()
    for step in range(steps + 1):
        if step in changes and step > 0:
            unit.enterEventMode()
            change(step)
            unit.updateDiscreteStates()
            unit.enterStepMode()
        rows.append([getattr(unit, getter)([reference])[0] for getter, reference in outputs])
        if step < steps:
            unit.doStep(currentCommunicationPoint=step * STEP, communicationStepSize=STEP)
    unit.terminate()
    unit.freeInstance()
    return [list(column) for column in zip(*rows)]


def test_events_of_several_types_come_to_the_same_numbers(tmp_path):
    """An integer, a boolean and a discrete real change at one time, and the FMU takes them in Event Mode only: x' = r + i + b."""
    path = c_fmu(tmp_path, "events3")
    kinds = [("time", float), ("r", float), ("i", np.int32), ("b", bool)]
    table = np.array([(0.0, 0.0, 0, False), (HALF, 2.0, 3, True), (1.0, 2.0, 3, True)], dtype=kinds)
    found, _ = ours(path, table, tmp_path)
    changes = {5: [("setFloat64", [1], [2.0]), ("setInt32", [3], [3]), ("setBoolean", [6], [True])]}
    x, events = stepwise(path, changes, [("getFloat64", 2), ("getInt32", 4)])
    np.testing.assert_allclose([float(y) for y in found["x"]], x, rtol=1e-12, atol=1e-12)
    assert [int(n) for n in found["events"]] == events
    assert float(found["x"][-1]) == pytest.approx(0.5 * 6) and events[-1] == 1


def test_integers_of_64_bits_have_all_their_digits(tmp_path):
    """wide_out = wide + 1; near 2^60 numbers of double precision are 256 apart."""
    path = c_fmu(tmp_path, "events3")
    first = 2**60 + 1
    table = np.array([(0.0, first), (HALF, first + 1)], dtype=[("time", float), ("wide", np.int64)])
    found, _ = ours(path, table, tmp_path)
    changes = {step: [("setInt64", [8], [value])] for step, value in [(0, first), (5, first + 1)]}
    (beside,) = stepwise(path, changes, [("getInt64", 9)])
    assert [int(n) for n in found["wide_out"]] == beside
    assert beside[-1] == first + 2


def test_integers_of_64_bits_have_their_types_in_arrow_and_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.ipc
    import pyarrow.parquet

    path = c_fmu(tmp_path, "events3")
    (tmp_path / "in.csv").write_text(f"time,wide\n0,{-(2**60) - 1}\n")
    for form in ["arrow", "parquet"]:
        out = tmp_path / form
        powerbond("run", path, "--input", tmp_path / "in.csv", "--set", f"big={2**64 - 1}", "--format", form, "--output-dir", out)
        table = pyarrow.ipc.open_stream(out / "results.arrows").read_all() if form == "arrow" else pyarrow.parquet.read_table(out / "results.parquet")
        columns = {name.split(".", 1)[-1]: column for name, column in zip(table.column_names, table.columns)}
        assert (columns["wide_out"].type, columns["big_out"].type) == (pyarrow.int64(), pyarrow.uint64())
        assert columns["wide_out"].to_pylist()[-1] == -(2**60) and columns["big_out"].to_pylist()[-1] == 2**64 - 1
        assert columns["x"].type == pyarrow.float64()


def readable(path):
    """The FMU without the variable that it refuses to read: libcosim reads all of them."""
    copy = path.with_name(f"readable-{path.name}")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        for entry in source.namelist():
            data = source.read(entry)
            if entry == "modelDescription.xml":
                # In its place is another name of x: places of outputs stay what they are.
                data = data.replace(b'name="refused" valueReference="4"', b'name="again" valueReference="2"')
            target.writestr(entry, data)
    return copy


def test_inputs_in_libcosim(tmp_path):
    """Initial values of FMI 1 before `fmiInitializeSlave`, and a discrete real of FMI 2, as libcosim has them."""
    execution = CosimExecution.from_step_size(int(STEP * 1e9))
    values = {}
    for name, reference, value, output in [("init1", 0, 2.5, 1), ("odd2", 1, 7.0, 3)]:
        slave = execution.add_local_slave(CosimLocalSlave(str(readable(c_fmu(tmp_path, name))), name))
        assert execution.real_initial_value(slave, reference, value)
        values[name] = (slave, output)
    observer = CosimObserver.create_last_value()
    assert execution.add_observer(observer)
    assert all(execution.step() for _ in range(3))
    beside = {name: observer.last_real_values(slave, [output])[0] for name, (slave, output) in values.items()}
    for name, column, output, value in [("init1", "u", "x", 2.5), ("odd2", "d", "held", 7.0)]:
        table = np.array([(0.0, value)], dtype=[("time", float), (column, float)])
        found, _ = ours(tmp_path / f"{name}.fmu", table, tmp_path, stop=3 * STEP)
        assert float(found[output][-1]) == beside[name] == value


BROKEN = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real

class Broken(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.x = 0.0
        self.register_variable(Real("x", causality=Fmi2Causality.output))

    def do_step(self, t, h):
        if t > 0.45:
            raise RuntimeError("the bearing broke at 20000 rpm")
        return True
"""


def test_the_text_of_a_python_exception_arrives(tmp_path):
    """pythonfmu logs it in a category that it does not declare."""
    (tmp_path / "broken.py").write_text(BROKEN)
    subprocess.run([sys.executable, "-m", "pythonfmu", "build", "-f", tmp_path / "broken.py", "-d", tmp_path], check=True)
    # The interpreter that runs this test may not be where the loader looks.
    libpython = pathlib.Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("INSTSONAME")
    preload = str(libpython) if libpython.exists() else ""
    path = tmp_path / "Broken.fmu"
    ran = powerbond("run", path, "-e", 1, "-s", STEP, "--output-dir", tmp_path / "out", code=4, POWERBOND_PRELOAD=preload)
    assert "`fmi2DoStep` returned" in ran.stderr and "the bearing broke at 20000 rpm" in ran.stderr, ran.stderr
