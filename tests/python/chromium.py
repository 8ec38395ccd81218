"""Headless Chromium through its DevTools pipe: no driver, no package."""

import json
import os
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser's command, or None."""
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Page:
    """One page in a browser of its own; close it, or use it in a `with` block."""

    def __init__(self, url, width=1280, height=900, dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.inn, from_browser = os.pipe()

        def pipes():
            # The browser reads commands from descriptor 3 and answers on 4.
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        command = [
            find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking", f"--user-data-dir={self.profile.name}",
            f"--window-size={width},{height}", "about:blank",
        ]
        self.process = subprocess.Popen(
            command, preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.count, self.session, self.events = b"", 0, None, []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=url)
        self.wait(lambda: any(e["method"] == "Page.loadEventFired" for e in self.events))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.inn)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """A command; returns its result."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.inn, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the page did not get ready")
            self.call("Runtime.evaluate", expression="0")

    def evaluate(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self):
        """Errors and warnings of the console, exceptions, and requests that leave the page."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            match event["method"]:
                case "Runtime.exceptionThrown":
                    found.append(parameters["exceptionDetails"])
                case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                    found.append(parameters)
                case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                    found.append(parameters["entry"])
                case "Network.requestWillBeSent" if not parameters["request"]["url"].startswith(("file:", "data:")):
                    found.append(parameters["request"]["url"])
                case "Page.javascriptDialogOpening":
                    found.append("a dialog")
        return found

    def drag(self, x0, y0, x1, y1, shift=False):
        modifiers = 8 if shift else 0

        def mouse(kind, x, y, buttons):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons,
                      clickCount=1, modifiers=modifiers)

        mouse("mouseMoved", x0, y0, 0)
        mouse("mousePressed", x0, y0, 1)
        for k in range(1, 6):
            mouse("mouseMoved", x0 + (x1 - x0) * k / 5, y0 + (y1 - y0) * k / 5, 1)
        mouse("mouseReleased", x1, y1, 0)

    def screenshot(self, path, clip=None):
        import base64

        options = {"clip": clip | {"scale": 1}} if clip else {}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
