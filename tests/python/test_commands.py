"""Every command that a page of the book shows is run, in a folder such as its reader has, and prints what is shown."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from test_examples import environment
from test_tutorial import fits

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"

sys.path.insert(0, str(ROOT / "docs"))
import book  # noqa: E402

PAGES = sorted({str(path) for path in book.links(ROOT / "docs/SUMMARY.md") if path.suffix == ".md"})

# Whose blocks of the language `console` the tests in Rust run, and the tutorial, which test_tutorial.py types into a terminal.
IN_RUST = set(re.findall(r'"([^"]+\.md)"', (ROOT / "crates/cli/tests/cli/docs.rs").read_text().split("const PAGES", 1)[1].split("];", 1)[0]))
ELSEWHERE = IN_RUST | {"docs/tutorial.md"}

# Commands that are not run here, and why; the tests named do what they do.
NOT_RUN = {
    "cargo install": "it compiles everything once more: test_package.py has the wheel, test_release.py the archive",
    "cargo run -p own-model": "it compiles: examples/own-model/tests run it",
    "pip install .": "it compiles: test_wheel.py installs the wheel",
}

# What beginnings of lines are commands where a block of four spaces may be anything.
COMMAND = re.compile(r"^(\$ )?((powerbond|sh|cargo|pip|fmpy) .*)$")


def blocks(text):
    """(language, lines) of fenced blocks, and of blocks that are indented by four spaces, which have the language `indented`."""
    fence, indented = None, []
    for line in text.splitlines():
        if fence is not None:
            if line == "```":
                yield fence
                fence = None
            else:
                fence[1].append(line)
        elif line.startswith("```"):
            fence = (line[3:], [])
        elif line.startswith("    "):
            indented.append(line[4:])
        elif indented and not line.strip():
            indented.append("")
        elif indented:
            yield "indented", without_end(indented)
            indented = []
    if indented:
        yield "indented", without_end(indented)


def without_end(lines):
    """Without the empty lines behind a block."""
    return "\n".join(lines).rstrip().split("\n")


def commands(page):
    """(command, what is shown of its output, or None where nothing is said)."""
    for language, lines in blocks((ROOT / page).read_text()):
        if language in ("console", "text", "indented") and any(line.startswith("$ ") for line in lines):
            if language == "console" and page in ELSEWHERE:
                continue
            shown = None
            for line in lines + ["$ "]:
                if line.startswith("$ "):
                    if shown is not None:
                        yield command, [*shown] if shown else None
                    command, shown = line[2:], []
                elif shown is not None:
                    shown.append(line)
        elif language in ("sh", "", "text", "indented"):
            for line in lines:
                found = COMMAND.match(line)
                if language == "sh" or found:
                    yield line, None


def why_not(page, command):
    return next((why for start, why in NOT_RUN.items() if command.startswith(start)), None)


@functools.cache
def with_commands():
    return [page for page in PAGES if any(why_not(page, command) is None for command, _ in commands(page))]


def desk(folder, page):
    """A folder such as the reader of a page has; where the commands are typed."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("results", "*.fmu", "target"))
    shutil.copytree(ROOT / "crates/cli/tests/cases", folder / "crates/cli/tests/cases")
    for place in (".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"):
        (folder / place).mkdir(parents=True)
    name = pathlib.PurePath(page)
    if name.parts[0] == "examples" and (ROOT / name.parent / "build.sh").exists():
        return folder / name.parent
    run = functools.partial(subprocess.run, cwd=folder, check=True, capture_output=True, env=settings(folder))
    if name.parent.name == "migration" and name.name != "README.md":
        run(["sh", ROOT / "examples/dc-motor/build.sh", folder])
        (folder / "system.toml").write_text(first_block("docs/migration/fmpy.md", "toml"))
    if page == "docs/ssp-osp.md":
        run([POWERBOND, "convert", "examples/quarter-car", "vehicle.ssp"])
        run([POWERBOND, "convert", "examples/quarter-car", "osp-folder", "--to", "osp"])
    if page == "docs/sweeps.md":
        (folder / "plan.toml").write_text(first_block(page, "toml"))
    return folder


def settings(folder):
    """Its home is the folder; `powerbond` and the Python of the tests are on the path."""
    given = environment()
    path = f"{POWERBOND.parent}:{pathlib.Path(sys.executable).parent}:{given['PATH']}"
    slurm = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_CPUS_PER_TASK": "2"}
    return given | slurm | {"PATH": path, "HOME": str(folder), "PROFILE": str(folder / "profile.ps1"), "NO_COLOR": "1", "COLUMNS": "200"}


def first_block(page, language):
    return next("\n".join(lines) + "\n" for name, lines in blocks((ROOT / page).read_text()) if name == language)


def timeless(line):
    """A line without wall-clock times, which no page can tell beforehand."""
    return re.sub(r"\d[\d.]*(e-?\d+)? (s|ms|µs)\b", "… s", re.sub(" +", " ", line))


# Pages whose output has wall-clock times among others.
TIMED = {"docs/tune.md"}
# Programs of other tools that commands of their pages want, and the package that must be there.
PROGRAMS = {"docs/migration/fmpy.md": "fmpy", "docs/migration/libcosim.md": "libcosimpy", "docs/migration/omsimulator.md": "OMSimulator"}


@pytest.mark.parametrize("page", with_commands())
def test_commands_of_pages_do_what_is_shown(page, tmp_path):
    cwd, ran = desk(tmp_path, page), []
    if package := PROGRAMS.get(page):
        missing = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode
        if not missing:
            subprocess.run([sys.executable, "-c", first_block(page, "python")], cwd=cwd, check=True, capture_output=True, timeout=120)
    for command, shown in commands(page):
        if why_not(page, command):
            continue
        if command.startswith("cd "):
            cwd = cwd / command[3:]
            continue
        done = subprocess.run(
            ["sh", "-c", command], cwd=cwd, env=settings(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
        )
        printed = done.stdout.splitlines()
        ran.append(command)
        # Exceeded limits are what some pages are about: those show what is printed.
        assert done.returncode == 0 or (shown and done.returncode in (3, 7)), f"{page}: `{command}`: {done.returncode}\n{done.stdout}"
        if shown and page in TIMED:
            shown, printed = [*map(timeless, shown)], [*map(timeless, printed)]
        assert shown is None or fits(shown, printed), f"{page}: `{command}` printed\n" + "\n".join(printed)
    assert ran


def test_what_is_not_run_is_still_there():
    """An entry that no page needs any more hides a command of another one."""
    all_commands = [command for page in PAGES for command, _ in commands(page)]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in all_commands), start


def test_programs_of_the_pages_about_results_and_sweeps_run(tmp_path):
    """Where a page has a cluster, a local one does."""
    pytest.importorskip("distributed", reason="SKIPPED: there is no Dask")
    cwd = desk(tmp_path, "docs/sweeps.md")
    subprocess.run([POWERBOND, "sweep", "plan.toml"], cwd=cwd, env=settings(tmp_path), check=True, capture_output=True)
    here = {
        'Client("tcp://head:8786")': 'Client(n_workers=1, threads_per_worker=1, dashboard_address=None)',
        "MPIPoolExecutor()": "concurrent.futures.ProcessPoolExecutor(1)",
        '"quarter-car"': '"examples/quarter-car"',
    }
    program = "import concurrent.futures\nif __name__ == '__main__':\n    X = [[350.0, 500.0], [450.0, 2000.0]]\n"
    for language, lines in blocks((ROOT / "docs/sweeps.md").read_text()):
        if language == "python":
            text = "\n".join(lines)
            for there, local in here.items():
                text = text.replace(there, local)
            program += "".join(f"    {line}\n" for line in text.splitlines())
    program += "    assert len(Y) == 2 and len(y) == 1 and all(result.ok), (Y, y)\n"
    (cwd / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "program.py"], cwd=cwd, env=settings(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    folder = cwd / "tables"
    folder.mkdir()
    for form, file in (("csv", "results.csv"), ("arrow", "results.arrows"), ("parquet", "results.parquet")):
        run = [POWERBOND, "run", "examples/quarter-car", "--quiet", "--format", form, "--output-dir", form]
        subprocess.run(run, cwd=cwd, check=True, capture_output=True)
        shutil.copy(cwd / form / file, folder)
    programs = ["\n".join(lines) for language, lines in blocks((ROOT / "docs/results.md").read_text()) if language == "python"]
    done = subprocess.run([sys.executable, "-c", "import pandas\n" + "\n".join(programs)], cwd=folder, capture_output=True, text=True)
    assert len(programs) == 2 and done.returncode == 0, done.stderr


def test_options_that_pages_name_are_there():
    """Of powerbond or, below, of another tool; in code only."""
    helps = subprocess.run([POWERBOND, "completions", "bash"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"--[a-z][a-z-]+", helps))
    assert {"--tolerance", "--verify", "--series", "--figures"} <= known
    foreign = {
        "--release", "--path", "--features", "--example", "--workspace", "--bin", "--all", "--check", "--locked", "--open", "--test",
        "--ignored", "--nocapture", "--all-targets", "--target", "--package", "--stop-time", "--duration", "--array", "--quick", "--file-override",
        "--no-run", "--profile", "--lib", "--doc", "--exact", "--bins", "--bench",
    }
    for page in PAGES:
        text = (ROOT / page).read_text()
        code = re.findall(r"`[^`\n]+`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        code += ["\n".join(lines) for language, lines in blocks(text) if language in ("console", "sh", "text", "indented", "")]
        named = {option for part in code for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", part)}
        assert named <= known | foreign, f"{page}: {sorted(named - known - foreign)}"
