"""Single-command mode: runs a training script with what tf_config.py is told by the environment."""

import os
import shutil
import subprocess
import time

from precision_tool.lib import places, vector
from precision_tool.lib.config import config
from precision_tool.lib.panel import log


def _run(command, timeout=None, **variables):
    if not command:
        raise places.Trouble("a command is missing, e.g.  npu_dump \"python train.py\"")
    try:
        done = subprocess.run(command, shell=True, env=dict(os.environ, **variables), timeout=timeout)
    except subprocess.TimeoutExpired:
        raise places.Trouble("%r took longer than %d s (TF_DEBUG_TIMEOUT in lib/config/config.py)" % (command, timeout))
    if done.returncode:
        raise places.Trouble("%r ended with status %d" % (command, done.returncode))


def _put_by(run):
    """The folder of an earlier run gets the next number: debug_1 is the older one."""
    folder = places.npu(run)
    if os.path.isdir(folder) and os.listdir(folder):
        target = places.npu("debug_1")
        if os.path.isdir(target):
            old = places.npu("debug_1_" + time.strftime("%Y%m%d%H%M%S"))
            log("INFO", "%s is kept as %s" % (target, old))
            shutil.move(target, old)
        shutil.move(folder, target)
        log("INFO", "%s is now %s" % (folder, target))


def npu_dump(command):
    _put_by("debug_0")
    _run(command, PRECISION_TOOL_DUMP="True")


def npu_overflow(command):
    if os.path.isdir(places.overflow_dump()):
        shutil.rmtree(places.overflow_dump())
    _run(command, PRECISION_TOOL_OVERFLOW="True")


def tf_dump(command):
    """The reference: a script for the CPU with tfdbg_ascend, whose files come into tf/dump."""
    os.makedirs(places.tf_dump(), exist_ok=True)
    _run(command, config.TF_DEBUG_TIMEOUT, TFDBG_ASCEND_DUMP_PATH=places.tf_dump())


def compare(arguments):
    left, right, rule = (list(arguments) + [None] * 3)[:3]
    vector.compare(left, right, rule)
    vector.show()


MODES = {"npu_dump": npu_dump, "npu_overflow": npu_overflow, "tf_dump": tf_dump}
