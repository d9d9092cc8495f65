"""A worker process: reads entries as JSON lines from stdin, writes what happens as JSON lines to the pipe given as --pipe.
It announces every sample before it runs it, so that the driver knows which one killed it."""
import argparse
import faulthandler
import itertools
import json
import os
import re
import sys
import warnings
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the samples are tiny and the driver runs several workers

FILE = None  # of calls, where this is the program
if __name__ == "__main__":
    from .observed import trace_to_memory
    FILE = trace_to_memory()

import torch  # noqa: E402

from torch.utils._pytree import tree_flatten  # noqa: E402

from . import compare, lists, observed  # noqa: E402
from .moving import Shake, to_cpu  # noqa: E402
from .suites import entries, seed_all  # noqa: E402

RUNS = 64  # draws of a random operator,
SMALL, RUNS_OF_SMALL = 30, 512  # and of one with so few results that pooling them says little, or with a mask
SEEDS, SURE, SEEDS_WHEN_SURE = 8, 4, 2  # that show whether a sample is random; fewer once some of the entry were not
THOROUGH, RUNS_LATER = 10, 24  # that many samples of an entry get those; the rest must only not be grossly wrong
SEED = 1234
POISONED = 3  # exit status
SHAKES, SHAKES_OF_DOUBT = 8, 64  # operands moved by a rounding, where results differ, and where so few do not explain it


CODED = re.compile(r"\((E[A-Z]\d{4})\): (.*)")  # a line of aclGetRecentErrMsg, behind process and time

OURS = re.compile(r"\bE[A-Z]\d{4}\b|error code is \d")


def first_line(error):
    """The first line of the exception, and of what the device says about it; without process, time and source position, so
    that equal errors have equal texts."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    coded = next((m for m in map(CODED.search, lines) if m), None)
    first = re.sub(r"^\w+:\S*/(\w+)\.cpp:\d+ ", r"\1: ", lines[0])
    return f"{type(error).__name__}: {first[:200]}" + (f" | {coded[1]}: {coded[2][:200]}" if coded else "")


def evenly(cases, most):
    """At most `most` cases, picked evenly; 0: all."""
    cases = list(cases)
    if not most or len(cases) <= most:
        return list(enumerate(cases))
    return [(i * len(cases) // most, cases[i * len(cases) // most]) for i in range(most)]


class Runner:
    def __init__(self, device, direction):
        self.device, self.direction = device, direction
        self.dtype = torch.float64  # of the operands of the samples that are checked
        self.poisoned = False
        self.watch = observed.Watch(FILE) if FILE is not None and device.startswith("npu") else None
        self.rule = ""  # the reason of excluded.toml's rule that the last sample met
        self.random, self.steady = Counter(), Counter()  # samples of an entry that turned out random, and not

    def on_cpu(self, case, seed=SEED, precise=False):
        seed_all(seed)
        return to_cpu(case.run("cpu", precise))

    def on_device(self, case, seed=SEED + 1, **how):
        # another seed than the CPU's: a random operator must not look equal when cpu stands in for npu
        seed_all(seed)
        return to_cpu(case.run(self.device, **how))

    def watched(self, case):
        """on_device, observed."""
        if self.watch is None:
            return self.on_device(case)
        self.watch.begin()
        return self.on_device(case, watch=self.watch)

    def check(self, name, case):
        """(status, text, difference) of one sample; status is ok, wrong, error, skipped (by the CPU),
        refused (by the wheel) or excluded."""
        self.rule = ""
        if any(name in x["names"] for x in lists.rules("sample")):
            self.rule = lists.rule("sample", name, case.text(), self.direction) or ""
            if self.rule:
                return "excluded", "", None
        try:
            expected = self.on_cpu(case)
        except Exception as error:
            return "skipped", first_line(error), None
        try:
            actual = self.watched(case)
        except Exception as error:
            self.poisoned = not self.alive()
            text = first_line(error)
            self.rule = not OURS.search(text) and lists.rule("refusal", name, text) or ""
            return "refused" if self.rule else "error", text, None
        met = []
        try:
            kept, expected, actual = self.settle(name, expected, actual, met)
        except compare.Wrong as wrong:
            return "wrong", str(wrong), None
        if met:
            self.rule = next(x["reason"] for x in lists.rules("difference") if name in x["names"] and re.fullmatch(x["text"], met[0]))
        try:
            compare.close(name, expected, actual, self.direction)
            return "ok", "", None
        except compare.Wrong as wrong:
            return self.second_look(name, case, expected, actual, wrong, kept)

    def settle(self, name, expected, actual, met=None):
        return compare.settle(expected, actual, lists.differences(name), met)

    def second_look(self, name, case, expected, actual, wrong, kept):
        """Values differ: is the operator random, or only rounded in another way?"""
        order = case.order() if hasattr(case, "order") else None
        if order and self.direction == "backward" and expected and isinstance(expected[0], torch.Tensor):
            if compare.same_but_for_ties(*order, expected[0], actual[0]) and compare.identical(expected[1:], actual[1:]):
                return "ok", "", None
        elif order and compare.same_choice(*order, expected[-1], actual[-1]):
            try:
                compare.close(name, expected[:-1], actual[:-1], self.direction)
                return "ok", "", None
            except compare.Wrong as still:
                return "wrong", str(still), still.difference
        on_cpu = lambda **how: (lambda leaves: [leaves[n] for n in kept])(tree_flatten(self.on_cpu(case, **how))[0])
        try:
            seeds = SEEDS if self.random[name] or self.steady[name] < SURE else SEEDS_WHEN_SURE
            if any(not compare.identical(expected, [x.to(e.dtype) if isinstance(x, torch.Tensor) else x for e, x in zip(expected, other)])
                   for other in (on_cpu(seed=SEED + 2 + n) for n in range(seeds))):
                self.random[name] += 1
                runs = RUNS if sum(x.numel() for x in expected if isinstance(x, torch.Tensor)) > SMALL else RUNS_OF_SMALL
                if compare.DROPOUT.search(name):
                    runs = RUNS_OF_SMALL
                elif self.random[name] > THOROUGH:
                    runs = RUNS_LATER
                both = [self.settle(name, self.on_cpu(case, 100 + n), self.on_device(case, 100_000 + n))[1:] for n in range(runs)]
                compare.distribution(name, [e for e, _ in both], [a for _, a in both])
                return "ok", "", None
            self.steady[name] += 1
        except compare.Wrong as still:
            return "wrong", str(still), still.difference
        except Exception as error:
            return "error", first_line(error), None
        if wrong.difference is not None:
            try:
                # a gradient of another operand goes through the lowest dtype of all, whatever its own is
                low = self.dtype if self.direction == "backward" else torch.float64
                exact, near = on_cpu(precise=True), []
                for shakes in (SHAKES, SHAKES_OF_DOUBT):
                    for n in range(len(near), shakes):
                        with Shake(n, self.dtype) as shake:
                            near.append(on_cpu(precise=shake))
                    if compare.as_exact(exact, expected, actual, near, low, name, self.direction):
                        return "ok", "", None
            except Exception:
                pass  # no float64 reference for this operator: the first verdict stands
        return "wrong", str(wrong), wrong.difference

    def alive(self):
        """An operator that fails asynchronously poisons its stream, and torch_npu's task queue drops what follows; only a new
        process is then as good as new."""
        try:
            if self.device.startswith("npu"):
                torch.npu.synchronize()
            x = torch.arange(3.0).to(self.device)  # copies and the one operator that every state of the library has
            return (x + x).cpu().tolist() == [0, 2, 4]
        except Exception:
            return False


def main():
    arguments = argparse.ArgumentParser()
    for name in ("--device", "--suite", "--dtype", "--direction", "--pipe", "--max-samples"):
        arguments.add_argument(name)
    options = arguments.parse_args()
    faulthandler.enable()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    if options.device.startswith("npu"):
        import torch_npu  # noqa: F401
    out = os.fdopen(int(options.pipe), "w", buffering=1)
    say = lambda **message: out.write(json.dumps(message) + "\n")
    known = entries(options.suite)
    say(event="ready")
    # Imports take seconds, so the work is done in a fork that is made before the device is first used: an operator that kills
    # it or poisons its device costs milliseconds.
    while True:
        child = os.fork()
        if child == 0:
            serve(options, known, say)
            os._exit(0)  # the device may not even close cleanly any more
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return
        if code != POISONED:
            say(event="died", code=code)


def serve(options, known, say):
    """Does what stdin asks for until it ends or the device is poisoned."""
    wanted = getattr(torch, options.dtype)
    runner = Runner(options.device, options.direction)
    for line in sys.stdin:
        task = json.loads(line)
        entry = known[task["name"]]
        dtype = entry.dtype(wanted, options.direction)
        if dtype is None:
            say(event="done", dtype=None)
            continue
        try:
            cases = evenly(entry.cases(dtype, options.direction), int(options.max_samples))
        except Exception as error:  # the database cannot make its samples on a CPU
            say(event="done", dtype=str(dtype)[6:], text=first_line(error))
            continue
        runner.dtype = dtype
        for number, case in itertools.dropwhile(lambda pair: pair[0] < task["start"], cases):
            say(event="begin", sample=number)
            status, text, difference = runner.check(entry.name, case)
            seen = runner.watch if runner.watch and status in ("ok", "wrong") else None
            say(event="sample", sample=number, status=status, text=text, difference=difference, rule=runner.rule,
                by=seen.result() if seen else "", operators=sorted(set(seen.operators)) if seen and number == cases[0][0] else [])
            if runner.poisoned:
                say(event="restart", next=number + 1)
                os._exit(POISONED)
        say(event="done", dtype=str(dtype)[6:])


if __name__ == "__main__":
    main()
