"""`pb.System`: systems that are made in Python, with subsystems that are written in it."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import numpy as np
import powerbond as pb
import pytest

ROOT = Path(__file__).parents[2]
POWERBOND = ROOT / "target/release/powerbond"


@pytest.fixture(scope="module")
def fmus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fmu")
    for model in ("oscillator/mass", "oscillator/force-giver"):
        subprocess.run([POWERBOND, "export", model], cwd=folder, check=True, capture_output=True)
    names = sorted(file.name for file in folder.glob("*.fmu"))
    assert len(names) == 2
    (folder / [n for n in names if "giver" in n][0]).rename(folder / "giver.fmu")
    (folder / [n for n in names if "giver" not in n][0]).rename(folder / "mass.fmu")
    return folder


def quarter_car() -> pb.System:
    """Of the README."""
    return (
        pb.System("quarter car")
        .model("chassis", "quarter-car/chassis")
        .model("wheel", "quarter-car/wheel-suspension", parameters={"damper": "linear", "mass": np.float64(40)})
        .connect("chassis.velocity", "wheel.chassis_velocity")
        .connect("wheel.suspension_force", "chassis.force", gain=-1.0)
        .input("wheel.road", 0.1)
        .bond(
            "suspension",
            pb.entering("chassis.force", "chassis.velocity"),
            pb.entering("wheel.chassis_velocity", "wheel.suspension_force"),
        )
        .simulation(stop=1.0)
    )


def test_a_system_in_python_has_the_bits_of_its_file(tmp_path):
    system = quarter_car()
    system.write(tmp_path / "system.toml")
    for isolate in (True, False):
        here, there = pb.run(system, isolate=isolate), pb.run(tmp_path, isolate=isolate)
        assert list(here) == list(there) and all((here[name] == there[name]).all() for name in here)
    assert here.bonds[0]["name"] == "suspension" and "quarter car" in repr(system)
    ran = subprocess.run([POWERBOND, "check", tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_two_fmus_are_coupled_and_written(fmus, tmp_path, monkeypatch):
    monkeypatch.chdir(fmus)
    system = pb.System().fmu("giver", "giver.fmu").fmu("mass", "mass.fmu", parameters={"initial_position": 0.1})
    system.connect("giver.force", "mass.force")
    system.connect("mass.position", "giver.position").connect("mass.velocity", "giver.velocity")
    system.bond("spring", pb.leaving("giver.velocity", "giver.force"), pb.entering("mass.force", "mass.velocity"))
    system.method(hold=1).simulation(stop=0.5, step=1e-3)
    sol = pb.run(system)
    assert sol["mass.position"][0] == 0.1 and sol.bonds[0]["exchanged"] > 0.0
    system.write(fmus / "drive.toml")
    assert 'fmu = "giver.fmu"' in (fmus / "drive.toml").read_text()
    monkeypatch.chdir(tmp_path)
    again = pb.run(fmus / "drive.toml")
    assert (again["mass.position"] == sol["mass.position"]).all()


def test_mistakes_are_told_together_each_with_its_line_of_the_program():
    system = pb.System()
    first = sys._getframe().f_lineno + 1
    system.model("chassis", "quarter-car/chasis")
    system.model("wheel", "quarter-car/wheel-suspension", parameters={"stifness": 1.0})
    for act in (lambda: pb.run(system, stop=1.0), lambda: pb.check(system), lambda: pb.open(system, stop=1.0)):
        with pytest.raises(pb.PowerbondError) as caught:
            act()
        message = str(caught.value)
        assert f"{__file__}:{first}" in message and "Did you mean `quarter-car/chassis`" in message, message
        assert (caught.value.file, caught.value.line) == (__file__, first)
        assert f"{__file__}:{first + 1}: " in message and "Did you mean `stiffness`" in message, message


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda s: s.fmu(3, "x.fmu"), TypeError, "`name` is 3"),
        (lambda s: s.fmu("x", 3), TypeError, "`path` is 3"),
        (lambda s: s.model("a", "algebraic/gain", parameters={"gain": object()}), TypeError, "parameters.gain"),
        (lambda s: s.model("a", "algebraic/gain").model("a", "algebraic/gain"), ValueError, "already"),
        (lambda s: s.bond("b", ("a.x", "a.y")), TypeError, "port 1 of `b`.*pb.leaving"),
        (lambda s: s.python("p", object()), TypeError, "`p` is <object.*with `outputs` and a method `step`"),
        (lambda s: s.fmu("x", "x.fmu", {"mass": 1.0}), TypeError, "without a name; write `parameters=…`"),
        (lambda s: s.connect("a.y", 3), TypeError, "`target` is 3"),
        (lambda s: s.fmu("x", "x.fmu", parametres={}), TypeError, "`fmu` has no argument `parametres`. Did you mean `parameters`"),
        (lambda s: pb.leaving(3, "a.y"), TypeError, "`inputs` is 3"),
        (lambda s: s.python("x", Load, sampled={"offset": 1.0}), ValueError, "`sampled` of `x` has no `period`"),
    ],
)
def test_wrong_arguments_are_named(act, error, words):
    with pytest.raises(error, match=words):
        system = act(pb.System())
        pb.check(system)


class Load:
    """A flywheel with friction: J ω' = torque − d ω."""

    inputs = {"torque": "N.m"}
    outputs = {"speed": "rad/s"}

    def __init__(self, inertia=0.01, friction=0.05):
        self.inertia, self.friction, self.speed = inertia, friction, 0.0

    def step(self, time, h, torque):
        # The solution for a constant torque.
        decay = np.exp(-self.friction / self.inertia * h)
        self.speed = self.speed * decay + torque / self.friction * (1.0 - decay)


class Motor:
    """torque = k (U − k ω) / R: direct feed-through."""

    inputs = {"speed": "rad/s", "voltage": "V"}
    outputs = {"torque": "N.m"}

    def step(self, time, h, speed, voltage):
        pass

    def output(self, time, speed, voltage):
        return 0.1 * (voltage - 0.1 * speed) / 0.5


def drive(load=None) -> pb.System:
    system = pb.System("drive").python("motor", Motor()).python("load", load or Load())
    system.connect("motor.torque", "load.torque").connect("load.speed", "motor.speed")
    system.bond("shaft", pb.leaving("motor.speed", "motor.torque"), pb.entering("load.torque", "load.speed"))
    return system.input("motor.voltage", 24.0)


def exact(time, inertia=0.01, friction=0.05):
    """ω' = (k U / R − (k²/R + d) ω) / J from rest."""
    rate = (0.1**2 / 0.5 + friction) / inertia
    return 0.1 * 24.0 / 0.5 / (rate * inertia) * (1.0 - np.exp(-rate * time))


@pytest.mark.parametrize("load", [Load(), Load])
def test_subsystems_in_python_run_and_are_right(load):
    errors = []
    for tolerance in (1e-3, 1e-5):
        sol = pb.run(drive(load), stop=1.0, tolerance=tolerance)
        errors.append(np.abs(sol["load.speed"] - exact(sol.time)).max() / exact(1.0))
    assert max(errors) < 1e-4
    assert sol.verdict.word == "trustworthy" and sol.units["load.speed"] == "rad/s"
    # Every run begins anew.
    assert sol["load.speed"][0] == 0.0
    other = pb.run(drive(load), stop=1.0, set={"load.inertia": 0.02})
    assert other["load.speed"][-1] == pytest.approx(exact(1.0, inertia=0.02), rel=1e-2)


def test_subsystems_in_python_are_stepped_saved_and_restored():
    with pb.open(drive(), stop=1.0) as sim:
        sim.run_until(0.3)
        saved = sim.save()
        ends = []
        for _ in range(2):
            sim.restore(saved)
            sim.run()
            ends.append(sim["load.speed"])
    assert ends[0] == ends[1]


class Regulator:
    """Samples every 50 ms."""

    inputs = ["position", "velocity"]
    outputs = ["force"]

    def step(self, time, h, position, velocity):
        return {"force": -200.0 * position - 20.0 * velocity}

    def start(self, time):
        return 0.0


def test_a_controller_in_python_holds_an_fmu(fmus):
    system = pb.System().fmu("mass", fmus / "mass.fmu", parameters={"initial_position": 0.1, "stiffness": 0.0, "mass": 1.0})
    system.python("regulator", Regulator(), sampled=0.05)
    system.connect("mass.position", "regulator.position").connect("mass.velocity", "regulator.velocity")
    system.connect("regulator.force", "mass.force")
    sol = pb.run(system, stop=3.0)
    assert abs(sol["mass.position"][-1]) < 1e-3
    # A hair after each sample.
    changes = sol.time[1:][np.diff(sol["regulator.force"]) != 0.0]
    assert len(changes) > 50 and np.abs(changes / 0.05 - np.round(changes / 0.05)).max() < 1e-3


class Broken(Load):
    """Fails after a while."""

    def step(self, time, h, torque):
        if time > 0.2:
            raise ValueError("no oil")
        return super().step(time, h, torque)


def test_an_exception_in_a_subsystem_is_the_cause_of_the_error():
    with pytest.raises(pb.PowerbondError, match="no oil") as caught:
        pb.run(drive(Broken()), stop=1.0)
    error = caught.value
    assert (error.subsystem, error.call, error.exit_code) == ("load", "step", 4) and error.time > 0.2
    assert isinstance(error.__cause__, ValueError)
    sol = pb.run(drive(Broken()), stop=1.0, check=False)
    assert sol.error is not None and 0.2 < sol.time[-1] < 1.0


def test_exceptions_in_runs_of_several_threads_are_the_causes_of_their_own_errors():
    """There was one place for all of them: some errors had no cause, or that of another thread."""

    class Failing:
        outputs = ["y"]

        def __init__(self, word):
            self.word = word

        def start(self, time):
            return 0.0

        def step(self, time, h):
            if time > 0.5:
                raise KeyError(self.word)
            sleep(1e-4)
            return 0.0

    def cause(word):
        with pytest.raises(pb.PowerbondError) as caught:
            pb.run(pb.System().python("failing", Failing(word)), stop=1.0, step=0.1)
        return caught.value.__cause__.args[0]

    words = [f"word {n}" for n in range(24)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(cause, words)) == words


def test_a_subsystem_cannot_use_the_run_that_it_is_in():
    """It waited for itself, for ever."""

    class Curious:
        outputs = ["y"]

        def start(self, time):
            return 0.0

        def step(self, time, h):
            return sim["curious.y"] + 1.0

    with pb.open(pb.System().python("curious", Curious), stop=1.0, step=0.1) as sim:
        with pytest.raises(pb.PowerbondError, match="cannot use the run that it is in"):
            sim.step()


@pytest.mark.parametrize("act", ["run", "open", "sweep"])
def test_ctrl_c_in_a_subsystem_is_ctrl_c(act, tmp_path):
    """It was a failure of the subsystem, and a sweep went on."""

    class Slow(Load):
        def step(self, now, h, torque):
            end = time.monotonic() + 2e-3
            while time.monotonic() < end:
                pass
            super().step(now, h, torque)

    system = drive(Slow())
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        if act == "run":
            pb.run(system, stop=1e3, step=1e-3)
        elif act == "open":
            pb.open(system, stop=1e3, step=1e-3).run()
        else:
            plan = {"system": system, "run": {"stop": 0.05, "step": 1e-3}, "parameters": {"load.friction": np.linspace(0.01, 0.1, 1000)}}
            pb.sweep(plan | {"outputs": ["max(load.speed)"]}, output_dir=tmp_path)
    assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize("act", [lambda system: pb.run(system, stop=1.0), lambda system: pb.open(system, stop=1.0).run()])
def test_ctrl_c_in_any_call_of_a_subsystem_is_ctrl_c(act):
    """In a probe or a twin, which a run can do without, it was lost, and the run went on to its end."""
    for last in range(1, 60):
        calls = itertools.count(1)

        class Interrupted(Load):
            def step(self, now, h, torque):
                if next(calls) == last:
                    raise KeyboardInterrupt
                super().step(now, h, torque)

        with pytest.raises(KeyboardInterrupt):
            act(drive(Interrupted()))


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ({"sped": 1.0}, "Did you mean `speed`"),
        ({}, "no value of `speed`"),
        ([1.0, 2.0], "returns 2 values; expected 1: speed"),
        ("fast", r"returns 'fast' \(str\); expected numbers: speed"),
        (1j, r"returns 1j \(complex\) for `speed`; expected a number"),
    ],
)
def test_wrong_outputs_are_named(returned, words):
    class Odd(Load):
        def step(self, time, h, torque):
            return returned

    with pytest.raises(pb.PowerbondError, match=words):
        pb.run(drive(Odd()), stop=1.0)


def test_a_step_that_cannot_be_called_is_refused_before_the_run():
    class Strange(Load):
        def step(self, time, torque):
            return 0.0

    with pytest.raises(TypeError, match=r"step\(time, h, torque\)"):
        drive(Strange())
    with pytest.raises(pb.PowerbondError, match=r"step\(time, h, torque\)"):
        pb.run(drive(Strange), stop=1.0)
    with pytest.raises(pb.PowerbondError, match="Did you mean `inertia`"):
        pb.run(drive(), stop=1.0, set={"load.inerta": 1.0})


def test_what_cannot_be_copied_is_given_as_a_class(tmp_path):
    class Logger(Load):
        def __init__(self):
            super().__init__()
            self.file = open(tmp_path / "log.txt", "a")

        def step(self, time, h, torque):
            super().step(time, h, torque)
            self.file.write(f"{time}\n")
            self.file.flush()

    with pytest.raises(TypeError, match="give its class"):
        drive(Logger())
    sol = pb.run(drive(Logger), stop=0.5, step=0.01)
    assert sol["load.speed"][-1] > 0.0 and (tmp_path / "log.txt").read_text().count("\n") >= 50
