"""Programs of .venv-mindspore in a process of their own: MindSpore decides much when it is imported."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / ".venv-mindspore/bin/python"
STRICT = {"UPDRAFT_STRICT": "1", "UPDRAFT_INLINE": "0"}
LONG = bool(os.environ.get("UPDRAFT_TEST_LONG"))


def run(folder, *command, timeout=120, **env):
    """stdout and stderr of a command that must succeed. `folder`: MindSpore leaves files where it runs."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("UPDRAFT_", "ASCEND_", "PYTEST_"))}
    clean.update({"GLOG_v": "3", "PYTHONPATH": str(HERE), "PYTHONFAULTHANDLER": "1"}, **env)
    done = subprocess.run([str(part) for part in command], cwd=folder, env=clean, capture_output=True, text=True,
                          timeout=timeout * (10 if LONG else 1))
    assert done.returncode == 0, "status %d of %s\n%s\n%s" % (done.returncode, command, done.stdout[-3000:], done.stderr[-5000:])
    return done.stdout, done.stderr


def mindspore(folder, script, *arguments, **how):
    return run(folder, PYTHON, HERE / script, *arguments, **how)


def losses(text):
    """{case: losses} of the lines of JSON in a program's output."""
    return dict(json.loads(line) for line in text.splitlines() if line.startswith("["))


def torch_losses(folder, steps, cases):
    return losses(run(folder, sys.executable, HERE / "train_torch.py", steps, *cases)[0])


def assert_close(found, wanted, relative=1e-3):
    """Each step's loss within `relative` of its own."""
    assert_near(found, wanted, relative, lambda want, first: max(abs(want), 0.05))


def assert_half(found, wanted, share=0.02):
    """For half precision: within `share` of the first step's loss. Rounding is of the size of the numbers that were trained, not of what is left of the loss."""
    assert_near(found, wanted, share, lambda want, first: abs(first))


def assert_near(found, wanted, share, size):
    assert set(found) == set(wanted) and found, (sorted(found), sorted(wanted))
    for case, values in wanted.items():
        assert len(found[case]) == len(values)
        for step, (got, want) in enumerate(zip(found[case], values)):
            assert abs(got - want) <= share * size(want, values[0]), "%s, step %d: %r, want %r" % (case, step, found[case], values)
