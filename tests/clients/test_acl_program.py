"""An AscendCL program in C++, built by CMake the way a user's is: against ASCEND_HOME_PATH's include/ and lib64/."""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "acl_add"


def run(*command, **options):
    updraft = pathlib.Path(sys.executable).with_name("updraft")
    return subprocess.run([str(updraft), "run", *map(str, command)], capture_output=True, text=True, timeout=120, **options)


def test_acl_add(tmp_path):
    configured = run("cmake", "-S", SOURCE, "-B", tmp_path)
    assert configured.returncode == 0, configured.stdout + configured.stderr
    built = run("cmake", "--build", tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    result = run(tmp_path / "acl_add", env=dict(os.environ, UPDRAFT_STRICT="1"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "7 + 2 * 3 = 13" in result.stdout
    assert "right on Ascend910B2" in result.stdout
