"""Groups of ranks that wait for commands and say how long each took: torch.distributed, gloo's C++, and MPI.

As a program it is one rank of torch.distributed: ranks.py npu|cpu, with RANK and so on in the environment.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Group:
    """Processes that read a command a line and answer with seconds. A call gives the slowest's."""

    def __init__(self, commands):
        self.processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
                          for command, env in commands]

    def __call__(self, *words):
        line = json.dumps(words) + "\n"
        for p in self.processes:
            p.stdin.write(line)
            p.stdin.flush()
        answers = [p.stdout.readline() for p in self.processes]
        if not all(answers):
            raise RuntimeError(f"a rank ended during {words}")
        return max(json.loads(a) for a in answers)

    def close(self):
        for p in self.processes:
            p.stdin.close()
        for p in self.processes:
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torch_group(device, ranks, hosts=(), **variables):
    """hosts: (network namespace, address, interface) of each; the ranks are divided among them. Else all on this one."""
    port, here, each = str(free_port()), ranks // max(1, len(hosts)), []
    for r in range(ranks):
        host = hosts[r // here] if hosts else None
        command = [*(["ip", "netns", "exec", host[0]] if host else []), sys.executable, str(HERE / "ranks.py"), device]
        each.append((command, dict(os.environ, RANK=str(r), LOCAL_RANK=str(r % here), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(here),
                                   MASTER_ADDR=hosts[0][1] if hosts else "127.0.0.1", MASTER_PORT=port,
                                   **({"GLOO_SOCKET_IFNAME": host[2]} if host else {}), **variables)))
    return Group(each)


def compiled(folder, source, *command):
    """Path of the program that `command` makes of a source here; None, and a line that says why, where it does not."""
    program = pathlib.Path(folder, pathlib.Path(source).stem)
    if not shutil.which(command[0]):
        print(f"without {source}: no {command[0]}", file=sys.stderr)
        return None
    built = subprocess.run([command[0], "-O2", "-o", program, HERE / source, *command[1:]], capture_output=True, text=True)
    if built.returncode:
        why = next((x for x in built.stderr.splitlines() if "error" in x), "?")
        print(f"without {source}, which does not compile: {why}", file=sys.stderr)
        return None
    return program


def mpi_program(folder):
    """OpenMPI's peer; None without openmpi-bin and libopenmpi-dev."""
    return compiled(folder, "mpi.c", "mpicc") if shutil.which("mpirun") else None


def gloo_program(folder):
    """gloo's peer through its own C++ interface; None without libgloo-dev."""
    return compiled(folder, "gloo.cpp", "g++", "-std=c++17", "-lgloo")


class MPIGroup(Group):
    def __init__(self, program, ranks):
        super().__init__([(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), str(program)], dict(os.environ))])

    def __call__(self, operation, size, repeat):
        p = self.processes[0]
        p.stdin.write(f"{operation} {size} {repeat}\n")
        p.stdin.flush()
        answer = p.stdout.readline()
        if not answer:
            raise RuntimeError(f"MPI ended during {operation}")
        return float(answer)


class GlooGroup(Group):
    """Its ranks meet in a new folder beside the program."""

    def __init__(self, program, ranks):
        folder = tempfile.mkdtemp(dir=program.parent)
        super().__init__([([str(program), folder, str(r), str(ranks)], dict(os.environ)) for r in range(ranks)])


# ---- one rank ----

def operations(torch, distributed, device, ranks):
    made = {}

    def tensor(elements, name):
        if (elements, name) not in made:
            made[elements, name] = torch.zeros(elements, device=device)
        return made[elements, name]

    def run(operation, size):
        n = max(1, size // 4)
        large, part = tensor(n, "large"), tensor(max(1, n // ranks), "part")
        if operation == "all_reduce":
            distributed.all_reduce(large)
        elif operation == "all_gather":
            distributed.all_gather_into_tensor(large, part)
        elif operation == "reduce_scatter":
            distributed.reduce_scatter_tensor(part, large)
        elif operation == "broadcast":
            distributed.broadcast(large, 0)
        elif operation == "alltoall":
            distributed.all_to_all_single(tensor(n, "other"), large)
        else:
            raise ValueError(operation)

    return run


class Training:
    """ResNet-18 under DistributedDataParallel."""

    def __init__(self, torch, device, local_rank):
        sys.path.insert(0, str(HERE.parents[1]))
        from torch.nn.parallel import DistributedDataParallel

        from tests.clients.training import models
        torch.manual_seed(0)
        self.torch = torch
        model = models.resnet18().train().to(device)
        self.model = DistributedDataParallel(model, device_ids=[local_rank] if device != "cpu" else None)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        self.x, self.y = torch.randn(8, 3, 128, 128).to(device), torch.randint(10, (8,)).to(device)
        self.gradients = sum(p.numel() for p in model.parameters())

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.torch.nn.functional.cross_entropy(self.model(self.x), self.y).backward()
        self.optimizer.step()

    def local_step(self):
        with self.model.no_sync():
            self.step()


def rank(device):
    answers, sys.stdout = sys.stdout, sys.stderr
    ranks, local = int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])
    import torch
    import torch.distributed as distributed
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // ranks))
    if device == "npu":
        import torch_npu  # noqa: F401
        torch.npu.set_device(local)
        device, wait = f"npu:{local}", torch.npu.synchronize
        distributed.init_process_group("hccl")
    else:
        def wait():
            pass
        distributed.init_process_group("gloo")
    run, training = operations(torch, distributed, device, ranks), None
    # The barrier that ranks begin together from: the same kind everywhere, outside of the timed part.
    start_line = torch.zeros(1, device=device)
    for line in sys.stdin:
        operation, size, repeat = json.loads(line)
        if operation.startswith("ddp"):
            training = training or Training(torch, device, local)
            work = {"ddp": training.step, "ddp_local": training.local_step,
                    "ddp_gradients": lambda: run("all_reduce", training.gradients * 4)}[operation]
        else:
            def work():
                run(operation, size)
        distributed.all_reduce(start_line)
        wait()
        start = time.perf_counter()
        for _ in range(repeat):
            work()
            if size <= 1024 and not operation.startswith("ddp"):
                wait()  # latency: each by itself
        wait()
        seconds = (time.perf_counter() - start) / repeat
        print(json.dumps(seconds), file=answers, flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    rank(sys.argv[1])
