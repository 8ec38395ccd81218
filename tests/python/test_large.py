"""Results of 10⁶ rows: the report and comparisons read them row by row, and take neither long nor much memory."""

import pathlib
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"


# A process counts the memory of the one that started it: this one is small, whatever other tests have left in theirs.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def took(*arguments):
    """Seconds and bytes that a command took."""
    begun = time.monotonic()
    command = [sys.executable, "-c", MEASURE, POWERBOND, *map(str, arguments)]
    size = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return time.monotonic() - begun, 1024 * int(size)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of 10⁶ steps, and one of 10⁴ to compare it with."""
    folder = tmp_path_factory.mktemp("large")
    for step, name in (("1e-5", "large"), ("1e-3", "small")):
        system = ROOT / "examples/oscillator/uncorrected.toml"
        command = [POWERBOND, "run", system, "--step-size", step, "--quiet", "--output-dir", folder / name]
        subprocess.run(command, check=True)
    with open(folder / "large/results.csv", "rb") as table:
        assert sum(1 for _ in table) > 1_000_000
    return folder


def test_the_report(folder):
    seconds, size = took("report", folder / "large")
    # On a quiet machine 1.5 s; here other tests may run beside it.
    assert seconds < 10 and size < 100e6, (seconds, size)
    assert (folder / "large/report.html").stat().st_size < 10e6


def test_the_report_with_errors_over_time(folder):
    seconds, size = took("report", folder / "large", "--reference", folder / "small", "-o", folder / "page.html")
    assert seconds < 20 and size < 100e6, (seconds, size)


def test_comparing(folder):
    _, size = took("compare", folder / "large", folder / "small")
    assert size < 100e6, size


def test_errors_over_time_are_written_row_by_row(folder):
    _, size = took("compare", folder / "large", folder / "small", "--series", folder / "errors")
    assert size < 100e6, size
    # A header, and a row for each of the 10⁶ steps but the 99 that end before the first one of the other run does: it has 1 ms.
    with open(folder / "errors/energy-errors.csv", "rb") as table:
        assert sum(1 for _ in table) == 1 + 1_000_000 - 99
    assert not list(folder.glob("errors/.powerbond-*"))
