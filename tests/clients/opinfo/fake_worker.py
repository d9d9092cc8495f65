"""A worker of test_harness.py: follows what the entry's name says, with three samples an entry."""
import argparse
import json
import os
import signal
import sys
import time

arguments = argparse.ArgumentParser()
arguments.add_argument("--pipe", type=int)
out = os.fdopen(arguments.parse_known_args()[0].pipe, "w", buffering=1)
say = lambda **message: out.write(json.dumps(message) + "\n")
say(event="ready")
for line in sys.stdin:
    task = json.loads(line)
    for n in range(task["start"], 3):
        say(event="begin", sample=n)
        if task["name"].startswith("crash") and n == 1 or task["name"] == "allcrash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if task["name"].startswith("hang") and n == 1:
            time.sleep(1000)
        say(event="sample", sample=n, status="ok", text="", difference=None)
        if task["name"].startswith("poison") and n == 1:
            say(event="restart", next=n + 1)
            break
        if task["name"] == "fork" and n == 1:
            say(event="died", code=-6)
            break
    else:
        say(event="done", dtype="float32")
