"""The package `powerbond`, as a program uses it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import powerbond as pb
import pytest

ROOT = Path(__file__).parents[2]
POWERBOND = ROOT / "target/release/powerbond"
QUARTER_CAR = ROOT / "examples/quarter-car"


@pytest.fixture(scope="module")
def fmu(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("fmu") / "mass.fmu"
    subprocess.run([POWERBOND, "export", "oscillator/mass", "-o", file], check=True, capture_output=True)
    return file


def test_a_run_in_python_has_the_bits_of_the_command(tmp_path):
    subprocess.run([POWERBOND, "run", QUARTER_CAR, "--output-dir", tmp_path / "out", "-e", "0.5"], check=True, capture_output=True)
    command = np.genfromtxt(tmp_path / "out/results.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    with pb.open(QUARTER_CAR, stop=0.5) as sim:
        sim.run()
        assert sim.time == sim.stop == 0.5
        solution = sim.finish()
    assert list(solution) == list(command.dtype.names)
    for name in solution:
        assert (solution[name] == command[name]).all(), name
    assert solution.summary["outcome"] == "finished"
    assert solution.units["chassis.velocity"] == "m/s"


def test_a_step_ends_where_it_is_wanted():
    with pb.open(QUARTER_CAR, stop=0.5) as sim:
        assert sim.run_until(0.123, land=True) and sim.time == 0.123
        with pytest.raises(TypeError, match="`time` is 'soon'"):
            sim.run_until("soon")
        with pytest.raises(ValueError, match="`time` is not a number"):
            sim.run_until(float("nan"))
        assert repr(sim) == "<Simulation at 0.123 s, from 0 s to 0.5 s>" and repr(sim.save()) == "<Saved at 0.123 s>"
    assert repr(sim) == "<Simulation, finished>"


def test_pausing_and_stepping_change_no_bit():
    runs = []
    for pauses in ([], [0.1, 0.2]):
        with pb.open(QUARTER_CAR, stop=0.5) as sim:
            for t in pauses:
                assert sim.run_until(t)
                assert sim.time >= t
            while sim.step():
                pass
            last = sim["chassis.velocity"]
            runs.append(sim.finish()["chassis.velocity"])
            assert runs[-1][-1] == last
    assert (runs[0] == runs[1]).all()


def test_a_state_is_restored_with_all_its_bits():
    with pb.open(QUARTER_CAR, stop=0.5) as sim:
        sim.run_until(0.2)
        saved = sim.save()
        ends = []
        for _ in range(2):
            sim.restore(saved)
            assert sim.time == saved.time
            sim.run()
            ends.append(sim["wheel.position"])
        rows = sim.finish().time
    assert ends[0] == ends[1]
    # Rows of what was undone are gone.
    assert (np.diff(rows) >= 0).all()


def test_inputs_are_set_while_it_runs():
    # The chassis comes to rest at the height of the road, whatever that is set to.
    with pb.open(QUARTER_CAR, stop=40.0) as sim:
        sim.run_until(1.0)
        sim["wheel.road"] = np.float64(0.2)
        assert sim["wheel.road"] == 0.2
        sim.run()
        assert sim["chassis.position"] == pytest.approx(0.2, rel=1e-3)


def test_saying_the_same_before_every_step_is_no_event():
    counts = []
    for again in (True, False):
        with pb.open(QUARTER_CAR, stop=0.5, tolerance=1e-3) as sim:
            sim["wheel.road"] = 0.05
            while sim.step():
                if again:
                    sim["wheel.road"] = 0.05
            counts.append(len(sim.finish().time))
    assert counts[0] == counts[1]


def test_one_fmu_is_a_system_with_parameters(fmu):
    # A mass without a spring keeps its velocity.
    with pb.open(fmu, stop=2.0, set={"mass.initial_velocity": np.float32(3), "mass.stiffness": 0}) as sim:
        sim.run()
        solution = sim.finish()
    assert solution["mass.velocity"] == pytest.approx(3.0)
    assert solution["mass.position"][-1] == pytest.approx(6.0)
    assert solution.verdict["word"] == "not judged"


def test_pandas_gets_one_row_per_time():
    with pb.open(QUARTER_CAR, stop=1.0) as sim:
        sim.run_until(0.5)
        sim["wheel.road"] = 0.3
        sim.run()
        solution = sim.finish()
    right, both = solution.to_pandas(), solution.to_pandas(limits="both")
    assert right.index.is_unique and len(both) == len(solution.time) > len(right)
    jump = both[both.index.duplicated()].index[0]
    assert right["wheel.road"][jump] == 0.3
    with pytest.raises(ValueError, match="limits"):
        solution.to_pandas(limits="left")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"stop": "x"}, TypeError, "stop"),
        ({"stop": -1.0}, pb.PowerbondError, "after the start"),
        ({"tolerance": float("nan")}, pb.PowerbondError, "tolerance"),
        ({"set": {"whel.stiffness": 1.0}}, pb.PowerbondError, "Did you mean `wheel`"),
        ({"speed": 1.0}, TypeError, "speed"),
    ],
)
def test_wrong_options_are_named(options, error, words):
    with pytest.raises(error, match=words):
        pb.open(QUARTER_CAR, **options)


def test_names_with_a_typo_get_a_suggestion():
    with pb.open(QUARTER_CAR, stop=0.1) as sim:
        with pytest.raises(pb.PowerbondError, match="Did you mean `chassis`"):
            sim["chasis.velocity"]
        with pytest.raises(pb.PowerbondError, match="wheel.suspension_force"):
            sim["wheel.suspension_force"] = 1.0
        solution = sim.finish()
    with pytest.raises(KeyError, match="Did you mean `chassis.velocity`"):
        solution["chassis.velocty"]


def test_a_mistake_in_a_file_has_its_place(tmp_path):
    file = tmp_path / "system.toml"
    file.write_text("subsystems.a.model = 'algebraic/gain'\n[simulation]\nstop = 'x'\n")
    with pytest.raises(pb.PowerbondError) as caught:
        pb.open(file)
    assert Path(caught.value.file) == file
    assert caught.value.line == 3


def test_a_finished_run_says_so():
    sim = pb.open(QUARTER_CAR, stop=0.1)
    sim.finish()
    for call in (sim.step, sim.finish, lambda: sim.run_until(1.0), lambda: sim["chassis.velocity"]):
        with pytest.raises(RuntimeError, match="finished"):
            call()


def test_ctrl_c_pauses_a_run_that_can_go_on():
    with pb.open(QUARTER_CAR, stop=1e9) as sim:
        # Only once it is under way.
        interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        interrupt.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            sim.run()
        assert time.monotonic() - begun < 5.0
        paused = sim.time
        assert sim.step() and sim.time > paused


def test_ctrl_c_pauses_a_run_that_is_to_land():
    with pb.open(QUARTER_CAR, stop=1e9) as sim:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            sim.run_until(1e8, land=True)
        here = sim.time
        assert 0.0 < here < 1e8
        sim.run_until(here + 0.123, land=True)
        assert sim.time == here + 0.123
        # Where it is already, up to round-off, no step is made.
        sim.run_until(sim.time * (1.0 + 1e-16), land=True)
        assert sim.time == here + 0.123


def test_other_threads_go_on_while_it_runs():
    counts = []
    with pb.open(QUARTER_CAR, stop=1e9) as sim:
        thread = threading.Thread(target=lambda: sim.run_until(200.0))
        thread.start()
        while thread.is_alive():
            counts.append(time.monotonic())
            time.sleep(1e-3)
        assert sim.time >= 200.0
    assert len(counts) > 1


def test_every_name_is_in_the_docs():
    page = (ROOT / "docs/python.md").read_text()
    assert [name for name in pb.__all__ if f"`pb.{name}`" not in page] == []


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_programs_of_the_docs_run_as_they_stand(page, capsys, monkeypatch, tmp_path):
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert programs
    space: dict = {}
    for program in programs:
        exec(program, space)
    assert space["sol"].summary["outcome"] == "finished"
    said = capsys.readouterr().out
    assert said.startswith(("check", "trustworthy")) and (page == "README.md" or "Did you mean `stiffness`" in said), said


def test_types_are_complete():
    package = ROOT / "python/powerbond"
    mypy = subprocess.run([sys.executable, "-m", "mypy", "--strict", package], cwd=ROOT, capture_output=True, text=True)
    assert mypy.returncode == 0, mypy.stdout
    # What the module has is what its stub says.
    stubs = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "powerbond._powerbond", "--ignore-disjoint-bases"], cwd=ROOT, capture_output=True, text=True
    )
    assert stubs.returncode == 0, stubs.stdout + stubs.stderr


def test_a_program_with_types_is_checked(tmp_path):
    program = (
        "import numpy as np\nimport powerbond as pb\n\n"
        "sol = pb.run('x.toml', stop=1.0, set={'a.b': 1.0}, record=['*'], callback=lambda t, row: pb.STOP if row['a.y'] > t else None)\n"
        "x: np.ndarray = sol['a.y']\ny: float = sol(1.0)['a.y']\n"
        "with pb.open(pb.System().model('a', 'algebraic/gain')) as sim:\n    sim['a.u'] = sim['a.y'] + sim.time\n"
    )
    wrong = "import powerbond as pb\npb.run('x.toml', stop='soon')\n"
    for name, text, code in (("right", program, 0), ("wrong", wrong, 1)):
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        mypy = subprocess.run([sys.executable, "-m", "mypy", "--strict", file], cwd=ROOT, capture_output=True, text=True)
        assert mypy.returncode == code, mypy.stdout


def test_the_benchmark_runs():
    import benchmark

    rows = list(benchmark.measure(1))
    assert len(rows) > 8 and all(value > 0.0 for what, value, unit in rows if "beyond" not in what), rows
