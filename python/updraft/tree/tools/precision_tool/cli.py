"""precision_tool's prompt: python3 precision_tool/cli.py, or one command: python3 precision_tool/cli.py npu_dump "python train.py"."""

import os
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from precision_tool.lib import commands, places, runs  # noqa: E402
from precision_tool.lib.panel import log  # noqa: E402

ABOUT = """commands: %s (each with -h); what is none of them goes to the shell. Ctrl-C or exit leaves."""


def single(words):
    try:
        if words[0] in runs.MODES:
            runs.MODES[words[0]](" ".join(words[1:]))
        elif words[0] in ("compare", "vector_compare"):
            runs.compare(words[1:])
        elif words[0] in ("-h", "--help"):
            print(__doc__ + "\n" + ABOUT % ", ".join(commands.PARSERS))
        else:
            return 0 if commands.execute(words, shell_too=False) else 1
    except places.Trouble as trouble:
        log("ERROR", str(trouble))
        return 1
    return 0


def prompt():
    while True:
        try:
            line = input("PrecisionTool > ")
        except (EOFError, KeyboardInterrupt):
            print()
            return 0
        try:
            words = shlex.split(line)
        except ValueError as error:
            log("ERROR", "%s: %s" % (line, error))
            continue
        if words in (["exit"], ["quit"]):
            return 0
        if words in (["help"], ["?"]):
            print(ABOUT % ", ".join(commands.PARSERS))
        elif words:
            try:
                commands.execute(words, shell_too=True)
            except KeyboardInterrupt:
                print()
        sys.stdout.flush()


def main():
    return single(sys.argv[1:]) if sys.argv[1:] else prompt()


if __name__ == "__main__":
    sys.exit(main())
