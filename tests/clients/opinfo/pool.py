"""Drives worker processes: one that dies, hangs or has a poisoned device is replaced, and the work goes on behind the sample
that was at fault."""
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RESTARTS = 8  # of one entry; what is left of it then counts as not run
START_TIMEOUT = 600


class Result:
    def __init__(self, name):
        self.name, self.dtype, self.samples, self.text, self.restarts = name, "", [], "", 0
        self.operators = []  # that the first sample reached

    def add(self, sample, status, text="", difference=None, rule="", by=""):
        self.samples.append({"sample": sample, "status": status, "text": text, "difference": difference, "rule": rule, "by": by})


class Worker:
    def __init__(self, options, dtype, direction, log):
        read, write = os.pipe()
        command = [sys.executable, "-W", "ignore", "-m", getattr(options, "worker", "tests.clients.opinfo.worker"), "--device", options.device, "--suite", options.suite,
                   "--dtype", dtype, "--direction", direction, "--pipe", str(write), "--max-samples", str(options.max_samples)]
        threads = str(max(1, (os.cpu_count() or 1) // options.jobs))
        environment = {**os.environ}
        environment.setdefault("UPDRAFT_THREADS", threads)
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[write], stdin=subprocess.PIPE, stdout=log, stderr=log,
                                        start_new_session=True)
        os.close(write)
        self.pipe, self.buffer = read, b""
        self.result, self.sample, self.ready = None, None, False
        self.deadline = time.monotonic() + START_TIMEOUT

    def give(self, result, start, timeout):
        self.result, self.sample = result, None
        self.deadline = time.monotonic() + timeout
        try:
            self.process.stdin.write((json.dumps({"name": result.name, "start": start}) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the end of its pipe says so, too

    def messages(self):
        """Messages that have arrived; None at the end of the pipe."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            return None
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # with its fork; it leads a group of its own
        except ProcessLookupError:
            pass
        code = self.process.wait()
        os.close(self.pipe)
        self.process.stdin.close()
        return code


def run(options, names, dtype, direction, progress=lambda result: None):
    """Results of all entries by name."""
    todo = deque((Result(name), 0) for name in names)
    results, workers, early_deaths = {}, [], 0
    selector = selectors.DefaultSelector()
    log = open(options.log, "ab")

    def start():
        worker = Worker(options, dtype, direction, log)
        workers.append(worker)
        selector.register(worker.pipe, selectors.EVENT_READ, worker)

    def retire(worker):
        selector.unregister(worker.pipe)
        workers.remove(worker)
        return worker.close()

    def finish(result):
        results[result.name] = result
        progress(result)

    def go_on(result, behind):
        """The rest of an entry, by another worker."""
        result.restarts += 1
        if result.restarts > RESTARTS:
            result.text = result.text or "too many restarts; its further samples were not run"
            result.add(behind, "notrun", result.text)
            finish(result)
        else:
            todo.appendleft((result, behind))

    def died(result, sample, code):
        if result is None:
            return
        result.add(sample, "crash", f"the worker died with status {code}")
        if sample is None:
            finish(result)  # it died while it made the samples
        else:
            go_on(result, sample + 1)

    def lost(worker, why):
        nonlocal early_deaths
        code = retire(worker)
        result = worker.result
        if not worker.ready:
            early_deaths += 1
            if early_deaths > 2:
                raise SystemExit(f"workers do not start ({why}, status {code}); see {options.log}")
        if result is None:
            return
        if why == "timeout":
            result.add(worker.sample, "timeout", f"longer than {options.timeout} s")
            finish(result)
        else:
            died(result, worker.sample, code)

    while todo or any(w.result for w in workers):
        while len(workers) < options.jobs and len([w for w in workers if not w.result]) < len(todo):
            start()
        for worker in workers:
            if worker.ready and worker.result is None and todo:
                worker.give(*todo.popleft(), options.timeout)
        for key, _ in selector.select(timeout=1):
            worker = key.data
            got = worker.messages()
            if got is None:
                lost(worker, "crash")
                continue
            for m in got:
                kind, result = m["event"], worker.result
                if kind == "ready":
                    worker.ready = True
                elif kind == "begin":
                    worker.sample = m["sample"]
                elif kind == "sample":
                    result.add(m["sample"], m["status"], m["text"], m["difference"], m.get("rule", ""), m.get("by", ""))
                    result.operators += m.get("operators", [])
                elif kind == "restart":
                    worker.result = None
                    go_on(result, m["next"])
                elif kind == "died":  # its fork, that is: the worker itself goes on
                    worker.result = None
                    died(result, worker.sample, m["code"])
                elif kind == "done":
                    result.dtype, result.text = m["dtype"] or "", m.get("text", "")
                    worker.result = None
                    finish(result)
        for worker in list(workers):
            if (worker.result or not worker.ready) and time.monotonic() > worker.deadline:
                lost(worker, "timeout")
    for worker in list(workers):
        retire(worker)
    log.close()
    return results
