"""`pb.run`: whole runs, isolated and in the process of the program."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import powerbond as pb
import pyarrow as pa
import pytest
from crashing import crashing_fmu

ROOT = Path(__file__).parents[2]
POWERBOND = ROOT / "target/release/powerbond"
QUARTER_CAR = ROOT / "examples/quarter-car"


@pytest.fixture(scope="module")
def mass(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("fmu") / "mass.fmu"
    subprocess.run([POWERBOND, "export", "oscillator/mass", "-o", file], check=True, capture_output=True)
    return file


@pytest.fixture(scope="module")
def crash(tmp_path_factory) -> Path:
    return crashing_fmu(tmp_path_factory.mktemp("crash"))


@pytest.mark.parametrize("isolate", [True, False])
def test_a_run_has_the_bits_of_the_command(isolate, tmp_path):
    subprocess.run([POWERBOND, "run", QUARTER_CAR, "--output-dir", tmp_path / "out", "-e", "0.5"], check=True, capture_output=True)
    command = np.genfromtxt(tmp_path / "out/results.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    energy = np.genfromtxt(tmp_path / "out/energy.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    sol = pb.run(QUARTER_CAR, stop=0.5, isolate=isolate)
    assert list(sol) == list(command.dtype.names)
    assert all((sol[name] == command[name]).all() for name in sol)
    assert all(np.array_equal(sol.energy[name], energy[name], equal_nan=True) for name in sol.energy)
    assert sol.error is None and sol.summary["outcome"] == "finished" and sol.units["chassis.velocity"] == "m/s"
    assert sol.stats.steps["accepted"] == sol.summary["steps"]["accepted"]


def test_an_fmu_runs_with_parameters_and_a_folder_is_a_path(mass):
    # A mass without a spring keeps its velocity.
    sol = pb.run(mass, stop=2.0, set={"mass.initial_velocity": np.float32(3), "mass.stiffness": 0})
    assert sol["mass.position"][-1] == pytest.approx(6.0)
    assert sol.verdict.word == "not judged"


def road(times, values):
    """All forms of the same input."""
    t, z = np.array(times), np.array(values)
    structured = np.array(list(zip(t, z)), dtype=[("time", float), ("wheel.road", float)])
    yield {"wheel.road": (t, z)}
    yield {"time": t, "wheel.road": list(z)}
    yield structured
    yield pd.DataFrame({"time": t, "wheel.road": z})
    yield pd.DataFrame({"wheel.road": z}, index=t)
    yield pd.DataFrame({"wheel.road": z}, index=pd.to_timedelta([f"{1000 * x:.0f} ms" for x in times]))
    yield pd.Series(z, index=t, name="wheel.road")
    yield {"wheel.road": pd.Series(z, index=t)}
    yield pl.DataFrame({"time": t, "wheel.road": z})
    yield pa.table({"time": t, "wheel.road": z})


def test_inputs_come_in_every_form(tmp_path):
    times, values = [0.0, 0.2, 0.2, 0.5], [0.0, 0.02, 0.1, 0.1]
    file = tmp_path / "road.csv"
    file.write_text("time,wheel.road\n" + "".join(f"{t},{z}\n" for t, z in zip(times, values)))
    first = pb.run(QUARTER_CAR, stop=0.5, inputs=str(file))
    assert first(0.1)["wheel.road"] == pytest.approx(0.01) and first(0.2)["wheel.road"] == 0.1
    for inputs in road(times, values):
        sol = pb.run(QUARTER_CAR, stop=0.5, inputs=inputs)
        assert all((sol[name] == first[name]).all() for name in first), type(inputs)
    held = pb.run(QUARTER_CAR, stop=0.5, inputs={"wheel.road": 0.3})
    assert (held["wheel.road"] == 0.3).all()


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"wheel.raod": 0.1}, pb.PowerbondError, "Did you mean"),
        ({"wheel.road": [1.0, 2.0]}, ValueError, r"inputs\['wheel.road'\].*times"),
        ({"wheel.road": ([0.0, 1.0], [1.0])}, ValueError, "1 values at 2 times"),
        ({"wheel.road": ([1.0, 0.0], [1.0, 2.0])}, ValueError, "decrease"),
        ({"wheel.road": float("nan")}, ValueError, "finite"),
        ({"wheel.road": "fast"}, TypeError, r"inputs\['wheel.road'\]"),
        ({"wheel.road": lambda t: t}, TypeError, "pb.open"),
        (7, TypeError, "`inputs` is 7"),
        (pl.DataFrame({"tiem": [0.0], "wheel.road": [0.0]}), ValueError, "no column `time`"),
        (pd.DataFrame({"wheel.road": [0.0]}, index=["a"]), TypeError, "`inputs: times`: expected numbers"),
        (pd.DataFrame({"wheel.road": [0.0]}, index=pd.to_datetime(["2026-01-01"])), TypeError, "`inputs` has dates"),
        ("missing.csv", pb.PowerbondError, "missing.csv"),
        # An index that pandas made up was taken for seconds.
        (pd.DataFrame({"wheel.road": [0.0, 0.1]}), ValueError, "its index counts rows"),
        ({"wheel.road": pd.Series([0.0, 0.1])}, ValueError, r"inputs\['wheel.road'\].*counts rows"),
        (pd.DataFrame({("wheel", "road"): [0.0]}, index=[0.0]), TypeError, r"the column \('wheel', 'road'\)"),
        (pd.DataFrame([[0.0, 0.1]], columns=["wheel.road"] * 2, index=[0.0]), ValueError, "two columns `wheel.road`"),
        (pl.LazyFrame({"time": [0.0], "wheel.road": [0.0]}), TypeError, "collect"),
        ({"wheel.road": None}, TypeError, r"inputs\['wheel.road'\].*expected numbers"),
        ({"wheel.road": 10**400}, TypeError, r"inputs\['wheel.road'\].*expected numbers"),
    ],
)
def test_wrong_inputs_are_named(inputs, error, words):
    with pytest.raises(error, match=words):
        pb.run(QUARTER_CAR, stop=0.1, inputs=inputs)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"stop": "x"}, TypeError, "`stop` is 'x'"),
        ({"stop": True}, TypeError, "`stop`"),
        ({"stop": -1.0}, pb.PowerbondError, "after the start"),
        ({"tolerance": 0.0}, pb.PowerbondError, "tolerance"),
        ({"set": {"whel.stiffness": 1.0}}, pb.PowerbondError, "Did you mean `wheel`"),
        ({"set": {"wheel.stifness": 1.0}}, pb.PowerbondError, "Did you mean `stiffness`"),
        ({"set": ["wheel.stiffness"]}, TypeError, "`set`"),
        ({"set": {"wheel.stiffness": object()}}, TypeError, "wheel.stiffness"),
        ({"record": "*.velocty"}, pb.PowerbondError, "velocty"),
        ({"record": 3}, TypeError, "`record`"),
        ({"callback": 3}, TypeError, "`callback`"),
        ({"check": "yes"}, TypeError, "`check`"),
        ({"verify": "thirds"}, ValueError, "`verify`"),
        ({"timeout": -1.0}, ValueError, "`timeout`"),
        # Nothing was larger than that, and more than nothing was.
        ({"max_error": float("nan")}, ValueError, "`max_error` is nan"),
        ({"max_energy_residual": -1.0}, ValueError, "`max_energy_residual` is -1.0"),
        ({"error": -1.0}, ValueError, "`error` is -1.0"),
        # What the module cannot hold was told without a name.
        ({"stop": 10**400}, ValueError, "`stop`"),
        ({"worker_threads": 10**30}, ValueError, "`worker_threads`"),
        ({"recrd": "*"}, TypeError, "`run` has no argument `recrd`. Did you mean `record`"),
        # What other tools call it.
        ({"stop_time": 1.0}, TypeError, "Did you mean `stop`"),
        ({"final_time": 1.0}, TypeError, "Did you mean `stop`"),
        ({"step_size": 1.0}, TypeError, "Did you mean `step`"),
        ({"start_values": {}}, TypeError, "Did you mean `set`"),
        # As it is typed, not with 300 zeros.
        ({"step": 1e-300}, pb.PowerbondError, "step=1e-300"),
    ],
)
def test_wrong_options_are_named(options, error, words):
    with pytest.raises(error, match=words):
        pb.run(QUARTER_CAR, **options)
    with pytest.raises(TypeError, match="`system` is 3"):
        pb.run(3)
    with pytest.raises(TypeError, match="`run` got 10.0 .* without a name; write `stop=…`"):
        pb.run(QUARTER_CAR, 10.0)


def test_the_package_can_be_explored():
    assert "run" in dir(pb) and not any(name.startswith("_") and not name.startswith("__") for name in dir(pb))
    assert re.match(r"\d+\.\d+", pb.__version__)
    with pytest.raises(AttributeError, match="Did you mean `simulate_fmu`"):
        pb.simulate_fm
    # Whoever makes one, an error has all attributes.
    assert pb.PowerbondError("x").hint is None and pb.PowerbondError("x").exit_code == 1


def test_a_misspelled_file_is_refused_with_its_name():
    with pytest.raises(pb.PowerbondError, match="no-such-file.toml") as caught:
        pb.run("no-such-file.toml")
    assert caught.value.exit_code == 3
    with pytest.raises(pb.PowerbondError, match="Did you mean `system.toml`") as caught:
        pb.run(QUARTER_CAR / "sytem.toml")
    assert caught.value.hint == "Did you mean `system.toml`?"


def test_patterns_choose_what_is_recorded():
    sol = pb.run(QUARTER_CAR, stop=0.1, record=["*.velocity", "wheel.road"])
    assert set(sol) == {"time", "chassis.velocity", "wheel.velocity", "wheel.road"}


@pytest.mark.parametrize("isolate", [True, False])
def test_a_callback_sees_rows_and_may_end_the_run(isolate):
    seen = []

    def see(time, row):
        seen.append((time, row["chassis.velocity"]))
        return pb.STOP if time >= 0.3 else None

    sol = pb.run(QUARTER_CAR, stop=1.0, output_interval=0.1, callback=see, isolate=isolate)
    assert [t for t, _ in seen] == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert sol.summary["outcome"] == "stopped" and sol.time[-1] < 1.0
    assert [v for _, v in seen] == list(sol["chassis.velocity"][: len(seen)])


@pytest.mark.parametrize("isolate", [True, False])
def test_an_exception_in_a_callback_is_raised_as_it_is(isolate):
    with pytest.raises(ZeroDivisionError):
        pb.run(QUARTER_CAR, stop=0.1, callback=lambda time, row: 1 / 0, isolate=isolate)
    assert pb.run(QUARTER_CAR, stop=0.1, isolate=isolate).error is None


def test_a_crash_is_an_exception_and_the_next_run_goes_on(crash, mass):
    with pytest.raises(pb.PowerbondError, match="SIGSEGV|segmentation") as caught:
        pb.run(crash, stop=1.0)
    error = caught.value
    assert (error.subsystem, error.call, error.exit_code) == ("crash", "fmi2DoStep", 5)
    assert error.time == pytest.approx(0.5, abs=0.1) and error.hint
    sol = pb.run(crash, stop=1.0, check=False)
    assert sol.error is not None and sol.error.subsystem == "crash"
    # What was recorded until then is there: dx/dt is 1.
    assert len(sol.time) > 2 and sol.time[-1] <= error.time and sol["crash.ramp"] == pytest.approx(sol.time)
    with pytest.raises(pb.PowerbondError, match="no report"):
        sol.report(mass.parent / "none.html")
    assert "SIGSEGV" in repr(sol.error) or "segmentation" in repr(sol.error)
    assert sol._repr_html_() and repr(sol)
    # Before it crashes there is nothing wrong.
    assert pb.run(crash, stop=0.25).error is None
    assert pb.run(mass, stop=0.1).error is None


def test_a_failed_run_keeps_what_it_recorded(tmp_path):
    (tmp_path / "system.toml").write_text(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nmodel = 'algebraic/gain'\nparameters = { gain = 1.0 }\n"
        "[inputs]\n'a.u' = { sine = { frequency = 1.0 } }\n[verdict]\nmax_error = 1e-12\n"
    )
    coupled = QUARTER_CAR / "system.toml"
    with pytest.raises(pb.PowerbondError) as caught:
        pb.run(coupled, stop=0.5, max_error=1e-12)
    assert caught.value.exit_code == 7
    sol = pb.run(coupled, stop=0.5, max_error=1e-12, check=False)
    assert sol.exceeded and sol.time[-1] == 0.5


def test_a_run_that_takes_too_long_is_ended():
    begun = time.monotonic()
    with pytest.raises(pb.PowerbondError, match="timeout") as caught:
        pb.run(QUARTER_CAR, stop=1e9, timeout=0.5)
    assert caught.value.exit_code == 6 and time.monotonic() - begun < 5.0


def test_a_run_whose_rows_are_seen_takes_no_longer():
    """Who waited for rows did not look at the clock: the run went on for as long as its callback let it."""
    begun, seen = time.monotonic(), []

    def slow(now, row):
        seen.append(now)
        time.sleep(0.03)

    with pytest.raises(pb.PowerbondError, match="timeout") as caught:
        pb.run(QUARTER_CAR, stop=10.0, step=0.01, callback=slow, timeout=0.5)
    assert caught.value.exit_code == 6 and time.monotonic() - begun < 5.0
    # One row that takes its time is no reason to kill a process that waits for it: what it recorded is there.
    sol = pb.run(QUARTER_CAR, stop=1e9, step=0.01, callback=lambda now, row: time.sleep(1.5) if now == 0.0 else None, timeout=0.2, check=False)
    assert sol.error.exit_code == 6 and sol.stats.steps["accepted"] == len(sol.time) - 1


@pytest.mark.parametrize("isolate", [True, False])
def test_ctrl_c_ends_a_run_and_the_next_one_goes_on(isolate):
    interrupt = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pb.run(QUARTER_CAR, stop=1e9, isolate=isolate)
    assert time.monotonic() - begun < 5.0
    assert pb.run(QUARTER_CAR, stop=0.1, isolate=isolate).time[-1] == 0.1


@pytest.mark.parametrize("isolate", [True, False])
def test_ctrl_c_ends_a_script(isolate, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import powerbond as pb\nprint('begun', flush=True)\npb.run({str(QUARTER_CAR)!r}, stop=1e9, isolate={isolate})\n")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=10)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in said


@pytest.mark.parametrize("isolate", [True, False])
def test_other_threads_go_on_while_it_runs(isolate):
    counts = []
    thread = threading.Thread(target=lambda: pb.run(QUARTER_CAR, stop=2000.0, isolate=isolate))
    thread.start()
    while thread.is_alive():
        counts.append(time.monotonic())
        time.sleep(1e-3)
    assert len(counts) > 10


def test_runs_in_several_threads_have_workers_of_their_own():
    results = [None] * 4

    def work(n):
        results[n] = pb.run(QUARTER_CAR, stop=0.2, set={"chassis.mass": 300.0 + 50.0 * n})["chassis.velocity"][-1]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = [pb.run(QUARTER_CAR, stop=0.2, set={"chassis.mass": 300.0 + 50.0 * n})["chassis.velocity"][-1] for n in range(4)]
    assert results == alone and len(set(alone)) == 4


def test_workers_end_with_the_program(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import powerbond as pb, os\npb.run({str(QUARTER_CAR)!r}, stop=0.1)\nprint(os.getpid(), flush=True)\n")
    pid = int(subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout)
    left = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True).stdout
    assert left.strip() == ""


def test_a_subsystem_has_a_process_of_its_own(crash):
    text = (QUARTER_CAR / "system.toml").read_text()
    folder = crash.parent / "own"
    folder.mkdir(exist_ok=True)
    (folder / "system.toml").write_text(text.replace('"quarter-car/chassis"', '"quarter-car/chassis"\nprocess = "own"'))
    shared = pb.run(QUARTER_CAR, stop=0.2)
    for sol in (pb.run(folder, stop=0.2), pb.run(folder, stop=0.2, isolate=False)):
        assert all((sol[name] == shared[name]).all() for name in shared)
    # Stepped in this process, with the FMU in another one: its crash is an exception.
    system = pb.System().fmu("crash", crash, process="own")
    with pb.open(system, stop=1.0, step=0.1) as sim:
        with pytest.raises(pb.PowerbondError) as caught:
            sim.run()
    assert caught.value.subsystem == "crash" and caught.value.exit_code == 5


def test_a_crash_is_an_exception_where_the_run_is_in_this_process(crash, mass):
    """A run that is stepped, and one with a subsystem in Python, took the program along."""

    class Push:
        outputs = ["force"]

        def start(self, time):
            return 0.0

        def step(self, time, h):
            return 0.0

    with pb.open(crash, stop=1.0, step=0.1) as sim:
        with pytest.raises(pb.PowerbondError) as caught:
            while sim.step():
                pass
        assert caught.value.subsystem == "crash" and caught.value.exit_code == 5 and sim["crash.ramp"] < 0.5
    system = pb.System().python("push", Push).fmu("crash", crash).connect("push.force", "crash.push")
    with pytest.raises(pb.PowerbondError) as caught:
        pb.run(system, stop=1.0, step=0.1)
    assert caught.value.subsystem == "crash" and caught.value.exit_code == 5
    # What does not crash has the same bits wherever it is.
    ends = []
    for isolate in (True, False):
        with pb.open(mass, stop=1.0, step=0.01, isolate=isolate) as sim:
            sim.run()
            ends.append(sim.finish())
    assert ends[0] == ends[1]


def test_progress_looks_like_tqdm_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pb.run(QUARTER_CAR, stop=20.0, progress=True)
    last = capsys.readouterr().err.split("\r")[-1]
    assert "%|" in last and "s/s]" in last and "/20 s [" in last, last
    pb.run(QUARTER_CAR, stop=20.0, progress=False)
    # It fits, whatever the width of the terminal.
    monkeypatch.setenv("COLUMNS", "30")
    pb.run(QUARTER_CAR, stop=20.0, progress=True)
    drawn = [line.removeprefix("\x1b[K").rstrip("\n") for line in capsys.readouterr().err.split("\r")]
    assert max(len(line) for line in drawn) == 29
    # Nobody watches: this is no terminal.
    pb.run(QUARTER_CAR, stop=20.0)
    assert capsys.readouterr().err == ""


def test_a_run_that_is_ended_draws_no_more():
    """While it put its results together, the bar was drawn as often as anybody looked: hundreds of times a second."""
    drawn = []
    from powerbond import _progress

    class Bar(_progress._Terminal):
        def show(self, start, stop, now):
            drawn.append(time.monotonic())

    interrupt = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    bar, _progress.bar = _progress.bar, lambda wanted: Bar(0.0, _progress.seconds)
    try:
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            pb.run(QUARTER_CAR, stop=1e9)
    finally:
        _progress.bar = bar
    assert 2 < len(drawn) <= 40, len(drawn)


def test_python_names_are_in_messages():
    with pytest.raises(pb.PowerbondError) as caught:
        pb.run(QUARTER_CAR, stop=-1.0)
    assert "--end-time" not in str(caught.value) and "stop=-1" in str(caught.value)


def test_a_verified_run_says_how_far_it_is_off():
    sol = pb.run(ROOT / "examples/oscillator", stop=1.0, verify=True)
    assert sol.summary["verification"]["error"] < 0.05


def test_a_python_based_fmu_runs_isolated(tmp_path):
    (tmp_path / "ramp.py").write_text(
        textwrap.dedent("""
        from pythonfmu import Fmi2Causality, Fmi2Slave, Real

        class Ramp(Fmi2Slave):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.y = 0.0
                self.register_variable(Real("y", causality=Fmi2Causality.output))

            def do_step(self, t, h):
                self.y = t + h
                return True
        """)
    )
    subprocess.run([sys.executable, "-m", "pythonfmu", "build", "-f", "ramp.py"], cwd=tmp_path, check=True, capture_output=True)
    for _ in range(2):
        sol = pb.run(tmp_path / "Ramp.fmu", stop=1.0, step=0.1)
        assert sol["Ramp.y"] == pytest.approx(sol.time)
