"""Ranks of native.py as processes of their own."""
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.distributed import jobs

NATIVE = (sys.executable, "-S", Path(__file__).with_name("native.py"))


def home():
    """The tree whose library is tested."""
    chosen = os.environ.get("UPDRAFT_CANN_HOME")
    return chosen or Path(sys.prefix, "lib", "python%d.%d" % sys.version_info[:2], "site-packages", "updraft", "cann")


class Process:
    """A rank whose lines are read as they come."""

    def __init__(self, words, namespace=None, **variables):
        self.lines = []
        env = jobs.environment(UPDRAFT_CANN_HOME=home(), UPDRAFT_MEMORY="64M", **variables)
        prefix = ("ip", "netns", "exec", namespace) if namespace else ()
        self.process = subprocess.Popen([str(c) for c in (*prefix, *NATIVE, *words)], env=env, cwd=jobs.ROOT, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def line(self, text, seconds=40):
        """Waits until a line begins so."""
        end = time.monotonic() + seconds
        while True:
            over = not self.reader.is_alive() or time.monotonic() > end  # before the look: nothing comes after it
            for line in list(self.lines):
                if line.startswith(text):
                    return line
            if over:
                raise AssertionError(f"no line {text!r}: {self.lines}")
            time.sleep(0.002)

    def end(self, seconds=40):
        status = self.process.wait(seconds)
        self.reader.join(5)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(5)
