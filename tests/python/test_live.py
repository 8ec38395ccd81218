"""The live view in a real browser: it follows the run, ends with it, and shows itself to nobody else."""

import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

from chromium import Page, find
from test_report import overlaps, visible

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"


class Run:
    """A run in real time that is looked at."""

    def __init__(self, folder, *options):
        command = [POWERBOND, "run", ROOT / "examples/quarter-car", "--real-time", "--live", "--output-dir", folder, "--json"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = json.loads(self.process.stdout.readline())
        assert line["event"] == "live"
        self.url = line["url"]
        self.port, self.token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.url).groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def status(self, path, method="GET", **fields):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=5)
        connection.putrequest(method, path, skip_host="Host" in fields)
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read(200) if answer.status == 200 else answer.read()
        connection.close()
        return answer.status, text.decode(errors="replace")


def elsewhere(page):
    """Complaints, but for requests to the live view itself."""
    return [c for c in page.complaints() if not str(c).startswith("http://127.0.0.1:")]


@pytest.mark.skipif(find() is None, reason="there is no Chromium")
@pytest.mark.parametrize("dark, width", [(False, 1280), (True, 480)])
def test_the_page_follows_the_run_and_becomes_its_report(tmp_path, dark, width):
    with Run(tmp_path / "run", "--end-time", "90") as run, Page(run.url, width=width, dark=dark) as page:
        page.wait(lambda: page.evaluate("(window.powerbondReport?.plots[0].data[0].length ?? 0) > 2"))
        page.wait(lambda: "%" in page.evaluate("document.getElementById('progress').textContent"))
        assert page.evaluate("document.documentElement.classList.contains('dark')") is dark
        first, plots = page.evaluate("[powerbondReport.view()[1], powerbondReport.plots.length]")
        assert plots >= 5
        assert overlaps(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
        page.wait(lambda: page.evaluate("powerbondReport.view()[1]") > first)
        page.evaluate("[...document.querySelectorAll('.chooser input')].filter((b) => !b.checked)[0].click()")
        chosen = page.evaluate("document.querySelectorAll('.chooser input:checked').length")
        assert page.evaluate("document.getElementById('ledger').hidden")
        # The user has seen enough: a run that is stopped ends like any other.
        run.process.send_signal(signal.SIGINT)
        out, err = run.process.communicate(timeout=30)
        summary = json.loads(out.splitlines()[-1])
        assert run.process.returncode == 130 and summary["outcome"] == "stopped", err
        # The whole report has come, and what was chosen stays.
        page.wait(lambda: page.evaluate("!document.getElementById('progress')"))
        assert page.evaluate("document.querySelector('#verdict .word').className").endswith(summary["verdict"]["word"])
        assert page.evaluate("document.querySelectorAll('.chooser input:checked').length") == chosen
        assert page.evaluate("powerbondReport.view()") == [0, pytest.approx(summary["time"]["reached"])]
        assert not page.evaluate("document.getElementById('ledger').hidden")
        assert visible(page) == page.evaluate("powerbondReport.plots.length")
        assert elsewhere(page) == []
        with pytest.raises(OSError):
            run.status(f"/?token={run.token}")


def test_only_who_knows_the_token_and_comes_from_the_page_sees_it(tmp_path):
    with Run(tmp_path / "run") as run:
        right, own = f"?token={run.token}", f"http://127.0.0.1:{run.port}"
        for path in ["/", "/events"]:
            assert run.status(path + right)[0] == 200
            assert run.status(path + right, Origin=own)[0] == 200
            assert run.status(path + right, Host=f"localhost:{run.port}")[0] == 200
            for wrong in [path, f"{path}?token=", f"{path}?token={'0' * 32}", f"{path}{right}0"]:
                status, text = run.status(wrong)
                assert status == 403 and "token" in text
            for origin in ["http://evil.example", "null", "http://127.0.0.1:1", own.replace("http", "https")]:
                assert run.status(path + right, Origin=origin)[0] == 403
            for host in ["evil.example", f"evil.example:{run.port}", "127.0.0.1"]:
                assert run.status(path + right, Host=host)[0] == 403
            for method in ["POST", "PUT", "DELETE", "OPTIONS"]:
                assert run.status(path + right, method=method)[0] == 405
        assert run.status("/summary.json" + right)[0] == 404
        # It listens to this machine only, and the run does not mind any of that.
        table = pathlib.Path("/proc/net/tcp").read_text() if pathlib.Path("/proc/net/tcp").exists() else ""
        listening = [line.split()[1] for line in table.splitlines()[1:] if line.split()[3] == "0A"]
        assert all(a.startswith("0100007F") for a in listening if a.endswith(f":{int(run.port):04X}"))
        out, err = run.process.communicate(timeout=30)
        assert run.process.returncode == 0 and json.loads(out.splitlines()[-1])["outcome"] == "finished"


def test_a_page_that_takes_nothing_holds_up_nobody(tmp_path):
    """Sockets that say nothing, and one that asks for events and never reads them."""
    with Run(tmp_path / "run") as run:
        idle = [socket.create_connection(("127.0.0.1", int(run.port))) for _ in range(20)]
        deaf = socket.create_connection(("127.0.0.1", int(run.port)))
        deaf.sendall(f"GET /events?token={run.token} HTTP/1.1\r\nHost: 127.0.0.1:{run.port}\r\n\r\n".encode())
        begun = time.monotonic()
        out, _ = run.process.communicate(timeout=30)
        assert time.monotonic() - begun < 4 + 3 + 2, "the run, the farewell, and some time for a busy machine"
        assert run.process.returncode == 0 and json.loads(out.splitlines()[-1])["outcome"] == "finished"
        for one in [*idle, deaf]:
            one.close()
