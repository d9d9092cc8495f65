"""What the host offers: memory, instruction sets, virtual devices."""

import os
import platform
import re

DEFAULT_DEVICES = 8
DEFAULT_SOC = "Ascend910B2"
SIZE = re.compile(r"^\s*(\d+)\s*([KMGT]?)(?:i?B)?\s*$", re.IGNORECASE)

V2 = {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}
V3 = V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def parse_size(text):
    """"512M", "2G", "1048576" to bytes; None when malformed."""
    match = SIZE.match(text)
    return int(match.group(1)) << (10 * " KMGT".index(match.group(2).upper() or " ")) if match else None


def devices():
    try:
        return max(1, min(1024, int(os.environ.get("UPDRAFT_DEVICES", DEFAULT_DEVICES))))
    except ValueError:
        return DEFAULT_DEVICES


def soc():
    return os.environ.get("UPDRAFT_SOC") or DEFAULT_SOC


def _number(path):
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def machine_memory():
    """min(RAM, cgroup limit) in bytes."""
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [_number("/sys/fs/cgroup/memory.max"), _number("/sys/fs/cgroup/memory/memory.limit_in_bytes")]
    return min([ram] + [n for n in limits if n])


def device_memory():
    """The bytes of one device: UPDRAFT_MEMORY, else 80 % of the machine's."""
    return parse_size(os.environ.get("UPDRAFT_MEMORY", "")) or machine_memory() * 8 // 10


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def isa():
    """(level, extras): the kernels that will be chosen; level None when the CPU is too old."""
    flags = cpu_flags()
    if platform.machine() not in ("x86_64", "AMD64"):
        return "NEON", sorted(flags & {"asimdhp", "bf16", "sve"})
    for level, needs in (("x86-64-v4", V4), ("x86-64-v3", V3), ("x86-64-v2", V2)):
        if needs <= flags:
            return level, sorted(flags & {"avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile"})
    return None, []


def run_dir():
    """Where running processes leave one locked record a device: UPDRAFT_RUN_DIR, else per user."""
    chosen = os.environ.get("UPDRAFT_RUN_DIR")
    base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    return chosen or os.path.join(base, "updraft-%d" % os.getuid())


def processes(device):
    """Records of living processes on a device. A record whose lock can be taken was left by a dead one."""
    import fcntl
    import json

    folder = os.path.join(run_dir(), "devices", str(device))
    found = []
    try:
        names = sorted((n for n in os.listdir(folder) if n.isdigit()), key=int)
    except OSError:
        return found
    for name in names:
        try:
            with open(os.path.join(folder, name)) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    continue
                except BlockingIOError:
                    record = json.load(file)
            found.append({"pid": int(record["pid"]), "name": str(record["name"]), "used_bytes": int(record["used_bytes"])})
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found
