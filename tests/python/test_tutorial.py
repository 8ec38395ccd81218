"""What the tutorial says, done: FMUs from C and Python, in a terminal of 80 columns and in a browser.

Screens and screenshots are in target/walk; look there when a test fails.
"""

import pathlib
import re
import time

import chromium
import pytest
import terminal
from test_examples import POWERBOND, ROOT, environment

KEPT = ROOT / "target/walk"

pytestmark = pytest.mark.skipif(terminal.find() is None, reason="there is no tmux")
needs_browser = pytest.mark.skipif(chromium.find() is None, reason="there is no Chromium")


def shell(cwd, name):
    """A terminal in a folder, with `powerbond` on its path and a Python that has pythonfmu."""
    given = environment()
    settings = {key: given[key] for key in ("PYTHON", "POWERBOND_PRELOAD") if key in given}
    return terminal.Terminal(cwd, KEPT / name, settings | {"PATH": f"{POWERBOND.parent}:{given['PATH']}"})


def steps(page):
    """The blocks of a page in their order: (heading, language, text)."""
    heading = ""
    for part in re.finditer(r"^## ([^\n]*)$|^```(\w+)\n(.*?)^```$", page, re.M | re.S):
        if part[1]:
            heading = part[1]
        else:
            yield heading, part[2], part[3]


def fits(shown, printed):
    """Whether printed lines fit shown ones: `…` is any text, alone on a line any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(fits(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    pattern = ".*".join(map(re.escape, shown[0].split("…")))
    return bool(printed) and re.fullmatch(pattern, printed[0]) is not None and fits(shown[1:], printed[1:])


def too_wide(lines, width=80):
    """Lines that the terminal had to break."""
    return [line for line in lines if len(line) > width]


@needs_browser
def test_the_tutorial_does_what_it_says(tmp_path):
    page = (ROOT / "docs/tutorial.md").read_text()
    system = tmp_path / "first/system.toml"
    ran, right = [], None
    with shell(tmp_path, "tutorial") as window:
        for heading, language, block in steps(page):
            if heading.startswith("5.") and right is None:
                right = system.read_text()
                system.write_text(right.replace("sign = 1 ", "sign = -1 ", 1))
            if language == "toml" and block.startswith("[inputs]"):
                system.write_text(f"{system.read_text()}\n{block}")
            elif language == "toml":
                assert block in system.read_text(), f"the tutorial shows\n{block}\nbut `new` wrote\n{system.read_text()}"
            else:
                for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
                    lines, code = window.type(command)
                    ran.append(command)
                    assert code == (3 if heading.startswith("5.") else 0), f"`{command}`: {code}\n" + "\n".join(lines)
                    shown = shown.splitlines()
                    assert fits(shown, lines), f"`{command}` printed\n" + "\n".join(lines)
                    assert (wide := too_wide(lines)) == [], f"`{command}` is too wide:\n" + "\n".join(wide)
        system.write_text(right)
        assert window.type("powerbond run .")[1] == 0
    assert any(command.startswith("powerbond new motor.fmu") for command in ran) and len(ran) > 9
    report = tmp_path / "first/results/first/report.html"
    reports = [report] if report.exists() else sorted(report.parent.parent.glob("*/report.html"))
    look_at(reports[0], "tutorial", ["motor.torque", "load.speed"])


def look_at(report, name, outputs):
    """The report in a browser: plots are drawn, nothing complains, the verdict and the outputs are there."""
    with chromium.Page(report.as_uri()) as page:
        try:
            assert page.evaluate("document.querySelector('#verdict .word').textContent") == "trustworthy"
            assert page.evaluate("powerbondReport.plots.length") > 3
            text = page.evaluate("document.body.innerText")
            assert all(output in text for output in outputs), text
            assert page.complaints() == []
        finally:
            page.screenshot(str(KEPT / name / "report.png"))


@needs_browser
def test_a_python_fmu_and_one_in_c_from_nothing_to_plots(tmp_path):
    """The heated tank: no units on the side of Python, no bond, one of both with direct feed-through."""
    with shell(tmp_path, "heated-tank") as window:

        def types(command):
            lines, code = window.type(command)
            assert code == 0, f"`{command}`: {code}\n" + "\n".join(lines)
            return lines

        types("powerbond new --example heated-tank")
        assert types("sh heated-tank/build.sh second") == ["tank.fmu", "Thermostat.fmu"]
        types("cd second")
        types("powerbond new --yes Thermostat.fmu tank.fmu")
        lines = types("powerbond run . --report")
        assert any(line.startswith("TRUSTWORTHY: ") for line in lines), lines
        assert (wide := too_wide(lines)) == [], wide
    look_at(next((tmp_path / "second/results").glob("*/report.html")), "heated-tank", ["power", "tank.temperature"])


def test_from_exported_fmus_to_a_plot_in_a_minute(tmp_path):
    """`new` to `--report` on FMUs that powerbond exports."""
    with shell(tmp_path, "exported") as window:
        for model in ("oscillator/force-giver", "oscillator/mass"):
            assert window.type(f"powerbond export {model} --set integrator=accurate")[1] == 0
        began = time.monotonic()
        assert window.type("powerbond new --yes *.fmu")[1] == 0
        lines, code = window.type("powerbond run . --end-time 2 --report")
        assert code == 0 and time.monotonic() - began < 60, lines
        assert list(pathlib.Path(tmp_path).glob("results/*/report.html")), lines


def test_the_commands_of_the_readme_work_as_typed(tmp_path):
    """Those for two FMUs; the tests in Rust run the others."""
    (block,) = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    with shell(tmp_path, "readme") as window:
        for command in block.splitlines():
            lines, code = window.type(command)
            assert code == 0, f"`{command}`: {code}\n" + "\n".join(lines)
    assert list(tmp_path.glob("dc-motor/results/*/report.html"))
