#!/usr/bin/env python3
"""clang-tidy over src, but for what passed before.

A source that passes leaves build/lint/SOURCE.json: its compile command, the tool, the checks, and the hash of every file
that it includes, the system's too. It is checked again once one of these differs. What fails leaves nothing.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIDY = "clang-tidy-16"


class Unreadable(Exception):
    """A source whose includes the compiler cannot list; the text is the compiler's."""


@functools.cache
def digest(path):
    try:
        return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
    except OSError:
        return None


def dependencies(command):
    """What a compile command reads, as the compiler lists it (a make rule); paths from ROOT where they are below it."""
    words = shlex.split(command["command"])
    if "-o" in words:
        at = words.index("-o")
        del words[at:at + 2]
    words.remove("-c")
    rule = subprocess.run([*words, "-M"], cwd=command["directory"], capture_output=True, text=True)
    if rule.returncode:
        raise Unreadable(rule.stderr)
    paths = shlex.split(rule.stdout.replace("\\\n", " ").partition(":")[2])
    paths = (os.path.normpath(os.path.join(command["directory"], path)) for path in paths)
    return {os.path.relpath(path, ROOT) if path.startswith(f"{ROOT}/") else path for path in paths}


class Checker:
    def __init__(self, build, record):
        self.build, self.record = build, record
        self.commands = {}
        for command in json.loads((build / "compile_commands.json").read_text()):
            self.commands.setdefault(Path(command["file"]), []).append(command)
        version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
        self.setting = [version, (ROOT / ".clang-tidy").read_text()]
        self.stopped = threading.Event()

    def key(self, source):
        return hashlib.sha256(json.dumps([self.setting, [c["command"] for c in self.commands[source]]]).encode()).hexdigest()

    def path(self, source):
        return self.record / f"{source.relative_to(ROOT)}.json"

    def passed(self, source):
        try:
            record = json.loads(self.path(source).read_text())
        except (OSError, ValueError):
            return False
        return record["key"] == self.key(source) and all(digest(path) == seen for path, seen in record["files"].items())

    def check(self, source):
        """What clang-tidy says of a source, None where it passes, and the seconds that took."""
        start = time.monotonic()
        if self.stopped.is_set():
            return "", 0
        # hashed before the check, so that a file that is edited meanwhile is checked again
        try:
            files = {path: digest(path) for command in self.commands[source] for path in dependencies(command)}
        except Unreadable as error:
            return str(error), time.monotonic() - start
        run = subprocess.run([TIDY, "-p", str(self.build), "--quiet", "--warnings-as-errors=*", str(source)],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - start
        if run.returncode:
            return run.stdout or f"{source}: {TIDY} ended with {run.returncode}\n", seconds
        path = self.path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"key": self.key(source), "files": files}))
        part.replace(path)
        return None, seconds


def sources(paths):
    for path in paths:
        path = Path(path).resolve()
        found = sorted(path.rglob("*.cpp")) if path.is_dir() else [path]
        if not found or not path.exists():
            sys.exit(f"tidy: no source at {path}")
        yield from found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", default=[ROOT / "src", ROOT / "migrate"], help="sources or folders (all of src and migrate)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", "--verbose", action="store_true", help="name each source that is checked, and its seconds")
    parser.add_argument("--build", type=Path, default=ROOT / "build/clang", help="a configured build of clang's")
    parser.add_argument("--record", type=Path, default=ROOT / "build/lint", help="where the passes are kept")
    options = parser.parse_args()
    checker = Checker(options.build.resolve(), options.record.resolve())
    wanted = list(dict.fromkeys(sources(options.paths)))
    for source in wanted:
        if source not in checker.commands:
            print(f"tidy: {source.relative_to(ROOT)} is no part of this build: not checked", file=sys.stderr)
    wanted = [source for source in wanted if source in checker.commands]
    due = [source for source in wanted if not checker.passed(source)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        runs = {pool.submit(checker.check, source): source for source in due}
        try:
            for run in concurrent.futures.as_completed(runs):
                findings, seconds = run.result()
                failed += findings is not None
                if options.verbose:
                    verdict = "passes" if findings is None else "FAILS"
                    print(f"{runs[run].relative_to(ROOT)}: {verdict}, {seconds:.0f} s", flush=True)
                if findings:
                    print(findings, end="", flush=True)
        except BaseException:
            checker.stopped.set()
            raise
    print(f"tidy: {len(wanted)} sources: {len(wanted) - len(due)} passed before, {len(due) - failed} pass now, "
          f"{failed} fail", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
