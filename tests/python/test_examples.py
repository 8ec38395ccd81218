"""The examples with FMUs, built by their own scripts, against solutions that know nothing of powerbond."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import fmpy
import fmpy.validation
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"

# The interval of expected.csv, and the largest error in any of its columns (rms over rms) that the README tells, rounded up.
EXAMPLES = {
    "dc-motor": (0.01, 2e-3),
    "hydraulic-cylinder": (0.01, 5e-3),
    "sampled-control": (0.02, 1e-3),
    "heated-tank": (10, 1e-3),
    "drive-train": (0.05, 5e-4),
}


def environment():
    """With a Python that has pythonfmu, and its library where the loader may not look."""
    libpython = pathlib.Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("INSTSONAME")
    preload = {"POWERBOND_PRELOAD": str(libpython)} if libpython.exists() else {}
    return dict(os.environ, PYTHON=sys.executable, **preload)


def build(example, folder):
    """A copy of the example's folder, with its FMUs."""
    folder = folder / example
    shutil.copytree(ROOT / "examples" / example, folder)
    ran = subprocess.run(["sh", "build.sh"], cwd=folder, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder, ran.stdout.split()


def powerbond(folder, *arguments, code=0):
    ran = subprocess.run([POWERBOND, *map(str, arguments)], cwd=folder, env=environment(), capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr
    return ran.stdout


def expected(example):
    """The module that makes expected.csv."""
    spec = importlib.util.spec_from_file_location("expected", ROOT / "examples" / example / "expected.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", EXAMPLES)
def test_expected_values_are_those_of_their_script(example):
    """SciPy's versions differ in round-off only."""
    header, rows = expected(example).table()
    lines = (ROOT / "examples" / example / "expected.csv").read_text().splitlines()
    assert lines[0].split(",") == header
    stored = np.array([line.split(",") for line in lines[1:]], float)
    assert (np.abs(stored - rows) < 1e-8 * np.abs(rows).max(0)).all()


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_default_method_is_trustworthy_and_right(example, tmp_path):
    interval, allowed = EXAMPLES[example]
    folder, _ = build(example, tmp_path)
    said = powerbond(folder, "run", ".", "--output-dir", "out", "--output-interval", interval)
    assert said.startswith("TRUSTWORTHY: "), said
    compared = json.loads(powerbond(folder, "compare", "out", "expected.csv", "--json"))
    errors = {variable["name"]: variable["relative_rms"] for variable in compared["variables"]}
    assert len(errors) >= 2 and max(errors.values()) < allowed, errors
    if example == "sampled-control":
        assert "controller.force is sampled every 100 ms" in said


@pytest.mark.parametrize("example", EXAMPLES)
def test_fmus_are_valid_and_run_elsewhere(example, tmp_path):
    folder, names = build(example, tmp_path)
    names = [name for name in names if name.endswith(".fmu")]
    assert len(names) == (4 if example == "drive-train" else 2)
    for name in names:
        path = str(folder / name)
        # pythonfmu's descriptions are its own affair.
        if name[0].islower():
            assert fmpy.validation.validate_fmu(path) == [], name
        done = fmpy.simulate_fmu(path, stop_time=0.1, output_interval=0.01)
        assert len(done) == 11


def test_a_missing_pythonfmu_is_named_with_its_cure(tmp_path):
    shutil.copytree(ROOT / "examples/heated-tank", tmp_path / "tank")
    isolated = tmp_path / "python"
    isolated.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    isolated.chmod(0o755)
    ran = subprocess.run(
        ["sh", "build.sh"], cwd=tmp_path / "tank", env=dict(os.environ, PYTHON=str(isolated)), capture_output=True, text=True
    )
    assert ran.returncode == 1 and "pythonfmu is missing" in ran.stderr and "-m pip install pythonfmu" in ran.stderr, ran.stderr
