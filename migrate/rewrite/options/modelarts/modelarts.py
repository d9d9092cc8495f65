"""Paths of a training job on ModelArts. Importing this, before anything else in the script that is started, does all of it.

A job is started with --data_url and --train_url, which name folders of OBS (obs://…, s3://…) or mounted ones. Both options are
taken from the command line, so that the script's own parser does not meet them. What paths.json lists under "data" is copied from
--data_url to where the script looks for it; what it lists under "output" is copied to --train_url when the script ends, also
by an error. Each entry is {"local": PATH, "remote": FOLDER}: PATH as the script has it, FOLDER below the URL ("": the URL itself).
Without these options nothing is done: the script runs as it does at home.

One process of each host copies; the others wait for it.
"""

import atexit
import json
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OBS = ("obs://", "s3://")


def _take(name):
    """The value of --NAME VALUE or --NAME=VALUE, which leave sys.argv."""
    option, value, kept = "--" + name, None, []
    words = iter(sys.argv)
    for word in words:
        if word == option:
            value = next(words, None)
        elif word.startswith(option + "="):
            value = word[len(option) + 1:]
        else:
            kept.append(word)
    sys.argv[:] = kept
    return value


def _join(url, folder):
    return url if not folder else url.rstrip("/") + "/" + folder


def _copy(source, target):
    if source.startswith(OBS) or target.startswith(OBS):
        import moxing as mox  # every image of ModelArts has it
        mox.file.copy_parallel(source, target)
    elif os.path.isdir(source):
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif os.path.exists(source):
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        shutil.copy(source, target)
    else:
        raise FileNotFoundError("ModelArts: %s is to be copied to %s and is not there; see %s" % (
            source, target, os.path.join(HERE, "paths.json")))


def _first():
    """Whether this process copies for its host."""
    return int(os.environ.get("LOCAL_RANK", os.environ.get("RANK_ID", "0")) or 0) % int(
        os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("NPROC_PER_NODE", "8")) or 8) == 0


def _marker():
    job = os.environ.get("TORCHELASTIC_RUN_ID") or os.environ.get("JOB_ID") or str(os.getppid())
    return os.path.join(tempfile.gettempdir(), "modelarts-data-%s-%s" % (job.replace("/", "_"), os.environ.get(
        "MASTER_PORT", "")))


def _download(url, entries):
    marker = _marker()
    if not _first():
        until = time.monotonic() + float(os.environ.get("MODELARTS_DATA_TIMEOUT", "7200"))
        while not os.path.exists(marker):
            if time.monotonic() > until:
                raise TimeoutError("ModelArts: the first process of this host has not brought %s (%s is not there)" % (url, marker))
            time.sleep(0.5)
        return
    for entry in entries:
        _copy(_join(url, entry["remote"]), entry["local"])
    open(marker, "w").close()
    atexit.register(lambda: os.path.exists(marker) and os.remove(marker))


def _upload(url, entries):
    for entry in entries:
        if os.path.exists(entry["local"]):
            _copy(entry["local"], _join(url, entry["remote"]))


def prepare():
    data_url, train_url = _take("data_url"), _take("train_url")
    with open(os.path.join(HERE, "paths.json"), encoding="utf-8") as file:
        paths = json.load(file)
    if data_url:
        _download(data_url, paths["data"])
    if train_url and _first():
        for entry in paths["output"]:
            if not os.path.splitext(entry["local"])[1]:
                os.makedirs(entry["local"], exist_ok=True)
        entries = [{"local": os.path.abspath(entry["local"]), "remote": entry["remote"]} for entry in paths["output"]]
        atexit.register(_upload, train_url, entries)


prepare()
