"""Tables in all formats: what pandas, polars, DuckDB and pyarrow make of them, and what a killed run leaves."""

import json
import pathlib
import random
import subprocess
import time

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"
EXAMPLE = ROOT / "examples/quarter-car"
TABLES = ["results", "energy", "jumps"]
# A column of each table, and its unit (docs/results.md).
UNITS = {"results": ("wheel.suspension_force", b"N"), "energy": ("suspension.dE_sum", b"J"), "jumps": ("chassis.force", b"N")}


def powerbond(*arguments, code=0):
    ran = subprocess.run([POWERBOND, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr
    return ran


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The same run in all formats."""
    folder = tmp_path_factory.mktemp("formats")
    for name in ["csv", "arrow", "parquet"]:
        powerbond("run", EXAMPLE, "--jumps", "--quiet", "--format", name, "--output-dir", folder / name)
    return folder


def reference(runs, table):
    """The text, read without any library: Python's own floats."""
    lines = (runs / "csv" / f"{table}.csv").read_text().splitlines()
    return lines[0].split(","), numpy.array([[float(x) for x in line.split(",")] for line in lines[1:]])


@pytest.mark.parametrize("table", TABLES)
def test_all_tools_read_the_same_numbers_from_all_formats(runs, table):
    csv, arrow, parquet = (runs / name / f"{table}.{end}" for name, end in [("csv", "csv"), ("arrow", "arrows"), ("parquet", "parquet")])
    stream = pyarrow.ipc.open_stream(arrow).read_all()
    read = {
        "pandas csv": pandas.read_csv(csv),
        "pandas arrow": pyarrow.ipc.open_stream(arrow).read_pandas(),
        "pandas parquet": pandas.read_parquet(parquet),
        "polars csv": polars.read_csv(csv, infer_schema_length=None),
        "polars arrow": polars.read_ipc_stream(arrow),
        "polars parquet": polars.read_parquet(parquet),
        "duckdb csv": duckdb.sql(f"select * from read_csv('{csv}', sample_size = -1)").df(),
        "duckdb arrow": duckdb.sql("select * from stream").df(),
        "duckdb parquet": duckdb.sql(f"select * from '{parquet}'").df(),
    }
    header, values = reference(runs, table)
    assert len(values) > 3000
    for tool, frame in read.items():
        assert list(frame.columns) == header, tool
        found = frame.to_numpy().astype(float)
        # Shortest digits give the same double back to every reader that rounds right; pandas' own reader of text may not.
        exact = tool != "pandas csv"
        assert numpy.array_equal(found, values) if exact else numpy.allclose(found, values, rtol=1e-15, atol=0), tool


@pytest.mark.parametrize("table", TABLES)
def test_units_and_what_made_the_run_are_inside(runs, table):
    column, unit = UNITS[table]
    summary = json.loads((runs / "arrow/summary.json").read_text())
    schemas = [
        pyarrow.ipc.open_stream(runs / "arrow" / f"{table}.arrows").schema,
        pyarrow.parquet.read_schema(runs / "parquet" / f"{table}.parquet"),
    ]
    for schema in schemas:
        assert schema.field("time").metadata[b"unit"] == b"s"
        assert schema.field(column).metadata[b"unit"] == unit
        about = {key.decode(): value.decode() for key, value in schema.metadata.items()}
        assert about["powerbond.system"] == "quarter car"
        assert about["powerbond.version"] == summary["versions"]["powerbond"]
        assert json.loads(about["powerbond.method"]) == summary["config"]["method"]
        assert json.loads(about["powerbond.simulation"])["stop"] == 4.0
        assert about["powerbond.started"].endswith("Z")
    keys = duckdb.sql(f"select decode(key) from parquet_kv_metadata('{runs}/parquet/{table}.parquet')").fetchall()
    assert ("powerbond.system",) in keys
    assert not (runs / "parquet" / f"{table}.arrows").exists()


def test_compare_and_report_read_all_formats(runs, tmp_path):
    for first, second in [("arrow", "csv"), ("parquet", "arrow")]:
        powerbond("compare", runs / first, runs / second, "--rtol", 0)
    powerbond("compare", runs / "parquet/energy.parquet", runs / "csv/energy.csv", "--rtol", 0)
    pages = []
    for name in ["csv", "parquet"]:
        powerbond("report", runs / name, "-o", tmp_path / f"{name}.html")
        pages.append((tmp_path / f"{name}.html").read_text())
    assert [page.count('"rows":3991,') for page in pages] == [1, 1]


def test_the_extension_of_the_output_chooses_the_format(runs, tmp_path):
    file = tmp_path / "far/away.parquet"
    powerbond("run", EXAMPLE, "--quiet", "--output", file, "--output-dir", tmp_path / "run")
    assert pyarrow.parquet.read_metadata(file).num_rows == 3991
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["energy.parquet", "summary.json"]
    powerbond("compare", tmp_path / "run", runs / "csv", "--rtol", 0)
    assert "extension selects the format" in powerbond("run", EXAMPLE, "--output", tmp_path / "x.dat", code=3).stderr


def test_values_that_are_not_finite_and_odd_names_survive(tmp_path):
    text = (EXAMPLE / "system.toml").read_text().split("[method]")[0]
    text = text.replace("[bonds.suspension]", '[bonds."a \\"strut\\", front"]')
    (tmp_path / "system.toml").write_text(text)
    options = ["-s", "0.5", "-e", "2000", "--quiet", "--allow-nonfinite"]
    for kind in ["csv", "arrow"]:
        powerbond("run", tmp_path / "system.toml", "--format", kind, "--output-dir", tmp_path / kind, *options)
    names = pyarrow.ipc.open_stream(tmp_path / "arrow/energy.arrows").schema.names
    assert 'a "strut", front.dP' in names
    assert list(pandas.read_csv(tmp_path / "csv/energy.csv").columns) == names
    force = pyarrow.ipc.open_stream(tmp_path / "arrow/results.arrows").read_all()["wheel.suspension_force"].to_numpy()
    text = pandas.read_csv(tmp_path / "csv/results.csv")["wheel.suspension_force"].to_numpy()
    assert numpy.isnan(force[-1]) and numpy.array_equal(force, text, equal_nan=True)


@pytest.mark.parametrize("kind", ["csv", "arrow", "parquet"])
def test_memory_does_not_grow_with_the_run(tmp_path, kind):
    text = (EXAMPLE / "system.toml").read_text().split("[method]")[0]
    (tmp_path / "system.toml").write_text(text)

    def peak(step):
        command = [POWERBOND, "run", tmp_path / "system.toml", "-s", step, "--format", kind, "--quiet", "--overwrite", "--output-dir", tmp_path / "out"]
        run = subprocess.Popen(list(map(str, command)))
        most = 0
        while run.poll() is None:
            try:
                lines = pathlib.Path(f"/proc/{run.pid}/status").read_text().splitlines()
            except OSError:
                break
            name = next(line.split()[1] for line in lines if line.startswith("Name:"))
            peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
            most = max([most, *peaks]) if name == "powerbond" else most
            time.sleep(0.005)
        assert run.wait() == 0
        return most / 1024

    # The tables of this run have 370 MB. Parquet took 24 to 49 MB in 14 runs, as the allocator leaves holes; with holes that
    # grew with the run it was above 100.
    most = peak(2e-6)
    assert most < 100, f"{most} MB for 2 000 000 steps"


def whole_batches(path):
    """The rows of a stream up to where it was cut, and whether it was."""
    batches = []
    try:
        with pyarrow.ipc.open_stream(path) as stream:
            for batch in stream:
                batches.append(batch)
    except (pyarrow.ArrowInvalid, OSError):
        return batches, True
    return batches, False


def test_a_killed_run_leaves_a_stream_that_is_a_prefix_bit_for_bit(tmp_path):
    text = (EXAMPLE / "system.toml").read_text().split("[method]")[0]
    (tmp_path / "system.toml").write_text(text)
    options = ["run", tmp_path / "system.toml", "-s", "1e-6", "--format", "arrow", "--quiet", "--overwrite", "--output-dir"]
    powerbond(*options, tmp_path / "full")
    full = {t: pyarrow.ipc.open_stream(tmp_path / f"full/{t}.arrows").read_all().to_pandas().to_numpy() for t in TABLES[:2]}
    dice = random.Random(6)
    rows = cut = 0
    for _ in range(50):
        run = subprocess.Popen([POWERBOND, *map(str, options), tmp_path / "killed"])
        time.sleep(0.02 + 0.5 * dice.random())
        run.kill()
        run.wait()
        for table, whole in full.items():
            path = tmp_path / f"killed/{table}.arrows"
            if not path.exists() or path.stat().st_size == 0:
                continue
            batches, was_cut = whole_batches(path)
            cut += was_cut
            found = [batch.to_pandas().to_numpy() for batch in batches]
            part = numpy.concatenate(found) if found else whole[:0]
            assert numpy.array_equal(part.view(numpy.uint64), whole[: len(part)].view(numpy.uint64)), table
            rows += len(part)
    assert rows > 100_000, f"it was not killed too early: {rows} rows, {cut} cut"


def test_rows_of_a_stream_older_than_a_second_are_on_disk(tmp_path):
    text = (EXAMPLE / "system.toml").read_text().split("[method]")[0]
    (tmp_path / "system.toml").write_text(text.replace("micro_steps = 10", "micro_steps = 200000"))
    run = subprocess.Popen(
        [POWERBOND, "run", tmp_path / "system.toml", "-s", "1e-5", "--format", "arrow", "--json", "--output-dir", tmp_path / "out"],
        stdout=subprocess.PIPE,
    )
    begun, seen = time.monotonic(), []
    for line in run.stdout:
        seen.append((time.monotonic(), json.loads(line)["time"]))
        if time.monotonic() - begun > 3.5:
            break
    run.kill()
    run.wait()
    now = time.monotonic()
    old = [t for at, t in seen if now - at > 1.2][-1]
    batches, _ = whole_batches(tmp_path / "out/results.arrows")
    assert batches[-1].column("time")[-1].as_py() >= old


def test_a_stream_that_was_cut_is_read_up_to_there(tmp_path):
    text = (EXAMPLE / "system.toml").read_text().split("[method]")[0]
    (tmp_path / "system.toml").write_text(text)
    powerbond("run", tmp_path / "system.toml", "-s", "2e-5", "--format", "arrow", "--quiet", "--output-dir", tmp_path / "out")
    whole = (tmp_path / "out/results.arrows").read_bytes()
    cut = tmp_path / "cut.arrows"
    dice = random.Random(7)
    for size in [len(whole) - 1, len(whole) - 5000, *(dice.randrange(2_000_000, len(whole)) for _ in range(8))]:
        cut.write_bytes(whole[:size])
        ran = powerbond("compare", cut, tmp_path / "out", "--rtol", 0)
        assert size == len(whole) - 1 or "note: " in ran.stderr, (size, ran.stderr)
    for size in [4, 100, 1700]:
        cut.write_bytes(whole[:size])
        ran = powerbond("compare", cut, tmp_path / "out", code=3)
        assert "no rows" in ran.stderr or "cannot read" in ran.stderr, ran.stderr


def test_a_stream_on_a_full_disk_ends_with_8(tmp_path):
    text = (EXAMPLE / "system.toml").read_text().split("[method]")[0]
    (tmp_path / "system.toml").write_text(text)
    command = f"trap '' XFSZ; ulimit -f 2000; exec '{POWERBOND}' run system.toml -s 1e-5 --format arrow --output-dir small"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 8 and "cannot write small/" in ran.stderr, ran.stderr
    batches, _ = whole_batches(tmp_path / "small/results.arrows")
    assert sum(batch.num_rows for batch in batches) > 5000
