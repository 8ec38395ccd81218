"""`powerbond new` on a terminal asks about what is likely; a real pseudo-terminal of 80 columns."""

import fcntl
import os
import pathlib
import pty
import select
import signal
import subprocess
import termios
import time
import zipfile

import pytest
from test_fmi_import import c_fmu

ROOT = pathlib.Path(__file__).resolve().parents[2]
POWERBOND = ROOT / "target/release/powerbond"


class Terminal:
    """The command on a pseudo-terminal."""

    def __init__(self, folder, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [POWERBOND, "new", *arguments], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.text = ""

    def until(self, words, seconds=20):
        """Reads until `words` appear, or to the end if they are None."""
        end = time.monotonic() + seconds
        while words is None or words not in self.text:
            assert time.monotonic() < end, self.text
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(self.master, 4096)
            except OSError:
                part = b""
            if not part:
                assert words is None, self.text
                return self.text
            self.text += part.decode()
        return self.text

    def type(self, keys):
        self.text = ""
        os.write(self.master, keys.encode())

    def end(self):
        self.until(None)
        os.close(self.master)
        return self.process.wait(20)


@pytest.fixture
def folder(tmp_path):
    """An FMU that takes a speed, and one that gives a speed under another name."""
    c_fmu(tmp_path, "integrator2")
    (tmp_path / "integrator2.fmu").rename(tmp_path / "speed.fmu")
    with zipfile.ZipFile(tmp_path / "speed.fmu") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    xml = files["modelDescription.xml"].decode()
    xml = xml.replace('<Real start="0" unit="m/s"/>', '<Real start="0" unit="K"/>')
    xml = xml.replace('<Real unit="m" nominal="10"/>', '<Real unit="m/s"/>').replace('name="x"', 'name="drive"')
    files["modelDescription.xml"] = xml.encode()
    with zipfile.ZipFile(tmp_path / "source.fmu", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return tmp_path


QUESTION = "? [y/N] "


@pytest.mark.parametrize("answer, active", [("y\r", True), ("\r", False), ("perhaps\rn\r", False)])
def test_an_answer_decides(folder, answer, active):
    terminal = Terminal(folder, "source.fmu", "speed.fmu")
    text = terminal.until(QUESTION)
    assert "speed.u = source.drive   (the only output in m/s)" in text, text
    assert all(len(line) <= 80 for line in text.splitlines()), text
    terminal.type(answer)
    assert terminal.end() == 0, terminal.text
    file = (folder / "system.toml").read_text()
    assert ('\n[[connections]]\nfrom = "source.drive"' in file) == active, file
    assert ('# [[connections]]\n# from = "source.drive"' in file) != active, file
    assert subprocess.run([POWERBOND, "run", folder, "--quiet"], cwd=folder).returncode == 0


def test_the_end_of_input_and_an_interrupt_write_no_file(folder):
    for keys, code in [("\x04", 130), ("\x03", -signal.SIGINT)]:
        terminal = Terminal(folder, "source.fmu", "speed.fmu")
        terminal.until(QUESTION)
        terminal.type(keys)
        assert terminal.end() == code, terminal.text
        assert not (folder / "system.toml").exists()


def test_nothing_is_asked_with_yes_or_without_a_terminal(folder):
    terminal = Terminal(folder, "source.fmu", "speed.fmu", "--yes")
    assert QUESTION not in terminal.until(None) and terminal.process.wait(20) == 0
    ran = subprocess.run(
        [POWERBOND, "new", "source.fmu", "speed.fmu", "--overwrite"], cwd=folder, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 0 and QUESTION not in ran.stdout, ran.stderr
    assert "likely, as a comment: speed.u = source.drive (the only output in m/s)" in ran.stdout
