"""The commands of the prompt, and the same as words of a command line."""

import argparse
import shlex
import subprocess

from precision_tool.lib import arrays, look, places, vector
from precision_tool.lib.panel import log


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise places.Trouble("%s: %s\n%s" % (self.prog, message, self.format_usage().strip()))

    def exit(self, status=0, message=None):
        raise _Help()


class _Help(Exception):
    pass


def _parsers():
    made = {}

    def command(name, about):
        made[name] = _Parser(prog=name, description=about, add_help=True)
        return made[name].add_argument

    add = command("ac", "checks for overflow; the operators that fused")
    add("-l", dest="most", type=int, default=3, metavar="N", help="overflows that are shown")
    add("-c", dest="compare", action="store_true", help="compares the whole network as well (vc)")
    add = command("run", "runs a command of the shell")
    add("command", nargs=argparse.REMAINDER)
    add = command("ls", "lists operators; parts of names are enough")
    for flag, dest, about in (("-n", "name", "name"), ("-t", "op_type", "type"), ("-f", "fusion_pass", "fusion pass"), ("-k", "kernel", "kernel name")):
        add(flag, dest=dest, default="", help=about)
    add = command("ni", "one operator: inputs, outputs, what was dumped")
    add("positional", nargs="?", metavar="name")
    add("-n", dest="name")
    add("-g", dest="rule", help="JSON of a graph (atc --mode=5)")
    add("-d", "-a", dest="attributes", action="store_true", help="attributes as well")
    add("-s", dest="depth", type=int, default=0, metavar="DEPTH", help="a picture of the operators so near")
    add = command("pt", "one npy file")
    add("positional", nargs="?", metavar="file")
    add("-n", dest="name")
    add = command("cp", "two npy files")
    add("left")
    add("right")
    add("-p", dest="most", type=int, default=20, help="elements that are shown")
    add("-al", dest="absolute", type=float, default=0.001, help="absolute tolerance")
    add("-rl", dest="relative", type=float, default=0.001, help="relative tolerance")
    add("-s", dest="save", action="store_true", default=True, help="keeps both as text (always)")
    add = command("vc", "compares two runs")
    add("-lt", dest="left", help="folder of the run that is judged (default: debug_0)")
    add("-rt", dest="right", help="folder of the other (default: tf/dump, else debug_1)")
    add("-g", dest="rule", help="JSON of the graph")
    add = command("vcs", "the operators of the latest comparison that are off")
    add("-f", dest="path", help="a csv file (default: those of the newest folder in temp/vector_compare)")
    add("-c", dest="threshold", type=float, default=0.98, help="cosine")
    add("-l", dest="most", type=int, default=3, help="operators that are shown")
    return made


PARSERS = _parsers()


def _named(args):
    name = args.name or args.positional
    if not name:
        raise places.Trouble("a name is missing, e.g.  ni -n NAME,  pt FILE.npy")
    return name


def _do(command, args):
    if command == "ac":
        look.check(args.most)
        if args.compare:
            vector.compare()
    elif command == "run":
        subprocess.run(shlex.join(args.command), shell=True, check=False)
    elif command == "ls":
        look.listing(args.name, args.op_type, args.fusion_pass, args.kernel)
    elif command == "ni":
        look.node(_named(args), args.rule, args.attributes, args.depth)
    elif command == "pt":
        arrays.show(_named(args))
    elif command == "cp":
        arrays.compare(args.left, args.right, args.most, args.absolute, args.relative, args.save)
    elif command == "vc":
        vector.compare(args.left, args.right, args.rule)
    elif command == "vcs":
        vector.show(args.threshold, args.most, args.path)


def execute(words, shell_too):
    """True when it went well. What is no command is the shell's, where that is wanted."""
    if words and words[0] in PARSERS:
        try:
            _do(words[0], PARSERS[words[0]].parse_args(words[1:]))
            return True
        except _Help:
            return True
        except places.Trouble as trouble:
            log("ERROR", str(trouble))
            return False
    if shell_too:
        return subprocess.run(shlex.join(words), shell=True, check=False).returncode == 0
    log("ERROR", "%s is no command; there are: %s" % (words[0] if words else "", ", ".join(PARSERS)))
    return False
