"""A Chromium without a window, driven over the pipe of its DevTools protocol."""

import itertools
import json
import os
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 120  # seconds; machines that run tests are busy


class Browser:
    """One page of its own profile, until the `with` block ends."""

    def __init__(self, profile):
        to_child, self.commands = os.pipe()
        self.answers, from_child = os.pipe()
        options = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
        # The browser reads commands from its file descriptor 3, and writes to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_child} 4>&{from_child}', "bash", CHROMIUM, *options.split()]
            + [f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self.numbers, self.session, self.left = itertools.count(1), {}, b""
        self.requested: list[str] = []  # addresses

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters, **self.session}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("method") == "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"])
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def receive(self):
        while b"\0" not in self.left:
            more = os.read(self.answers, 1 << 16)
            assert more, "the browser has ended"
            self.left += more
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def open(self, url, width=1000, height=900, dark=False):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.1)

    def type(self, selector, text):
        """In place of what a field holds, as a user would."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.evaluate("document.activeElement.select()")
        self.call("Input.insertText", text=text)
