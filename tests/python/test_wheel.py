"""The wheel in an environment that has nothing but NumPy."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "target/wheel").glob("powerbond-*.whl"))

PROGRAM = """
import sys
import powerbond as pb

assert not any("site-packages" not in path and "powerbond" in path for path in [pb.__file__]), pb.__file__
s = pb.System("pair").fmu("giver", "giver.fmu").fmu("mass", "mass.fmu")
s.connect("giver.force", "mass.force")
s.connect("mass.position", "giver.position").connect("mass.velocity", "giver.velocity")
for isolate in (True, False):
    sol = pb.run(s, stop=0.5, isolate=isolate)
    assert sol.time[-1] == 0.5 and sol._repr_html_()
    sol.report("report.html")
with pb.open(s, stop=0.5) as sim:
    while sim.step():
        pass
assert len(pb.simulate_fmu("mass.fmu", stop_time=1.0)) > 100
print(sorted(name for name in sys.modules if name in ("numpy", "pandas", "polars", "pyarrow", "matplotlib")))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    if not WHEELS:
        pytest.skip("there is no wheel: `./test` builds it (pip wheel --no-deps -w target/wheel .)")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # The pip of whoever made the environment of the tests.
    pip = [Path(sys.base_prefix) / "bin/python3", "-m", "pip", "--python", folder / "bin/python", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", WHEELS[-1]], check=True)
    installed = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
    assert sorted(line.partition("==")[0].partition(" @")[0] for line in installed.split("\n") if line) == ["numpy", "powerbond"]
    return folder / "bin"


def test_the_wheel_works_where_there_is_only_numpy(environment, tmp_path):
    for model, file in (("oscillator/force-giver", "giver.fmu"), ("oscillator/mass", "mass.fmu")):
        subprocess.run([environment / "powerbond", "export", model, "-o", file], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([environment / "python", "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['numpy']\n"


def test_the_command_is_in_the_wheel(environment, tmp_path):
    for command in ([environment / "powerbond"], [environment / "python", "-m", "powerbond"]):

        def types(*words, code=0):
            done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == code, done.stderr
            return done.stdout + done.stderr

        assert types("--version").startswith("powerbond ")
        types("new", "--example", "oscillator", "--overwrite")
        assert "TRUSTWORTHY" in types("run", "oscillator", "--end-time", "1", "--overwrite")
        assert "cannot read no-such" in types("run", "no-such", code=3)
        assert "did you mean" in types("rnu", code=2).lower() or "similar" in types("rnu", code=2).lower()
