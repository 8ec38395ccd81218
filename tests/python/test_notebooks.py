"""The notebooks of the documentation, executed as they stand: nothing fails, and every one draws pictures."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """The kernel of this Python, whose command is found first."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return "python3"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_do_what_they_say(file, kernel, tmp_path):
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=120, kernel_name=kernel, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data for output in outputs if output.output_type in ("display_data", "execute_result")]
    assert any("image/png" in data for data in shown), "no picture"
    assert any("<svg" in data.get("text/html", "") for data in shown), "no solution is shown"
    # `!command` does not fail by itself.
    said = "".join(output.text for output in outputs if output.output_type == "stream")
    assert "error: " not in said and "not found" not in said, said


def test_there_are_four():
    assert [file.stem for file in NOTEBOOKS] == ["controller-in-python", "migration", "parameter-study", "two-fmus"]


def test_a_long_run_shows_a_bar_in_a_notebook(kernel, tmp_path):
    code = f"import powerbond as pb\npb.run({str(ROOT / 'examples/quarter-car')!r}, stop=400.0, progress=True);"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=60, kernel_name=kernel, resources={"metadata": {"path": tmp_path}}).execute()
    bars = [output.data["text/html"] for output in notebook.cells[0].outputs if output.output_type == "display_data"]
    assert len(bars) == 1 and 'value="1.0000"' in bars[0] and "400/400 s [" in bars[0], bars


def test_a_crash_leaves_the_kernel_alive(kernel, tmp_path):
    from crashing import crashing_fmu

    crash = crashing_fmu(tmp_path)
    code = f"import powerbond as pb\ntry:\n    pb.run({str(crash)!r}, stop=1.0)\nexcept pb.PowerbondError as error:\n    print(error.call)"
    cells = [nbformat.v4.new_code_cell(code), nbformat.v4.new_code_cell("print('alive')")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60, kernel_name=kernel, resources={"metadata": {"path": tmp_path}}).execute()
    assert [cell.outputs[0].text for cell in notebook.cells] == ["fmi2DoStep\n", "alive\n"]
