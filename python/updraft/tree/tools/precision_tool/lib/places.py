"""Where things lie in precision_data, and where the toolkit's programs are."""

import glob
import os
import shutil
import subprocess
import sys
import time

from precision_tool.lib.config import config
from precision_tool.lib.panel import log

_USUAL_ROOT = "/usr/local/Ascend"


class Trouble(Exception):
    """What the user is told in place of a traceback."""


def data():
    return os.path.join(config.ROOT_DIR or os.getcwd(), "precision_data")


def overflow_dump():
    return os.path.join(data(), "overflow", "dump")


def npu(run, *below):
    """run: debug_0, debug_1."""
    return os.path.join(data(), "npu", run, *below)


def runs():
    """The debug folders that there are, the latest run (debug_0) first."""
    return sorted(os.path.basename(p) for p in glob.glob(npu("debug_*")) if os.path.isdir(p))


def tf_dump():
    return os.path.join(data(), "tf", "dump")


def temp(*below):
    path = os.path.join(data(), "temp", *below)
    os.makedirs(path, exist_ok=True)
    return path


def stamp():
    return time.strftime("%Y%m%d%H%M%S")


_told = set()


def _find(name):
    found = _found(name)
    root = config.CMD_ROOT_PATH
    # The folder that config.py comes with need not be there; one that somebody has written is meant.
    if root and root != _USUAL_ROOT and root not in _told and not os.path.realpath(found).startswith(os.path.realpath(root) + os.sep):
        _told.add(root)
        log("WARNING", "CMD_ROOT_PATH = %r (lib/config/config.py) %s; taken is %s" % (
            root, "has no %s below it" % name if os.path.isdir(root) else "is no folder", found))
    return found


def _found(name):
    home = os.environ.get("ASCEND_HOME_PATH", "")
    here = os.path.dirname(os.path.realpath(__file__))
    for root in (config.CMD_ROOT_PATH, home, os.path.normpath(os.path.join(here, "..", "..", ".."))):
        if not root or not os.path.isdir(root):
            continue
        for place in (os.path.join(root, "bin", name), os.path.join(root, "tools", "operator_cmp", "compare", name)):
            if os.path.isfile(place):
                return place
        if root == config.CMD_ROOT_PATH:
            found = [os.path.join(folder, name) for folder, _, names in os.walk(root) if name in names]
            if found:
                return min(found, key=len)
    found = shutil.which(name)
    if found:
        return found
    raise Trouble("%s is not found below CMD_ROOT_PATH = %r (lib/config/config.py) nor below ASCEND_HOME_PATH: set one of them" % (name, config.CMD_ROOT_PATH))


def toolkit(name, *arguments):
    """Runs atc or msaccucmp.py; what it printed, or Trouble with its words."""
    program = _find(name)
    command = [sys.executable, program] if program.endswith(".py") else [program]
    done = subprocess.run(command + list(arguments), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Trouble("%s %s failed with %d:\n%s" % (name, " ".join(arguments), done.returncode, done.stdout.strip()[-3000:]))
    return done.stdout
