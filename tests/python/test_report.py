"""The report in a real browser: drawn, zoomable, quiet, and harmless whatever variables are called."""

import json
import pathlib
import subprocess

import pytest

from chromium import Page, find

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"

pytestmark = pytest.mark.skipif(find() is None, reason="there is no Chromium")

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"`\n&"


def powerbond(*arguments, code=0):
    ran = subprocess.run([POWERBOND, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr
    return ran.stdout


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run of the example with its report."""
    folder = tmp_path_factory.mktemp("runs") / "quarter car"
    powerbond("run", ROOT / "examples/quarter-car", "--output-dir", folder, "--report", "--quiet")
    return folder


def visible(page):
    """How many plots have a canvas with at least two colours on it."""
    return page.evaluate("""[...document.querySelectorAll('.uplot canvas')].filter((canvas) => {
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        const colours = new Set();
        for (let i = 0; i < data.length; i += 4) if (data[i + 3]) colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return colours.size > 1;
    }).length""")


def overlaps(page):
    """Pairs of texts that lie on top of each other: sections, headings, buttons, labels of the picture."""
    return page.evaluate("""(() => {
        const found = [];
        const check = (list) => {
            const boxes = list.filter((e) => e.checkVisibility()).map((e) => [e.textContent.slice(0, 40), e.getBoundingClientRect()]).filter(([, b]) => b.width && b.height);
            boxes.forEach(([s, a], i) => boxes.slice(i + 1).forEach(([t, b]) => {
                const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (w > 1 && h > 1) found.push([s, t]);
            }));
        };
        check([...document.querySelectorAll('main > section')]);
        check([...document.querySelectorAll('header h1, header button, #range')]);
        check([...document.querySelectorAll('h2, h3, .plot, .chooser, .bar, .facts > span, .scroll, #verdict li')]);
        check([...document.querySelectorAll('#system text')]);
        return found;
    })()""")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 480])
def test_both_themes_are_drawn_without_complaints_or_overlaps(run, dark, width):
    with Page((run / "report.html").as_uri(), width=width, dark=dark) as page:
        assert page.evaluate("document.documentElement.classList.contains('dark')") is dark
        assert page.evaluate("document.querySelector('#verdict .word').textContent") == "check"
        plots = page.evaluate("powerbondReport.plots.length")
        assert plots == 8, "two outputs, powers, residual, its sum, steps, errors, steps over tolerance"
        assert visible(page) == plots
        assert overlaps(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.complaints() == []


def test_dragging_zooms_all_plots_and_a_double_click_shows_everything(run):
    with Page((run / "report.html").as_uri()) as page:
        page.evaluate("document.querySelector('.u-over').scrollIntoView({ block: 'center' })")
        box = page.evaluate("""(() => { const b = document.querySelector('.u-over').getBoundingClientRect();
            return [b.left, b.top, b.width, b.height]; })()""")
        left, top, width, height = box
        y = top + height / 2
        assert page.evaluate("powerbondReport.view()") == [0, 4]
        page.drag(left + width / 4, y, left + width / 2, y)
        low, high = page.evaluate("powerbondReport.view()")
        assert low == pytest.approx(1, abs=0.02) and high == pytest.approx(2, abs=0.02)
        scales = page.evaluate("powerbondReport.plots.map((p) => [p.scales.x.min, p.scales.x.max])")
        assert all(s == [low, high] for s in scales), "all plots show the same time"
        page.drag(left + width / 2, y, left + width / 4, y, shift=True)
        moved = page.evaluate("powerbondReport.view()")
        assert moved[0] == pytest.approx(low + 0.25, abs=0.02), "Shift and drag moves"
        page.evaluate("document.getElementById('closer').click()")
        assert page.evaluate("powerbondReport.view()[1] - powerbondReport.view()[0]") == pytest.approx((high - low) / 2)
        page.evaluate("document.getElementById('whole').click()")
        assert page.evaluate("powerbondReport.view()") == [0, 4]
        page.evaluate("document.getElementById('theme').click()")
        assert page.evaluate("document.documentElement.classList.contains('dark')")
        assert page.complaints() == []


def test_what_the_default_method_did_is_a_strip_over_time(tmp_path):
    """Every coupled input has a row, coloured by the order of its hold; `summary.json` has the same shares."""
    folder = tmp_path / "run"
    powerbond("run", ROOT / "examples/quarter-car-fd", "--tolerance", "1e-3", "--output-dir", folder, "--report", "--quiet")
    choices = json.loads((folder / "summary.json").read_text())["choices"]["inputs"]
    with Page((folder / "report.html").as_uri(), width=480) as page:
        titles = page.evaluate("[...document.querySelectorAll('#plots h3')].map((h) => h.textContent)")
        assert "How inputs were held, step by step" in titles
        holder = "document.querySelectorAll('#plots .plot')[%d]" % titles.index("How inputs were held, step by step")
        found = page.evaluate("""(() => {
            const canvas = %s.querySelector('canvas');
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            const painted = (name) => {
                const wanted = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
                const [r, g, b] = [1, 3, 5].map((k) => parseInt(wanted.slice(k, k + 2), 16));
                let n = 0;
                for (let i = 0; i < data.length; i += 4) n += data[i] === r && data[i + 1] === g && data[i + 2] === b;
                return n;
            };
            return [painted('--c0'), painted('--c1')];
        })()""" % holder)
        # Order 2 has the colour c0; most of the time is held with it.
        assert max(choice["orders"][2] for choice in choices) > 0.5 and found[0] > 1000, (choices, found)
        # c1 covers three tenths of a row while anything is given back, be it more or less: 0.3/0.7 of c0, and half of that was there.
        assert min(choice["given_back"] for choice in choices) > 0.9 and found[1] > 0.25 * found[0], (choices, found)
        assert overlaps(page) == []
        assert page.complaints() == []


TRAJECTORIES = "[...document.querySelectorAll('#trajectories h3')].map((h) => h.textContent)"


def test_trajectories_come_first_and_share_a_plot_by_unit(run):
    with Page((run / "report.html").as_uri()) as page:
        order = page.evaluate("[...document.querySelectorAll('main > section')].filter((s) => !s.hidden).map((s) => s.id)")
        assert order[:3] == ["verdict", "outputs", "plots"]
        assert page.evaluate(TRAJECTORIES) == ["chassis.velocity in m/s", "wheel.suspension_force in N"]
        before = page.evaluate("powerbondReport.plots.length")
        tick = "[...document.querySelectorAll('.chooser label')].find((l) => l.textContent === '%s').querySelector('input').click()"
        page.evaluate(tick % "wheel.velocity in m/s")
        page.evaluate(tick % "wheel.position in m")
        titles = page.evaluate(TRAJECTORIES)
        assert titles == ["chassis.velocity, wheel.velocity in m/s", "wheel.suspension_force in N", "wheel.position in m"], titles
        assert page.evaluate("powerbondReport.plots.length") == before + 1
        shared = "powerbondReport.plots.find((p) => p.root.parentElement === document.querySelector('#trajectories .plot'))"
        assert page.evaluate(f"{shared}.series.map((s) => s.label)") == ["time", "chassis.velocity", "wheel.velocity"]
        assert page.evaluate(f"new Set({shared}.series.slice(1).map((s) => s.stroke())).size") == 2
        page.evaluate("(() => { const s = document.getElementById('layout'); s.value = 'each'; s.onchange(); })()")
        assert len(page.evaluate(TRAJECTORIES)) == 4
        page.evaluate("[...document.querySelectorAll('.chooser input')].filter((b) => b.checked).forEach((b) => b.click())")
        assert page.evaluate(TRAJECTORIES) == []
        assert page.complaints() == []


def test_both_limits_of_a_discontinuity_are_told_and_drawn(tmp_path):
    """The suspension force jumps with the road at 0.2 s: its limits are two rows of `results.csv`."""
    folder = tmp_path / "run"
    powerbond("run", ROOT / "examples/quarter-car-fd", "--tolerance", "1e-3", "--output-dir", folder, "--report", "--quiet")
    rows = [line.split(",") for line in (folder / "results.csv").read_text().split()]
    column = rows[0].index("wheel.road")
    left, right = [float(row[column]) for row in rows[1:] if float(row[0]) == 0.2]
    assert (left, right) == (0, 0.1)
    with Page((folder / "report.html").as_uri()) as page:
        page.evaluate("[...document.querySelectorAll('.chooser input')].forEach((b) => { if (b.checked !== (b.parentElement.textContent === 'wheel.road in m')) b.click(); })")
        plot = "powerbondReport.plots.find((p) => p.series[1]?.label === 'wheel.road')"
        page.evaluate(f"{plot}.setCursor({{ left: {plot}.valToPos(0.2, 'x'), top: 20 }})")
        legend = page.evaluate(f"{plot}.root.querySelectorAll('.u-legend .u-value')[1].textContent")
        assert legend == "0 m → 100 mm", legend
        assert page.complaints() == []
        # A full circle at the right limit: the pixel at its place has the colour of the line.
        pixel = page.evaluate(f"""(() => {{ const p = {plot}; const c = p.ctx.canvas;
            const at = (v) => [...p.ctx.getImageData(Math.round(p.valToPos(0.2, 'x', true)), Math.round(p.valToPos(v, 'y', true)), 1, 1).data.slice(0, 3)];
            return [at(0.1), at(0)]; }})()""")
        assert pixel[0] != pixel[1] and sum(pixel[1]) > 600, pixel


def test_the_error_over_time_is_the_difference_to_a_reference(run, tmp_path):
    """The largest difference on the page is that of `compare`, at the times of the run; a verified run needs no reference."""
    verified = tmp_path / "verified"
    powerbond("run", ROOT / "examples/quarter-car", "--output-dir", verified, "--verify", "--report", "--quiet")
    with Page((verified / "report.html").as_uri(), width=480) as page:
        assert "the run in finer steps" in page.evaluate("document.getElementById('errors').textContent")
        assert page.evaluate("document.querySelectorAll('#errors .plot').length") == 2
        assert overlaps(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 480
        assert page.complaints() == []
    page_file = tmp_path / "against.html"
    powerbond("report", run, "--reference", verified / "finer.csv", "-o", page_file)
    compared = json.loads(powerbond("compare", run, verified / "finer.csv", "--json"))
    largest = {v["name"]: v["max"] for v in compared["variables"]}
    with Page(page_file.as_uri()) as page:
        found = page.evaluate("""Object.entries(JSON.parse(document.getElementById('data').textContent).runs[0].errors)
            .map(([name, [t, d]]) => [name, Math.max(...d.map(Math.abs))])""")
        assert {name for name, _ in found} == set(largest)
        # Steps in halves: the times of the run are times of the finer one, in whose middles `compare` looks as well.
        assert all(0.5 * largest[name] <= d <= 1.000_01 * largest[name] for name, d in found), (found, largest)
        assert page.complaints() == []
    command = [POWERBOND, "report", run, "--reference", run / "energy.csv", "-o", tmp_path / "x.html"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 3 and "no variable in common" in " ".join(ran.stderr.split()), ran.stderr


def test_all_numbers_have_one_style_of_units(run):
    """Times, axes, legends and tables: prefixes where a unit is one symbol, none elsewhere."""
    with Page((run / "report.html").as_uri()) as page:
        ticks = page.evaluate("powerbondReport.plots.slice(0, 2).map((p) => p.axes.map((a) => a._values.filter(Boolean)))")
        (times, speeds), (_, forces) = ticks
        # From 0 s to 4 s, and no 500 ms between them.
        assert all(t.endswith(" s") for t in times), times
        assert all(v.endswith(" m/s") for v in speeds) and any(f.endswith(" kN") for f in forces), ticks
        assert page.complaints() == []


def test_rows_of_tables_are_lists_in_a_narrow_window(run):
    """Columns were cut off at the right."""
    wide = """[...document.querySelectorAll('#ledger td, #inputs td')].filter((cell) => {
        const [cell_box, box] = [cell.getBoundingClientRect(), cell.closest('section').getBoundingClientRect()];
        return cell_box.right > box.right || cell.scrollWidth > cell.clientWidth + 1; }).length"""
    label = "getComputedStyle(document.querySelectorAll('#ledger td')[%d], '::before').content"
    with Page((run / "report.html").as_uri(), width=480) as page:
        assert page.evaluate(wide) == 0
        assert page.evaluate(label % 2) == '"exchanged"'
        rms = "document.querySelectorAll('#inputs td')[2].textContent"
        assert page.evaluate(rms).endswith((" N", " m/s", " mN", " mm/s")), "jumps have the unit of their input"
        assert overlaps(page) == [] and page.complaints() == []
    with Page((run / "report.html").as_uri()) as page:
        assert page.evaluate(label % 2) == "none"


def test_several_runs_are_overlaid(run, tmp_path):
    other = tmp_path / "coarse"
    powerbond("run", ROOT / "examples/quarter-car", "--output-dir", other, "--quiet", "-s", "5e-3", "--set", "chassis.mass=300")
    page_file = tmp_path / "both.html"
    powerbond("report", run, other, "-o", page_file)
    with Page(page_file.as_uri()) as page:
        assert page.evaluate("document.querySelectorAll('#runs tbody tr').length") == 2
        assert page.evaluate("powerbondReport.plots[2].series.length") == 1 + 4, "two sides of a bond, two runs"
        assert visible(page) == page.evaluate("powerbondReport.plots.length")
        assert overlaps(page) == []
        assert page.complaints() == []


def test_hostile_names_are_only_text(run, tmp_path):
    """The record is what a report reads: names of anything in it may come from someone else's FMU."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    quoted = '"' + HOSTILE.replace('"', '""') + '"'
    for name in ["results.csv", "energy.csv"]:
        text = (run / name).read_bytes().decode()
        text = text.replace("chassis.velocity", f'"chassis.{HOSTILE}"'.replace(HOSTILE, HOSTILE.replace('"', '""')), 1)
        for part in ["P.chassis", "P.wheel", "dP", "dE", "dE_sum", "E"]:
            column = f"suspension.{part}"
            text = text.replace(f",{column},", f',"{HOSTILE.replace(chr(34), chr(34) * 2)}.{part}",', 1)
        (folder / name).write_bytes(text.encode())
    summary = json.loads((run / "summary.json").read_text())
    summary["system"] = HOSTILE
    summary["bonds"][0]["name"] = HOSTILE
    summary["subsystems"][0]["name"] = HOSTILE
    summary["subsystems"][0]["kind"] = HOSTILE
    summary["verdict"]["text"] = HOSTILE
    summary["verdict"]["reasons"][0]["text"] = HOSTILE
    summary["warnings"].append(HOSTILE)
    summary["inputs"][0]["name"] = HOSTILE
    summary["config"][HOSTILE] = HOSTILE
    summary["hashes"][HOSTILE] = HOSTILE
    summary["units"] = dict.fromkeys(summary["units"], HOSTILE)
    (folder / "summary.json").write_text(json.dumps(summary))
    assert quoted not in powerbond("report", folder)
    with Page((folder / "report.html").as_uri()) as page:
        assert page.evaluate("document.title").endswith("powerbond report")
        assert "owned" not in page.evaluate("document.title").replace(HOSTILE.replace("\n", " "), "")
        assert page.evaluate("document.images.length") == 0
        assert page.evaluate("document.scripts.length") == 3
        assert page.evaluate("document.querySelectorAll('h1, h2, h3').length") > 8
        assert HOSTILE in page.evaluate("document.getElementById('title').textContent")
        assert visible(page) == page.evaluate("powerbondReport.plots.length") > 5
        assert page.complaints() == []
