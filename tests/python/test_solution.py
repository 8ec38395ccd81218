"""What a run came to: columns for every library, pictures, and the report."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import powerbond as pb
import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]
QUARTER_CAR = ROOT / "examples/quarter-car"


@pytest.fixture(scope="module", params=[True, False], ids=["isolated", "here"])
def sol(request) -> pb.Solution:
    """With a discontinuity at 0.5 s."""
    inputs = {"wheel.road": ([0.0, 0.5, 0.5], [0.0, 0.0, 0.1])}
    return pb.run(QUARTER_CAR, stop=1.0, inputs=inputs, isolate=request.param)


def address(array) -> int:
    return array.__array_interface__["data"][0]


def test_columns_are_not_copied(sol):
    name = "chassis.velocity"
    column = sol[name]
    # NumPy looks at memory that it does not own or that the run made; nothing is behind it but that.
    assert column.flags.c_contiguous and sol[name] is column
    table = pa.table(sol)
    chunk = table.column(name).chunk(0)
    assert chunk.buffers()[1].address == address(column) and chunk.null_count == 0
    assert table.schema.field(name).metadata == {b"unit": b"m/s"}
    frame = pl.DataFrame(pb._table._Stream(sol))
    assert address(frame[name].to_numpy()) == address(column)
    pandas = pd.DataFrame(dict(sol), copy=False)
    assert address(pandas[name].to_numpy()) == address(column)
    del table, chunk, frame, pandas
    assert np.isfinite(column).all()


def test_arrow_outlives_the_solution():
    table = pa.table(pb.run(QUARTER_CAR, stop=0.2))
    again = pb.run(QUARTER_CAR, stop=0.2)
    assert np.array_equal(table["wheel.position"].to_numpy(), again["wheel.position"])


def test_every_library_gets_the_same(sol):
    import duckdb

    assert sol.time[-1] == 1.0
    right = sol.to_pandas()
    assert right.index.is_unique and right.index.name == "time" and right.index[-1] == 1.0
    both = sol.to_pandas(limits="both")
    assert len(both) == len(sol.time) > len(right)
    jump = both.index[both.index.duplicated()][0]
    assert jump == 0.5 and right["wheel.road"][0.5] == 0.1 and list(both["wheel.road"][0.5]) == [0.0, 0.1]
    polars, arrow = sol.to_polars(), sol.to_arrow(limits="both")
    assert polars.columns == list(sol) and polars.height == len(right) and arrow.num_rows == len(both)
    assert np.array_equal(polars["wheel.position"].to_numpy(), right["wheel.position"].to_numpy())
    arrows = pa.table(sol)
    highest = duckdb.sql('select max("wheel.position") from arrows').fetchall()[0][0]
    assert highest == sol["wheel.position"].max()
    streamed = duckdb.sql('select count(*) from sol').fetchall()[0][0]
    assert streamed == len(sol.time)
    for call in (sol.to_pandas, sol.to_polars, sol.to_arrow):
        with pytest.raises(ValueError, match="limits"):
            call(limits="left")


def test_values_at_a_time_are_those_after_a_discontinuity(sol):
    assert sol(0.5)["wheel.road"] == 0.1 and sol(0.4999)["wheel.road"] == 0.0
    assert sol(sol.time[7])["chassis.velocity"] == sol["chassis.velocity"][7]
    t = np.linspace(0.0, 1.0, 5)
    several = sol(t)
    assert [sol(float(x))["wheel.position"] for x in t] == list(several["wheel.position"])
    middle = 0.5 * (sol.time[3] + sol.time[4])
    assert sol(middle)["wheel.velocity"] == pytest.approx(0.5 * (sol["wheel.velocity"][3] + sol["wheel.velocity"][4]))
    for t in ("a", None, True):
        with pytest.raises(TypeError, match="`time` is"):
            sol(t)
    for t in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="outside of the run"):
            sol(t)


def test_a_misspelled_column_gets_a_suggestion(sol):
    with pytest.raises(KeyError, match="Did you mean `chassis.velocity`"):
        sol["chassis.velocty"]
    with pytest.raises(KeyError, match="chasis"):
        sol.plot("chasis.*")
    with pytest.raises(AttributeError, match="Did you mean `step_size`"):
        sol.stats.stepsize


def test_the_verdict_the_ledger_and_the_energy_are_at_hand(sol):
    assert sol.verdict.word in str(sol.verdict) and sol.verdict["error"] is not None
    assert sol.bonds[0]["name"] == "suspension" and "suspension" in sol._repr_html_()
    assert any("suspension" in name for name in sol.energy) and len(sol.energy.time) > 10
    assert sol.stats.step_size["max"] >= sol.stats.step_size["min"] and sol.warnings == sol.summary["warnings"]


def test_a_notebook_shows_verdict_ledger_and_plots(sol):
    page = sol._repr_html_()
    # Advice is in the words of Python, whose user has no options of a command.
    assert sol.verdict.advice and "verify=True" in page and "--" not in page.replace("<!--", "") and not any("--" in a for a in sol.verdict.advice)
    assert sol.verdict.word in page and page.count("<svg") == min(12, sum(np.ptp(sol[n]) > 0 for n in sol if n != "time"))
    hostile = pb.run(pb.System("<script>alert(1)</script>").model("a", "algebraic/gain").input("a.u", {"ramp": {"start": 0.0, "end": 1.0, "to": 1.0}}), stop=1.0)
    hostile.summary["verdict"]["text"] = "<script>alert(2)</script>"
    assert "<script>" not in hostile._repr_html_()


def test_plots_are_figures(sol, tmp_path):
    import matplotlib

    matplotlib.use("agg")
    figure = sol.plot("chassis.*", "wheel.velocity")
    labels = [line.get_label() for axis in figure.axes for line in axis.lines]
    assert sorted(labels) == sorted(["wheel.velocity", *(n for n in sol if n.startswith("chassis."))])
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_the_report_is_that_of_the_command(sol, tmp_path):
    page = tmp_path / "r.html"
    sol.report(page)
    text = page.read_text()
    assert "powerbond" in text[:2000] and "suspension" in text
    sol.report(page)
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(pb.PowerbondError, match="mine.html"):
        sol.report(tmp_path / "mine.html")
    sol.save(tmp_path / "run")
    compared = pb.compare(tmp_path / "run", sol, rtol=0.0)
    assert compared.within and all(v["max"] == 0.0 for v in compared.variables)


def test_tables_say_what_they_are(sol):
    assert repr(sol.energy).startswith("<Table: ") and "step_size" in repr(sol.energy)
    assert sol._ipython_key_completions_() == list(sol)
    other = pb.run(QUARTER_CAR, stop=0.1)
    assert other == pb.run(QUARTER_CAR, stop=0.1) and other != sol and sol != 3


def test_csv_has_every_bit_and_replaces(sol, tmp_path):
    file = tmp_path / "a.csv"
    for _ in range(2):
        sol.to_csv(file)
    read = np.genfromtxt(file, delimiter=",", names=True, deletechars="", replace_space=" ")
    assert list(read.dtype.names) == list(sol) and all((read[name] == sol[name]).all() for name in sol)
    with pytest.raises(pb.PowerbondError, match="cannot write"):
        sol.to_csv(tmp_path / "none" / "a.csv")


def test_errors_are_pickled():
    """Other processes hand them over: with all that is known."""
    with pytest.raises(pb.PowerbondError) as caught:
        pb.run(QUARTER_CAR, set={"chassis.mas": 1.0})
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.hint == "Did you mean `mass`?" and again.exit_code == 3


def test_a_solution_is_pickled(sol):
    again = pickle.loads(pickle.dumps(sol))
    assert again == sol
    assert list(again) == list(sol) and (again["wheel.position"] == sol["wheel.position"]).all()
    assert again.verdict == sol.verdict


def test_nothing_but_numpy_is_needed(tmp_path):
    """What is not installed is asked for when it is used."""
    program = (
        "import sys, powerbond as pb\n"
        "assert not {'pandas', 'polars', 'pyarrow', 'matplotlib', 'IPython'} & set(sys.modules)\n"
        "sys.modules['matplotlib'] = None\n"
        f"sol = pb.run({str(QUARTER_CAR)!r}, stop=0.1)\n"
        "try:\n    sol.plot()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install matplotlib" in done.stdout, done.stderr
