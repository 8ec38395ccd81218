"""A shell in tmux, as wide as a terminal is by default: commands are typed, and the screen is read."""

import os
import re
import shlex
import shutil
import subprocess
import time


def find():
    """tmux's command, or None."""
    return shutil.which("tmux")


class Terminal:
    """One window of `width` columns; close it, or use it in a `with` block. Screens go to `folder`, which is kept."""

    def __init__(self, cwd, folder, environment=None, width=80, height=40):
        self.width, self.folder, self.name, self.count = width, folder, f"powerbond-{os.getpid()}-{id(self)}", 1
        folder.mkdir(parents=True, exist_ok=True)
        shell = ["env", *(f"{k}={v}" for k, v in (environment or {}).items()), "PS1=[\\#:$?]> ", "bash", "--norc", "--noprofile"]
        # The configuration of whoever runs this has no say.
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, "-c", cwd, shlex.join(shell))
        self.tmux("set-option", "-g", "history-limit", 100000)
        self.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)

    def tmux(self, *arguments):
        ran = subprocess.run(["tmux", "-L", self.name, *map(str, arguments)], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def screen(self, joined=True):
        """Everything that was printed so far; lines that were too long for the window in one piece if `joined`."""
        return self.tmux("capture-pane", "-p", "-S", "-", *(["-J"] if joined else []))

    def wait(self, seconds):
        """Waits for the next prompt; returns the exit code of what ran before it."""
        end = time.monotonic() + seconds
        while True:
            found = re.findall(rf"^\[{self.count}:(\d+)\]>\s*$", self.screen(), re.M)
            if found:
                return int(found[-1])
            if time.monotonic() > end:
                raise TimeoutError(f"no prompt after {seconds} s; the screen is\n{self.screen()}")
            time.sleep(0.05)

    def type(self, command, seconds=60):
        """Types a command and Enter. Returns what was printed, a list of lines, and the exit code."""
        self.tmux("send-keys", "-l", command)
        self.tmux("send-keys", "Enter")
        self.count += 1
        code = self.wait(seconds)
        text = self.screen()
        (self.folder / "screen.txt").write_text(text)
        begin = text.rindex(f"[{self.count - 1}:")
        lines = text[begin : text.rindex(f"[{self.count}:")].rstrip("\n").split("\n")
        return [line.rstrip() for line in lines[1:]], code
