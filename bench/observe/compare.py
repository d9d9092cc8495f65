"""How long comparing two dumps of one float32 tensor of 1 GB takes: ours and msaccucmp.py of mindstudio-probe, in turns.

usage: python bench/observe/compare.py [GB] [ROUNDS]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "observe"))

from dump_writer import write_dump  # noqa: E402

PROBE = ROOT / ".venv-msprobe" / "msprobe" / "msaccucmp"


def write(folder, array):
    folder.mkdir()
    write_dump(folder / "Add.op.1.0.1700000000000000", array)


def timed(command, **options):
    began = time.perf_counter()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return time.perf_counter() - began


def main():
    import updraft

    gigabytes, rounds = float((sys.argv[1:] or ["1"])[0]), int((sys.argv[2:] or ["2"])[0])
    folder = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm" if shutil.disk_usage("/dev/shm").free > 3e9 * gigabytes else None))
    try:
        rng = np.random.default_rng(0)
        x = rng.standard_normal(int(gigabytes * 2.5e8), dtype=np.float32)
        write(folder / "m", x)
        x += np.float32(1e-3)
        write(folder / "g", x)
        del x
        sides = ["compare", "-m", folder / "m", "-g", folder / "g", "-out"]
        ours, theirs = [], []
        for turn in range(rounds):
            for name in ("a", "b"):
                (folder / f"{name}{turn}").mkdir()
            ours.append(timed([pathlib.Path(updraft.home()) / "bin" / "msaccucmp", *sides, folder / f"a{turn}"]))
            theirs.append(timed([sys.executable, "msaccucmp.py", *sides, folder / f"b{turn}"], cwd=PROBE,
                                env={**os.environ, "ASCEND_TOOLKIT_HOME": updraft.home()}))
            print("round %d: ours %.2f s, msaccucmp.py %.2f s" % (turn, ours[-1], theirs[-1]), flush=True)
        print("%.1f GB a side: ours %.2f s, msaccucmp.py %.2f s, %.1f times; load %.1f on %d cores"
              % (gigabytes, min(ours), min(theirs), min(theirs) / min(ours), os.getloadavg()[0], os.cpu_count()))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
