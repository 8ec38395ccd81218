"""What FMUs say goes to the log with its instance and category, never to stdout, and not without end."""

import json
import pathlib
import subprocess

from test_fmi_import import c_fmu

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"


SYSTEM = """
[simulation]
stop = 1.0
step = 0.1
[subsystems.odd]
fmu = "faulty2.fmu"
parameters = {{ mode = {mode} }}
[record]
variables = "*.x"
"""


def run(folder, mode, *options, code=0):
    c_fmu(folder, "faulty2")
    (folder / "system.toml").write_text(SYSTEM.format(mode=mode))
    command = [POWERBOND, "run", folder, "--overwrite", "--output-dir", folder / "out", *options]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr
    return ran


def test_an_error_of_an_fmu_has_its_instance_and_category(tmp_path):
    ran = run(tmp_path, 6, "-v", code=4)
    line = next(line for line in ran.stderr.splitlines() if "powerbond::fmu" in line)
    assert 'ERROR powerbond::fmu: the solver failed at 0.5' in line, line
    assert 'instance="odd"' in line and 'category="solver"' in line, line
    assert "the solver failed" not in ran.stdout
    assert "powerbond::fmu" not in run(tmp_path, 6, code=4).stderr


def test_chatter_is_cut_and_stdout_stays_ours(tmp_path):
    ran = run(tmp_path, 13, "-v", "--json")
    assert [json.loads(line) for line in ran.stdout.splitlines()][-1]["outcome"] == "finished"
    said = [line for line in ran.stderr.splitlines() if "powerbond::fmu" in line]
    assert len(said) == 10_001 and "more than 10000 lines; the rest is skipped" in said[-1]
    assert len((tmp_path / "out/log.txt").read_text().splitlines()) == 10_001


def test_messages_that_do_not_fit_their_formats_are_harmless(tmp_path):
    ran = run(tmp_path, 10, "-v")
    # As C prints `%-5d|%5.2f|%s|%x|%lld|%zu` of 7, 2.5, "text", 255, 2^40 and 3.
    assert "7    | 2.50|text|ff|1099511627776|3 instance=\"odd\" category=\"odd\"" in ran.stderr
