"""The hook as it is installed: in an environment of its own, started in the ways in which Python can be started."""

import os
import shutil
import subprocess
import sys
import textwrap
import venv
import zipapp

import pytest

from conftest import FACADES, PACKAGE, PTH, clean_environment

LOADED = "'/libupdraft.so' in open('/proc/self/maps').read()"


class Environment:
    def __init__(self, path):
        venv.create(path, with_pip=False, symlinks=True)
        self.path, self.python = path, path / "bin" / "python"
        self.site = next(path.glob("lib/python3*/site-packages"))

    def install(self, tree):
        shutil.copytree(PACKAGE, self.site / "updraft", ignore=shutil.ignore_patterns("tree", "__pycache__"))
        shutil.copytree(tree, self.site / "updraft" / "cann", ignore=shutil.ignore_patterns("*.c"))
        shutil.copy(PTH, self.site)
        (self.site / "torch_npu.py").write_text("import ctypes\nlibrary = ctypes.CDLL('libascendcl.so')\n")
        (self.site / "torch.py").write_text("import torch_npu\n")

    def run(self, *args, **env):
        env = clean_environment(**env)
        del env["PYTHONPATH"]  # the package is found as an installed one is, or not at all
        done = subprocess.run([str(self.python), *map(str, args)], env=env, text=True, capture_output=True, timeout=120,
                              cwd=str(self.path))
        return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.fixture(scope="session")
def installed(built_tree, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("installed"))
    environment.install(built_tree)
    return environment


@pytest.fixture
def own(built_tree, tmp_path):
    """An installation to break."""
    environment = Environment(tmp_path / "own")
    environment.install(built_tree)
    return environment


@pytest.mark.parametrize("options", [[], ["-I"], ["-E"], ["-s"], ["-B"], ["-O"], ["-X", "utf8"]])
def test_ways_to_start_python(installed, options):
    assert installed.run(*options, "-c", "import torch_npu; print(%s)" % LOADED) == (0, "True", "")


def test_without_site_there_is_no_hook(installed):
    """python -S reads no .pth file: the client finds no library, and says so itself."""
    status, _, error = installed.run("-S", "-c", "import sys; sys.path.append(%r); import torch_npu" % str(installed.site))
    assert status == 1 and "libascendcl.so" in error and "updraft:" not in error


def test_zipapp(installed, tmp_path):
    source = tmp_path / "app"
    source.mkdir()
    (source / "__main__.py").write_text("import torch\nprint(%s)\n" % LOADED)
    zipapp.create_archive(source, tmp_path / "app.pyz")
    assert installed.run(tmp_path / "app.pyz") == (0, "True", "")


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_workers(installed, tmp_path, method):
    script = tmp_path / "work.py"
    script.write_text(textwrap.dedent("""
        import multiprocessing

        def work(queue):
            import torch_npu
            queue.put(%s)

        if __name__ == "__main__":
            context = multiprocessing.get_context(%r)
            queue = context.Queue()
            workers = [context.Process(target=work, args=(queue,)) for _ in range(2)]
            [w.start() for w in workers]
            print([queue.get(timeout=60) for w in workers])
            [w.join() for w in workers]
    """) % (LOADED, method))
    status, out, error = installed.run(script)
    assert (status, out) == (0, "[True, True]"), error


def test_a_child_by_another_name_of_python(installed, tmp_path):
    """sys.executable -c, as launchers start ranks; the parent has imported nothing."""
    code = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', 'import torch']).returncode)"
    assert installed.run("-c", code) == (0, "", "")


def test_the_hook_is_there_once(installed, tmp_path):
    """The folder of the .pth is a site folder twice, e.g. of a nested environment."""
    code = ("import site, sys; site.addsitedir(%r); print([getattr(f, '__name__', '') for f in sys.meta_path].count('UpdraftPreload'))"
            % str(installed.site))
    assert installed.run("-c", code) == (0, "1", "")


def test_disabled(installed):
    status, _, error = installed.run("-c", "import torch_npu", UPDRAFT_DISABLE=1)
    assert status == 1 and "libascendcl.so" in error and "updraft:" not in error


def test_a_configured_cann_is_used(installed, built_tree, tmp_path):
    """Its own libascendcl.so, by LD_LIBRARY_PATH as its set_env.sh sets it, is what the client gets."""
    real = tmp_path / "ascend-toolkit" / "latest"
    (real / "lib64").mkdir(parents=True)
    source = tmp_path / "real.c"
    source.write_text("int real_cann;\n")
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-Wl,-soname,libascendcl.so", "-o",
                    str(real / "lib64" / "libascendcl.so")], check=True)
    code = "import torch_npu; print(hasattr(torch_npu.library, 'real_cann'), %s)" % LOADED
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        status, out, error = installed.run("-c", code, **{variable: real, "LD_LIBRARY_PATH": real / "lib64"})
        assert (status, out) == (0, "True False")
        assert error == "updraft: %s=%s is another CANN: stepping aside (unset it to use the virtual NPU)" % (variable, real)


@pytest.mark.parametrize("damage", ["package gone", "hook gone", "hook damaged", "tree gone", "library damaged", "facade damaged"])
def test_a_damaged_installation(own, damage):
    """Python starts silently, and an import of a client says one line."""
    package = own.site / "updraft"
    if damage == "package gone":
        shutil.rmtree(package)
    elif damage == "hook gone":
        (package / "_hook.py").unlink()
    elif damage == "hook damaged":
        (package / "_hook.py").write_text("def client(\n")
    elif damage == "tree gone":
        shutil.rmtree(package / "cann")
    else:
        name = "libupdraft.so" if damage == "library damaged" else FACADES[0]
        (package / "cann" / "lib64" / name).write_text("no library\n")
    (own.site / "torch_npu.py").write_text("")
    assert own.run("-c", "import json, this") == own.run("-S", "-c", "import json, this")
    status, out, error = own.run("-c", "import torch_npu, torch; print('alive')")
    assert (status, out) == (0, "alive")
    lines = set(error.splitlines())
    assert len(lines) == 1 and "updraft doctor" in error and lines.pop().startswith("updraft: ")


def test_a_module_called_updraft_in_the_working_folder(own, tmp_path):
    (own.path / "updraft.py").write_text("x = 1\n")
    (own.site / "torch_npu.py").write_text("")
    status, out, error = own.run("-c", "import torch_npu; print('alive')")
    assert (status, out) == (0, "alive") and error.startswith("updraft: ")


def test_removal_leaves_python_as_it_was(own):
    shutil.rmtree(own.site / "updraft")
    os.unlink(own.site / PTH.name)
    status, _, error = own.run("-c", "import sys; print(len(sys.meta_path)); import torch_npu")
    assert status == 1 and "updraft" not in error
