"""Scripts on the virtual NPU without paying for the import of torch and torch_npu each time: a process that has them forks
for each script. No device was touched before, so that a child begins as a process of its own does.

Libraries read UPDRAFT_*, ASCEND_* and OMP_NUM_THREADS of the environment when they are loaded: there is a process for each
combination of these that is asked for.
"""

import atexit
import json
import os
import pathlib
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback


class Warm:
    """warm.run(script, *arguments, cwd=, env=, timeout=): a subprocess.CompletedProcess with texts."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.servers = {}
        self.lock = threading.Lock()

    def _server(self, env):
        key = tuple(sorted((k, v) for k, v in env.items() if k.startswith(("UPDRAFT_", "ASCEND_", "OMP_", "TORCH_"))))
        with self.lock:
            if key not in self.servers:
                path = os.path.join(self.folder.name, "socket%d" % len(self.servers))
                process = subprocess.Popen([sys.executable, __file__, path], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                assert process.stdout.readline() == b"ready\n", "torch cannot be imported"
                self.servers[key] = process, path
            return self.servers[key][1]

    def run(self, script, *arguments, cwd, env=None, timeout=300):
        env = dict(os.environ if env is None else env)
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout + 30)
            connection.connect(self._server(env))
            job = {"argv": [str(script), *map(str, arguments)], "cwd": str(cwd), "env": env, "timeout": timeout,
                   "stdout": os.path.join(folder, "out"), "stderr": os.path.join(folder, "err")}
            connection.sendall(json.dumps(job).encode() + b"\n")
            answer = connection.makefile().readline()
            assert answer, "the process that runs scripts is gone"
            status = os.waitstatus_to_exitcode(int(answer))
            out, err = (pathlib.Path(job[name]).read_text(errors="replace") for name in ("stdout", "stderr"))
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(job["argv"], timeout, out, err)
        return subprocess.CompletedProcess(job["argv"], status, out, err)

    def close(self):
        for process, _ in self.servers.values():
            process.stdin.close()
            process.stdout.close()
            process.wait(30)
        self.folder.cleanup()


def become(job):
    """This process is the script's from here on, and ends as it does, less the second that Python takes to clear away torch."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    sys.argv = job["argv"]
    script = os.path.abspath(job["argv"][0])
    sys.path[0] = os.path.dirname(script)
    signal.alarm(job["timeout"])  # ends it: nothing handles this signal
    status = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def serve(path):
    import torch  # noqa: F401
    import torch_npu  # noqa: F401
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    print("ready", flush=True)
    while True:
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            break  # who started it has closed the pipe, or ended
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            ended = 1
            while ended:  # of earlier scripts
                ended = os.waitpid(-1, os.WNOHANG)[0]
            continue
        listener.close()
        job = json.loads(connection.makefile().readline())
        child = os.fork()
        if not child:
            connection.close()
            os.setsid()
            return job
        status = os.waitpid(child, 0)[1]
        try:
            os.killpg(child, signal.SIGKILL)  # what it left behind
        except ProcessLookupError:
            pass
        connection.sendall(b"%d\n" % status)
        os._exit(0)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        os._exit(0)


if __name__ == "__main__":
    become(serve(sys.argv[1]))
