"""What is released runs where nothing else is: an archive in an empty folder, a wheel in an empty environment."""

import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    ran = subprocess.run([ROOT / "release", folder], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.fixture(scope="module")
def unpacked(dist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    [archive] = dist.glob("*.tar.gz")
    assert archive.stat().st_size < 30e6
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    [root] = folder.iterdir()
    return root


def alone(root, command):
    """Runs a command without any environment: no path, no home, no language."""
    return subprocess.run(command, cwd=root, env={}, capture_output=True, text=True)


def test_the_readmes_first_commands_run_from_the_archive(unpacked):
    blocks = re.findall(r"^```console\n(.*?)^```", README, re.M | re.S)
    commands = re.findall(r"^\$ cargo run --release -- (.*)\n(.*)", "\n".join(blocks), re.M)
    assert commands and commands[0][0] == "run examples/oscillator"
    for words, shown in commands:
        ran = alone(unpacked, [unpacked / "bin/powerbond", *words.split()])
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith(shown.split("…")[0]), ran.stdout
    assert (unpacked / "results/oscillator/results.csv").is_file()


def test_models_completions_manual_and_licences_are_there(unpacked):
    ran = alone(unpacked, [unpacked / "bin/powerbond", "export", "quarter-car/chassis"])
    assert ran.returncode == 0 and (unpacked / "quarter_car_chassis.fmu").is_file(), ran.stderr
    for file, text in [
        ("share/bash-completion/completions/powerbond", "--tolerance"),
        ("share/zsh/site-functions/_powerbond", "#compdef powerbond"),
        ("share/fish/vendor_completions.d/powerbond.fish", "complete -c powerbond"),
        ("share/man/man1/powerbond-run.1", ".TH"),
        ("THIRD-PARTY.md", "Permission is hereby granted"),
        ("LICENSE-MIT", "Permission is hereby granted"),
        ("LICENSE-APACHE", "Apache License"),
        ("INSTALL.md", "glibc"),
        ("docs/tutorial.md", "Two FMUs"),
    ]:
        assert text in (unpacked / file).read_text(), file
    assert not list(unpacked.rglob("target")) and not list(unpacked.rglob("*.part"))


def test_the_readmes_python_runs_with_the_wheel_alone(dist, unpacked, tmp_path):
    [wheel] = dist.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    pip = [sys._base_executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True)
    program = re.search(r"^```python\n(.*?)^```", README, re.M | re.S)[1]
    ran = alone(unpacked, [python, "-c", program])
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[0] in ("trustworthy", "check") and ran.stdout.strip().endswith("rows"), ran.stdout
