"""Sweeps from Python: the same bits from every engine, lost workers, optimisers and uncertainty tools, and what data frames read."""

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import duckdb
import numpy as np
import polars
import pytest

import chromium
import powerbond as pb

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAR = ROOT / "examples/quarter-car"
#: What differs between two sweeps that did the same.
CLOCK = ["seconds", "started"]

PLAN = f"""
system = "{CAR}"
[run]
stop = 0.5
[parameters]
chassis.mass = {{ distribution = "normal", mean = 400, std = 20 }}
wheel.damping = {{ min = 500, max = 2000 }}
[design]
kind = "sobol"
runs = 24
[outputs]
peak = "max(chassis.velocity)"
travel = "rms(chassis.position - wheel.position)"
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def local(plan):
    """The sweep by two processes of this machine."""
    result = pb.sweep(plan, output_dir=plan.parent / "local", workers=2)
    assert result.ok.all() and len(result["peak"]) == 24
    return result


def facts(result):
    frame = polars.read_parquet(result.dataset)
    return frame.drop(CLOCK).sort("run")


def test_polars_and_duckdb_read_the_dataset(local):
    frame = polars.read_parquet(local.dataset)
    assert frame.schema["peak"] == polars.Float64 and frame.schema["started"] == polars.Datetime("us", "UTC")
    assert frame["run"].to_list() == list(range(1, 25)) and (frame["status"] == "ok").all()
    assert np.array_equal(frame["peak"].to_numpy(), local["peak"])
    counted = duckdb.sql(f"SELECT count(*), max(peak), min(\"wheel.damping\") FROM '{local.dataset}' WHERE status = 'ok'")
    assert counted.fetchall()[0] == (24, local["peak"].max(), local["wheel.damping"].min())
    assert local.to_pandas().shape == (24, len(local))
    assert local.to_polars().equals(frame) and "24 ok" in local._repr_html_() and "24 ok" in repr(local)
    with pytest.raises(KeyError, match="Did you mean `peak`"):
        local["paek"]
    assert 380 < local["chassis.mass"].mean() < 420 and local["wheel.damping"].min() >= 500
    assert local.report().read_text().startswith("<!doctype html>")


@pytest.mark.skipif(chromium.find() is None, reason="no Chromium")
def test_the_report_works_in_a_browser(local, tmp_path):
    with chromium.Page(f"file://{local.report().absolute()}") as page:
        assert page.complaints() == []
        assert "24 of 24 runs" in page.evaluate("document.body.textContent")
        cells = page.evaluate("[...document.querySelectorAll('td')].map((cell) => cell.textContent)")
        # Of an even number of runs the median is the mean of the two in the middle, as the command prints it.
        row = cells[cells.index("peak") :]
        assert float(row[3]) == pytest.approx(np.median(local["peak"]), rel=1e-4)
        # Of two parameters the plot shows both.
        assert page.evaluate("document.querySelector('#scatter-c').selectedOptions[0].textContent") in ("chassis.mass", "wheel.damping")
        page.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_executors_give_the_same_bits(plan, local):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        result = pb.sweep(plan, output_dir=plan.parent / "executor", executor=executor, chunk=5)
    assert facts(result).equals(facts(local))
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        result = pb.sweep(plan, output_dir=plan.parent / "threads", executor=executor, chunk=1)
    assert facts(result).equals(facts(local))


def test_shards_are_merged(plan, local):
    folder = plan.parent / "shards"
    for i in (1, 2, 3):
        pb.sweep(plan, output_dir=folder, shard=(i, 3))
    assert facts(pb.merge(folder)).equals(facts(local))


def test_a_dask_cluster_that_loses_a_worker_gives_the_same_bits(plan, local):
    distributed = pytest.importorskip("distributed")
    # Longer runs, so that the worker dies among them.
    longer = plan.parent / "longer.toml"
    longer.write_text(PLAN.replace("stop = 0.5", "stop = 20.0\noutput_interval = 0.01").replace("runs = 24", "runs = 48"))
    here = pb.sweep(longer, output_dir=plan.parent / "longer-local")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        result = pb.sweep(plan, output_dir=plan.parent / "dask", client=client)
        assert facts(result).equals(facts(local))
        victim = next(iter(client.run(os.getpid).values()))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            going = pool.submit(pb.sweep, longer, output_dir=plan.parent / "longer-dask", client=client, chunk=2)
            journal = plan.parent / "longer-dask/runs/.journal-all"
            end = time.monotonic() + 60
            while not (journal.exists() and journal.stat().st_size) and not going.done() and time.monotonic() < end:
                time.sleep(0.005)
            assert not going.done(), "it ended before the worker was killed"
            os.kill(victim, signal.SIGKILL)
            result = going.result(timeout=120)
        assert victim not in client.run(os.getpid).values()
    assert facts(result).equals(facts(here))


def test_points_come_from_parquet(plan, local, tmp_path):
    points = polars.read_parquet(local.dataset).sort("run").select("chassis.mass", "wheel.damping")
    table = tmp_path / "table.toml"
    table.write_text(PLAN.split("[parameters]")[0] + '[design]\nfile = "points.parquet"\n[outputs]' + PLAN.split("[outputs]")[1])
    points.write_parquet(tmp_path / "points.parquet", compression="snappy")
    assert np.array_equal(pb.sweep(table, output_dir=tmp_path / "out")["peak"], local["peak"])
    points.write_parquet(tmp_path / "points.parquet", compression="zstd")
    with pytest.raises(pb.PowerbondError, match="table.toml:6:8: .*snappy"):
        pb.sweep(table, output_dir=tmp_path / "zstd")


def test_what_fails_is_a_row_and_is_repeated(tmp_path):
    plan = tmp_path / "plan.toml"
    # A step far beyond the stability of the stiff tyre ends in numbers that are not finite.
    plan.write_text(PLAN.replace("[run]", "[run]\nmethod = \"constant.toml\"").replace("stop = 0.5", "stop = 4.0\nstep = 0.3"))
    (tmp_path / "constant.toml").write_text("[method]\nschedule = \"jacobi\"\n")
    result = pb.sweep(plan, output_dir=tmp_path / "out")
    failed = ~result.ok
    with pytest.raises(pb.PowerbondError, match="holds a sweep already.*`resume=True`.*`output_dir`.*`overwrite=True`"):
        pb.sweep(plan, output_dir=tmp_path / "out")
    again = pb.sweep(plan, output_dir=tmp_path / "out", resume=True)
    assert facts(again).equals(facts(result)) and len(again["run"]) == 24
    assert all(message for message in result["message"][failed])


#: The same plan, made in Python.
def made(system=CAR, **more):
    return {
        "name": "made",
        "system": system,
        "run": {"stop": 0.5},
        "parameters": {
            "chassis.mass": {"distribution": "normal", "mean": 400, "std": 20},
            "wheel.damping": {"min": 500, "max": 2000},
        },
        "design": {"kind": "sobol", "runs": 24},
        "outputs": {"peak": "max(chassis.velocity)", "travel": "rms(chassis.position - wheel.position)"},
    } | more


def test_a_plan_may_be_a_dictionary(local, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = pb.sweep(made(), progress=False)
    assert result.folder == pathlib.Path("results/made") and facts(result).equals(facts(local))
    # A data frame has a row for each run; arrays and ranges are lists.
    frame = local.to_pandas()[["chassis.mass", "wheel.damping"]]
    plan = made(parameters=frame)
    del plan["design"]
    assert np.array_equal(pb.sweep(plan, output_dir="frame")["peak"], local["peak"])
    assert np.array_equal(pb.sweep(plan | {"parameters": polars.from_pandas(frame)}, output_dir="polars")["peak"], local["peak"])
    grid = {"system": CAR, "run": {"stop": 0.1}, "parameters": {"chassis.mass": np.array([350.0, 400.0]), "wheel.damping": range(900, 1200, 100)}}
    assert len(pb.sweep(grid | {"outputs": ["max(chassis.velocity)"]}, output_dir="grid")["run"]) == 6
    cases = {"system": CAR, "run": {"stop": 0.1}, "cases": {"light": {"chassis.mass": 300}, "heavy": {"chassis.mass": 500}}, "outputs": grid}
    cases["outputs"] = {"peak": "max(chassis.velocity)"}
    assert pb.sweep(cases, output_dir="cases")["case"].tolist() == ["light", "heavy"]
    X = frame.to_numpy()
    assert np.array_equal(pb.evaluate(made(), X)[:, 0], local["peak"])
    # Columns of a data frame are found by their names.
    assert np.array_equal(pb.evaluate(made(), frame[frame.columns[::-1]])[:, 0], local["peak"])
    with pytest.raises(ValueError, match="column `mass`, which is no parameter"):
        pb.evaluate(made(), frame.rename(columns={"chassis.mass": "mass"}))


def test_the_page_about_sweeps_is_right_about_plans_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    section = (ROOT / "docs/sweeps.md").read_text().split("## Plans in Python")[1].split("\n## ")[0]
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    space: dict = {}
    exec(program, space)
    assert space["result"].ok.all() and len(pb.Sweep("results/sweep")["run"]) == 2


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"outptus": {}}, ValueError, "unknown key `outptus` in the plan. Did you mean `outputs`"),
        ({"system": 3}, TypeError, r"`plan\['system'\]` is 3"),
        ({"parameters": {"chassis.mas": [1, 2]}, "design": {}}, pb.PowerbondError, r"^parameters\['chassis.mas'\]: .*Did you mean `mass`\?\n`design`: `\[design\]` lacks"),
        ({"parameters": {"chassis.mas": {"min": 1, "max": 2}}}, pb.PowerbondError, r"^parameters\['chassis.mas'\]: .*Did you mean `mass`"),
        ({"outputs": {"p": "maxx(chassis.velocity)"}}, pb.PowerbondError, r"^outputs\['p'\]: .*Did you mean `max`"),
        ({"run": {"stop": "soon"}}, pb.PowerbondError, r"^run\['stop'\]: "),
        ({"parameters": 3}, TypeError, "`parameters` is 3"),
    ],
)
def test_mistakes_of_a_plan_in_python_have_their_places(change, error, words, tmp_path):
    with pytest.raises(error, match=words) as told:
        pb.sweep(made(**change), output_dir=tmp_path / "out")
    assert getattr(told.value, "file", None) is None and not (tmp_path / "out").exists()


class Spring:
    """Between wall and mass, in Python."""

    inputs = {"position": "m"}
    outputs = {"force": "N"}

    def __init__(self, stiffness=100.0):
        self.stiffness = stiffness

    def output(self, time, position):
        return -self.stiffness * position

    def step(self, time, h, position):
        return self.output(time + h, position)


def system_in_python():
    s = pb.System("pair").model("mass", "oscillator/mass", parameters={"stiffness": 0.0, "initial_velocity": 1.0})
    return s.python("spring", Spring()).connect("mass.position", "spring.position").connect("spring.force", "mass.force")


def test_systems_made_in_python_are_swept(tmp_path):
    system = pb.System("car").model("chassis", "quarter-car/chassis").model("wheel", "quarter-car/wheel-suspension")
    system.connect("chassis.velocity", "wheel.chassis_velocity").connect("wheel.suspension_force", "chassis.force", gain=-1.0)
    system.input("wheel.road", 0.1)
    plan = made(system, design={"kind": "sobol", "runs": 6})
    result = pb.sweep(plan, output_dir=tmp_path / "out")
    single = pb.run(system, stop=0.5, set={"chassis.mass": result["chassis.mass"][3], "wheel.damping": result["wheel.damping"][3]})
    assert result.ok.all() and result["peak"][3] == single["chassis.velocity"].max()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert facts(pb.sweep(plan, output_dir=tmp_path / "executor", executor=executor)).equals(facts(result))
    # The folder is whole: the command goes on with it.
    pb.sweep(plan, output_dir=tmp_path / "out", resume=True)
    powerbond = ROOT / "target/release/powerbond"
    again = [powerbond, "sweep", tmp_path / "out/plan.toml", "--resume", "--output-dir", tmp_path / "out", "--json"]
    assert json.loads(subprocess.run(again, check=True, capture_output=True, text=True).stdout)["new"] == 0
    subprocess.run([powerbond, "sweep", "report", tmp_path / "out", "--run", "4"], check=True, capture_output=True)
    details = polars.read_csv(next((tmp_path / "out/details").glob("*/results.csv")))
    assert details["chassis.velocity"].max() == result["peak"][3]
    system.input("wheel.raod", 0.1)
    with pytest.raises(pb.PowerbondError, match=r"test_sweep.py:\d+: .*Did you mean `road`"):
        pb.sweep(plan, output_dir=tmp_path / "out", resume=True)
    options = {"parameters": ["chassis.mass"], "outputs": ["max(chassis.velocity)"], "run": {"stop": 0.5}}
    with pytest.raises(pb.PowerbondError, match="Did you mean `road`"):
        pb.evaluate(system, [400.0], **options)


def test_subsystems_in_python_are_swept(tmp_path):
    system = system_in_python()
    plan = {
        "system": system,
        "run": {"stop": 1.0, "tolerance": 1e-4},
        "parameters": {"spring.stiffness": [50.0, 100.0, 200.0]},
        "outputs": {"amplitude": "max(mass.position)"},
    }
    result = pb.sweep(plan, output_dir=tmp_path / "out")
    singles = [pb.run(system, stop=1.0, tolerance=1e-4, set={"spring.stiffness": k})["mass.position"].max() for k in (50.0, 100.0, 200.0)]
    assert result.ok.all() and result["amplitude"].tolist() == singles
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert facts(pb.sweep(plan, output_dir=tmp_path / "executor", executor=executor, chunk=1)).equals(facts(result))
    options = {"parameters": ["spring.stiffness"], "outputs": {"a": "max(mass.position)"}, "run": {"stop": 1.0, "tolerance": 1e-4}}
    assert pb.evaluate(system, [[50.0], [200.0]], **options)[:, 0].tolist() == [singles[0], singles[2]]
    # The command cannot make its runs.
    said = subprocess.run([ROOT / "target/release/powerbond", "sweep", "report", tmp_path / "out", "--run", "2"], capture_output=True, text=True)
    assert "`spring` is written in Python: only its program can run it" in " ".join(said.stderr.split()), said.stderr
    # A sweep goes on with the subsystem that it began with only.
    assert len(pb.sweep(plan, output_dir=tmp_path / "out", resume=True)["run"]) == 3
    other = system_in_python()
    other._python[0][1].member.stiffness = 3.0
    with pytest.raises(pb.PowerbondError, match="of another system"):
        pb.sweep(plan | {"system": other}, output_dir=tmp_path / "out", resume=True)
    with pytest.raises(pb.PowerbondError, match="Did you mean `stiffness`"):
        pb.sweep(plan | {"parameters": {"spring.stifness": [1.0]}}, output_dir=tmp_path / "typo")


def test_structures_of_ssp_and_osp_are_swept(tmp_path):
    for kind in ("ssp", "osp"):
        folder = tmp_path / kind
        shutil.copytree(CAR / kind, folder)
        subprocess.run(["sh", "build.sh"], cwd=folder, check=True, env=os.environ | {"POWERBOND": str(ROOT / "target/release/powerbond")})
    shutil.make_archive(str(tmp_path / "car"), "zip", tmp_path / "ssp")
    (tmp_path / "car.zip").rename(tmp_path / "car.ssp")
    peaks = {}
    for system in ("ssp", "car.ssp", "osp"):
        plan = {"system": tmp_path / system, "run": {"stop": 0.5}, "parameters": {"chassis.mass": [350.0, 450.0]}}
        result = pb.sweep(plan | {"outputs": {"peak": "max(chassis.velocity)"}}, output_dir=tmp_path / f"out-{system}")
        assert result.ok.all()
        peaks[system] = result["peak"]
    # The archive was no system of a sweep: its files have no paths of their own.
    assert np.array_equal(peaks["ssp"], peaks["car.ssp"]) and peaks["osp"] == pytest.approx(peaks["ssp"], rel=0.01)
    # What a structure names belongs to what a run is a function of.
    values = tmp_path / "ssp/parameters.ssv"
    values.write_text(values.read_text().replace("</ssv:ParameterSet>", "<!-- --></ssv:ParameterSet>"))
    with pytest.raises(pb.PowerbondError, match="of another system"):
        plan = {"system": tmp_path / "ssp", "run": {"stop": 0.5}, "parameters": {"chassis.mass": [350.0, 450.0]}}
        pb.sweep(plan | {"outputs": {"peak": "max(chassis.velocity)"}}, output_dir=tmp_path / "out-ssp", resume=True)


def test_an_id_tells_which_file_is_whose(tmp_path):
    """Two FMUs that changed places: the hashes of all files together were the same."""
    first, second = tmp_path / "a.fmu", tmp_path / "b.fmu"
    for file, comment in ((first, b"one"), (second, b"two")):
        subprocess.run([ROOT / "target/release/powerbond", "export", "oscillator/mass", "-o", file], check=True, capture_output=True)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = comment
    system = tmp_path / "system.toml"
    system.write_text("subsystems.a.fmu = 'a.fmu'\nsubsystems.b.fmu = 'b.fmu'\n[simulation]\nstop = 0.1\nstep = 0.01\n")
    plan = {"system": system, "parameters": {"a.stiffness": [1.0, 2.0]}, "outputs": ["max(a.position)"]}
    before = pb.sweep(plan, output_dir=tmp_path / "out")["run_id"].tolist()
    first.rename(tmp_path / "c.fmu")
    second.rename(first)
    (tmp_path / "c.fmu").rename(second)
    with pytest.raises(pb.PowerbondError, match="of another system"):
        pb.sweep(plan, output_dir=tmp_path / "out", resume=True)
    assert not set(before) & set(pb.sweep(plan, output_dir=tmp_path / "other")["run_id"])


def exported(path, *names):
    for name in names:
        file = path / f"{name.split('/')[-1]}.fmu"
        subprocess.run([ROOT / "target/release/powerbond", "export", name, "-o", file], check=True, capture_output=True)
    return path


def test_a_single_fmu_has_ranges_without_dots(tmp_path):
    """A range under a name without a dot was read as parameters of a subsystem: unknown variable `mass.min`."""
    fmu = exported(tmp_path, "oscillator/mass") / "mass.fmu"
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"system = {str(fmu)!r}\n[run]\nstop = 0.1\nstep = 0.01\n[parameters]\nmass = {{ from = 1, to = 3, count = 3 }}\n"
        "[outputs]\nend = 'final(mass.position)'\n"
    )
    result = pb.sweep(plan, output_dir=tmp_path / "out")
    assert result.ok.all() and result["mass"].tolist() == [1.0, 2.0, 3.0]
    sampled = {"system": fmu, "run": {"stop": 0.1, "step": 0.01}, "parameters": {"stiffness": {"min": 1.0, "max": 2.0}}}
    sampled |= {"design": {"kind": "monte-carlo", "runs": 5}, "outputs": ["final(mass.position)"]}
    assert pb.sweep(sampled, output_dir=tmp_path / "sampled").ok.all()


def test_integers_words_and_truth_values_are_columns_of_their_kind(tmp_path):
    (tmp_path / "switch.py").write_text(SWITCH)
    build = [sys.executable, "-m", "pythonfmu", "build", "-f", "switch.py"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    points = polars.DataFrame({"on": [True, False, True], "name": ["a", "b", "true"], "n": [1, 2, 3]})
    points.write_parquet(tmp_path / "points.parquet", compression="snappy")
    points.write_csv(tmp_path / "points.csv")
    plan = {"system": tmp_path / "Switch.fmu", "run": {"stop": 0.2, "step": 0.1}, "outputs": {"y": "final(Switch.y)"}}
    given = [
        {"parameters": points},
        {"parameters": {"on": [True, False, True], "name": ["a", "b", "true"], "n": range(1, 4)}, "design": {"kind": "list"}},
        {"design": {"file": tmp_path / "points.parquet"}},
        {"design": {"file": tmp_path / "points.csv"}},
    ]
    for k, change in enumerate(given):
        result = pb.sweep(plan | change, output_dir=tmp_path / f"out-{k}")
        # 100 if it is on, 10 times the length of the name, and n.
        assert result.ok.all() and result["y"].tolist() == [111.0, 12.0, 143.0]
        assert result["on"].dtype == bool and result["name"].tolist() == ["a", "b", "true"]
        frame = polars.read_parquet(result.dataset)
        assert frame.schema["on"] == polars.Boolean and frame.schema["name"] == polars.String
        assert frame.filter(polars.col("on"))["run"].to_list() == [1, 3]


SWITCH = """
from pythonfmu import Boolean, Fmi2Causality, Fmi2Slave, Fmi2Variability, Integer, Real, String

class Switch(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.on, self.name, self.n, self.y = False, "", 0, 0.0
        fixed = {"causality": Fmi2Causality.parameter, "variability": Fmi2Variability.tunable}
        for variable in (Boolean("on", **fixed), String("name", **fixed), Integer("n", **fixed)):
            self.register_variable(variable)
        self.register_variable(Real("y", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        self.y = 100.0 * self.on + 10.0 * len(self.name) + self.n
        return True
"""


def test_wrong_arguments_are_named(plan, tmp_path):
    for call, error, words in (
        (lambda: pb.sweep(3), TypeError, "`plan` is 3"),
        (lambda: pb.sweep(plan, worker=3), TypeError, "no argument `worker`. Did you mean `workers`"),
        (lambda: pb.sweep(plan, workers=0), TypeError, "`workers` is 0"),
        (lambda: pb.sweep(plan, shard=(3, 2)), ValueError, "`shard` is"),
        (lambda: pb.sweep(plan, executor=3), TypeError, "`executor` is 3"),
        (lambda: pb.sweep(tmp_path / "none.toml"), pb.PowerbondError, "cannot read"),
        (lambda: pb.evaluate(tmp_path / "none.toml", [1.0]), pb.PowerbondError, "cannot read"),
        (lambda: pb.evaluate(CAR, [1.0]), ValueError, "is a system: give `parameters`"),
        (lambda: pb.evaluate(plan, ["a", "b"]), TypeError, "`X` is"),
        (lambda: pb.evaluate(plan, [1.0], on_error="ignore"), ValueError, "`on_error` is"),
        (lambda: pb.merge([]), ValueError, "`folders` is empty"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_mistakes_have_their_lines(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("wheel.damping", "wheel.dampin").replace("max(chassis.velocity)", "maxx(chassis.velocity)"))
    with pytest.raises(pb.PowerbondError, match=r"plan.toml:7:7: .*Did you mean `damping`\?\n.*plan.toml:12:8: `peak`.*Did you mean `max`") as told:
        pb.sweep(plan, output_dir=tmp_path / "out")
    assert told.value.line == 7
    with pytest.raises(pb.PowerbondError, match="Did you mean `mass`"):
        pb.evaluate(CAR, [1.0], parameters=["chassis.mas"], outputs=["max(chassis.velocity)"])


def test_evaluate_is_a_function_of_rows(plan, local):
    X = np.column_stack([local["chassis.mass"], local["wheel.damping"]])
    Y = pb.evaluate(plan, X)
    assert np.array_equal(Y, np.column_stack([local["peak"], local["travel"]]))
    assert np.array_equal(pb.evaluate(plan, X[3]), Y[3])
    options = {"parameters": ["wheel.damping", "chassis.mass"], "outputs": {"p": "max(chassis.velocity)"}, "run": {"stop": 0.5}}
    assert np.array_equal(pb.evaluate(CAR, X[:2, ::-1], **options)[:, 0], Y[:2, 0])
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        assert np.array_equal(pb.evaluate(plan, X, executor=executor, chunk=7), Y)
    with pytest.raises(ValueError, match="expected 2: chassis.mass, wheel.damping"):
        pb.evaluate(plan, [1.0])
    bad = X.copy()
    bad[1, 0] = -1.0
    with pytest.raises(pb.PowerbondError, match="chassis.mass=-1.0") as told:
        pb.evaluate(plan, bad)
    assert told.value.exit_code == 3 and told.value.subsystem is None
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        pb.evaluate(plan, bad)
    partly = pb.evaluate(plan, bad, on_error="nan")
    assert np.isnan(partly[1:3]).all() and np.array_equal(np.delete(partly, [1, 2], 0), np.delete(Y, [1, 2], 0))
    # A row of a data frame has names: its values were taken in their order.
    row = local.to_pandas()[["wheel.damping", "chassis.mass"]].iloc[3]
    assert np.array_equal(pb.evaluate(plan, row), Y[3])
    with pytest.raises(ValueError, match="column `mass`, which is no parameter"):
        pb.evaluate(plan, row.rename({"chassis.mass": "mass"}))


def test_a_system_may_change_between_evaluations(tmp_path):
    """It was refused for good: the plan that was kept knew the old files."""
    shutil.copytree(CAR, tmp_path / "car")
    about = {"parameters": ["wheel.damping"], "outputs": ["max(chassis.velocity)"], "run": {"stop": 0.2}}
    before = pb.evaluate(tmp_path / "car", [1000.0], **about)
    system = tmp_path / "car/system.toml"
    system.write_text(system.read_text().replace("mass = 400.0", "mass = 300.0"))
    after = pb.evaluate(tmp_path / "car", [1000.0], **about)
    lighter = pb.evaluate(CAR, [1000.0, 300.0], **about | {"parameters": ["wheel.damping", "chassis.mass"]})
    assert after == lighter != before


def test_the_first_point_may_be_a_bad_one():
    """It was refused as a mistake of the plan, whatever `on_error` said."""
    about = {"parameters": ["wheel.mass"], "outputs": ["max(wheel.velocity)"], "run": {"stop": 0.1}, "on_error": "nan"}
    first = pb.evaluate(CAR, [[-1.0], [40.0]], **about)
    assert np.isnan(first[0]) and first[1] == pb.evaluate(CAR, [40.0], **about)
    # Where no point is right, a name is wrong.
    with pytest.raises(pb.PowerbondError, match="Did you mean `mass`"):
        pb.evaluate(CAR, [[-1.0], [40.0]], **about | {"parameters": ["wheel.mas"]})


#: Of damping, in m per N·s/m: the suspension travels less with it, so that the cheapest one lies inside of the range.
PRICE = 1.2e-5


def test_scipy_finds_a_minimum(plan):
    from scipy.optimize import minimize_scalar

    def cost(damping):
        return pb.evaluate(plan, [400.0, damping])[1] + PRICE * damping

    found = minimize_scalar(cost, bounds=(500.0, 2000.0), method="bounded", options={"xatol": 20.0})
    grid = np.linspace(500.0, 2000.0, 16)
    values = pb.evaluate(plan, np.column_stack([np.full(16, 400.0), grid]))[:, 1] + PRICE * grid
    # As good as the best point of a grid, and beside it.
    assert found.fun <= values.min() * (1 + 1e-6) and abs(found.x - grid[values.argmin()]) <= 150.0


def test_optuna_finds_a_minimum(plan):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def cost(trial):
        damping = trial.suggest_float("damping", 500.0, 2000.0)
        return pb.evaluate(plan, [400.0, damping])[1] + PRICE * damping

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(cost, n_trials=25)
    grid = np.linspace(500.0, 2000.0, 16)
    values = pb.evaluate(plan, np.column_stack([np.full(16, 400.0), grid]))[:, 1] + PRICE * grid
    # 25 trials come within a few percent of the range of what there is.
    assert study.best_value <= values.min() + 0.05 * np.ptp(values)


def test_salib_ranks_parameters():
    sample = pytest.importorskip("SALib.sample.sobol").sample
    analyze = pytest.importorskip("SALib.analyze.sobol").analyze
    problem = {"num_vars": 2, "names": ["stiffness", "mass"], "bounds": [[14e3, 16e3], [399.0, 401.0]]}
    X = sample(problem, 32, calc_second_order=False, seed=1)
    # How far the suspension moves: the stiffness matters, a mass that hardly changes does not.
    about = {"parameters": ["wheel.stiffness", "chassis.mass"], "run": {"stop": 1.0},
             "outputs": {"travel": "rms(chassis.position - wheel.position)"}}  # fmt: skip
    Y = pb.evaluate(CAR, X, **about)[:, 0]
    indices = analyze(problem, Y, calc_second_order=False, seed=1)
    # In ranges this small the travel is nearly linear, and a share of its variance is that of the squared differences.
    ends = pb.evaluate(CAR, [[14e3, 400.0], [16e3, 400.0], [15e3, 399.0], [15e3, 401.0]], **about)[:, 0]
    stiffness, mass = (ends[1] - ends[0]) ** 2, (ends[3] - ends[2]) ** 2
    share = np.array([stiffness, mass]) / (stiffness + mass)
    # The estimate of 32 base points is off by some 10 %, as its own confidence says.
    assert (np.abs(indices["ST"] - share) < np.maximum(indices["ST_conf"], 0.02)).all()
