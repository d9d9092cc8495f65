"""Headless Chromium by its DevTools protocol over a pipe: needs no port and no package."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)


class Browser:
    """with Browser(folder) as browser: a page whose profile lies in the folder."""

    def __init__(self, folder, timeout=60):
        self.timeout = timeout
        self.number = 0
        self.events = []
        self.buffer = b""
        to_browser, self.out = os.pipe()
        self.incoming, from_browser = os.pipe()

        def descriptors():  # the protocol's are 3 and 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", "--user-data-dir=%s" % folder, "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.incoming)

    def _message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.incoming], [], [], left)[0]:
                raise TimeoutError("Chromium said nothing for %d s" % self.timeout)
            data = os.read(self.incoming, 1 << 20)
            if not data:
                raise EOFError("Chromium ended (%s)" % self.process.poll())
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.timeout
        while True:
            answer = self._message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        until = time.monotonic() + self.timeout
        while not self.run("document.readyState === 'complete' && location.href !== 'about:blank'"):
            if time.monotonic() > until:
                raise TimeoutError(url)
            time.sleep(0.05)

    def run(self, script):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (script, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, script):
        until = time.monotonic() + self.timeout
        while not self.run(script):
            if time.monotonic() > until:
                raise AssertionError("never true: " + script)
            time.sleep(0.05)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def complaints(self):
        """Exceptions, messages of the console, and requests that went out."""
        bad = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                bad.append((method, json.dumps(params)[:500]))
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "about:")):
                bad.append((method, params["request"]["url"]))
        return bad
