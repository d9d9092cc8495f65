#!/usr/bin/env python3
"""The export of profiles as a script, where a card's tools look for it: hands its arguments to the program msprof.

usage: msprof.py export summary|timeline -dir PROF_*  |  msprof.py analyze -dir PROF_*  |  msprof.py query -dir PROF_*
"""

import argparse
import os
import sys


def main():
    parser = argparse.ArgumentParser(description="makes tables of a profile (see msprof --help)")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("export", "import", "analyze", "query"):
        command = commands.add_parser(name)
        if name == "export":
            command.add_argument("what", choices=("summary", "timeline", "db"))
            command.add_argument("--format", default="csv", choices=("csv", "json"))
            command.add_argument("--iteration-id")
            command.add_argument("--model-id")
        command.add_argument("-dir", "--collection-dir", dest="folder", required=True)
    given = parser.parse_args()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bin", "msprof")
    words = ["--%s=on" % {"import": "parse"}.get(given.command, given.command), "--output=" + given.folder]
    if given.command == "export":
        words += ["--type=" + ("db" if given.what == "db" else "text"), "--summary-format=" + given.format]
        words += ["--%s=%s" % (name, value) for name, value in (("iteration-id", given.iteration_id), ("model-id", given.model_id)) if value]
    os.execv(program, [program] + words)


if __name__ == "__main__":
    sys.exit(main())
