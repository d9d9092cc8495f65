"""Named checks: functions that all ranks of one launch run, one after the other; each is reported as a test of its own.

A check that fails on any rank ends the launch (its ranks are out of step); the rest goes on in a new one."""
import json
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Callable

import torch

from .launch import DEVICE, LONG, Launch, says, tail

CHECKS = {}


@dataclass
class Check:
    name: str
    function: Callable
    ranks: tuple
    long: bool
    npu: bool
    seconds: float


def check(*ranks, long=False, npu=False, seconds=60):
    """ranks: the sizes of world to run in. long: only in the long form. npu: not with UPDRAFT_DIST_DEVICE=cpu."""
    def register(function):
        assert function.__name__ not in CHECKS
        CHECKS[function.__name__] = Check(function.__name__, function, ranks, long, npu, seconds)
        return function
    return register


def wanted(ranks):
    return [c.name for c in CHECKS.values() if ranks in c.ranks and (LONG or not c.long) and (DEVICE == "npu" or not c.npu)]


class Findings:
    """Collects what is wrong, so that a wrong number on one rank does not leave the others waiting."""

    def __init__(self):
        self.texts = []

    def same(self, actual, expected, what, rtol=0.0, atol=0.0):
        try:
            torch.testing.assert_close(actual.cpu(), expected.cpu(), rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as error:
            self.texts.append(f"{what}: {' '.join(str(error).split())}")

    def that(self, condition, what):
        if not condition:
            self.texts.append(what)

    def raises(self, call, what, text="", kind=Exception):
        try:
            call()
        except kind as error:
            if text not in str(error):
                self.texts.append(f"{what}: wanted {text!r} in the text, got: {error}")
        else:
            self.texts.append(f"{what}: nothing was raised")

    def finish(self):
        if self.texts:
            more = f"\n… and {len(self.texts) - 20} more" if len(self.texts) > 20 else ""
            raise AssertionError(f"{len(self.texts)} findings:\n" + "\n".join(self.texts[:20]) + more)


def run_checks(world, names):
    with open(world.folder / f"journal-{world.rank}", "a", buffering=1) as journal:
        def note(**what):
            journal.write(json.dumps(what) + "\n")

        for name in names:
            note(name=name, event="begin")
            start, text = time.monotonic(), None
            torch.manual_seed(0)
            try:
                findings = Findings()
                CHECKS[name].function(world, findings)
                world.synchronize()
                findings.finish()
            except Exception:
                text = traceback.format_exc()
            note(name=name, event="end", text=text, seconds=time.monotonic() - start)
            world.store.set(f"checked/{name}/{world.rank}", "bad" if text else "good")
            verdicts = [world.store.get(f"checked/{name}/{r}") for r in range(world.size)]
            if b"bad" in verdicts:  # the rest needs new processes
                world.leave()
                sys.exit(3)


class Journals:
    """How far each rank of a launch is."""

    def __init__(self, folder, ranks):
        self.files, self.events = [folder / f"journal-{r}" for r in range(ranks)], [[] for _ in range(ranks)]

    def read(self):
        for n, file in enumerate(self.files):
            if file.exists():
                self.events[n] = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]

    def ended(self, name):
        return [next((e for e in events if e["name"] == name and e["event"] == "end"), None) for events in self.events]

    def current(self):
        """The first check that not all ranks have ended well, of those begun."""
        names = [e["name"] for events in self.events for e in events if e["event"] == "begin"]
        return next((n for n in dict.fromkeys(names) if any(e is None or e["text"] for e in self.ended(n))), None)


def story(outcome, end):
    """What one rank has to say about the check that ended a launch."""
    if end and end["text"]:
        return f"── rank {outcome.rank}: {end['text']}{tail(outcome.log)}"
    return f"── rank {outcome.rank}: had nothing to complain about" if end else str(outcome)


GRACE = 15  # seconds that the other ranks have when one has failed


def run_all(folder, ranks, names, **options):
    """{name: None or what went wrong} for all names, in as many launches as failures ask for. options: of Launch."""
    results, round_number = {}, 0
    while names:
        here = folder / f"{ranks}-ranks-{round_number}"
        here.mkdir()
        job, journals = Launch(here, run_checks, ranks, names, **options), Journals(here, ranks)
        begun, failed_at, watched = time.monotonic(), None, None
        while not job.poll():
            time.sleep(0.05)
            journals.read()
            name, now = journals.current(), time.monotonic()
            if name != watched:
                watched, begun, failed_at = name, now, None
            bad = any(e and e["text"] for e in journals.ended(name)) if name else False
            failed_at = failed_at or (now if bad or job.ended else None)
            if now - begun > (CHECKS[name].seconds if name else 60) or (failed_at and now - failed_at > GRACE):
                break
        job.stop()
        journals.read()
        outcomes = job.outcomes()
        done = [n for n in names if all(e and not e["text"] for e in journals.ended(n))]
        results.update(dict.fromkeys(done))
        left = [n for n in names if n not in done]
        if not journals.current() and left == names:  # the ranks did not even begin
            return results | dict.fromkeys(left, says(outcomes))
        if left:
            results[left[0]] = "\n".join(story(o, e) for o, e in zip(outcomes, journals.ended(left[0])))
        elif any(o.status != 0 for o in outcomes):
            results[names[-1]] = "all checks passed, but the ranks did not end well\n" + says(outcomes)
        names, round_number = left[1:], round_number + 1
    return results
