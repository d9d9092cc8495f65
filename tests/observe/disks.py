"""Disks that are full, or that nobody may write to, for one program: small ones of its own, which nobody else sees."""

import shlex
import subprocess

import pytest

from .programs import environment, UPDRAFT


def may_mount():
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


# options, what is done to the disk before, and what the system says of it
REFUSALS = [("size=64k", "dd if=/dev/zero of=rest bs=4k 2>/dev/null; true", "No space left on device"),
            ("size=64k,nr_inodes=2", "touch one", "No space left on device"),
            ("size=64k", "mount -o remount,ro .", "Read-only file system")]

wants_mounts = pytest.mark.skipif(not may_mount(), reason="mounts are not permitted here")


def run_on_disk(folder, command, options="size=1m", prepare="true", status=0, after="true", **env):
    """Runs `updraft run COMMAND` while a disk with these options of tmpfs lies at `folder`, after `prepare` in it (words of the shell);
    gives what it said, and what `after` says of the folder then."""
    words = " ".join(shlex.quote(str(word)) for word in [UPDRAFT, "run", *command])
    script = "mount -t tmpfs -o %s none %s && cd %s && { %s; } && %s; code=$?; %s; exit $code" % (
        options, *[shlex.quote(str(folder))] * 2, prepare, words, after)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=environment(**env), text=True, capture_output=True, timeout=120)
    text = done.stdout + done.stderr
    assert done.returncode == status, "status %d\n%s" % (done.returncode, text[-4000:])
    return text
