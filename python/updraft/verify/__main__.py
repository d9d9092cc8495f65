"""python -m updraft.verify: what updraft-migrate starts for --verify once the output is written."""

import argparse
import pathlib
import shutil
import sys
import tempfile

from updraft._texts import t
from updraft.verify import report, runs


def main(argv=None):
    parser = argparse.ArgumentParser(prog="updraft.verify", description=__doc__)
    parser.add_argument("--original", type=pathlib.Path, required=True)
    parser.add_argument("--migrated", type=pathlib.Path, required=True)
    parser.add_argument("--reports", type=pathlib.Path, required=True)
    parser.add_argument("--rtol", type=float, default=1e-2)
    parser.add_argument("--timeout", type=float, default=1800)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--command", required=True)
    options = parser.parse_args(argv)
    reports = options.reports.resolve()
    reports.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="updraft-verify-"))
    try:
        def run(name, source, migrated):
            print(t("updraft verify: %s …", "updraft verify：%s……") % report.title(name), file=sys.stderr, flush=True)
            folder = runs.stage(source.resolve(), options.original, work / name)
            command = options.command.replace(str(options.original.resolve()), str(folder))
            return runs.execute(name, command, folder, reports, options.timeout, migrated)

        originals = [run(name, options.original, False) for name in (["original", "original_again"] if options.twice else ["original"])]
        migrated = run("migrated", options.migrated, True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    result = report.Result(options, originals, migrated)
    report.write(result, reports)
    print(result.text(), file=sys.stderr)
    return 0 if result.verified else 1


if __name__ == "__main__":
    sys.exit(main())
