"""Hosts on one machine: network namespaces joined by virtual cables. Needs root (CAP_NET_ADMIN, CAP_SYS_ADMIN) and iproute2.

    python -m tests.distributed.namespaces N COMMAND…     runs the command with --host ADDRESS=WORDS behind it for each of N hosts, as
                                                          hccl_sim --measure takes them
"""
import contextlib
import os
import shutil
import subprocess
import sys
import time


def ip(*words):
    return subprocess.run(["ip", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)


def why_not():
    """None, or why namespaces cannot be made here."""
    if not shutil.which("ip"):
        return "there is no program ip: apt-get install iproute2"
    name = f"updraft-{os.getpid()}-probe"
    made = ip("netns", "add", name)
    if made.returncode:
        return f"network namespaces are not permitted here: {made.stdout.strip()}"
    cable = ip("-n", name, "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")
    ip("netns", "del", name)
    return f"virtual cables are not permitted here: {cable.stdout.strip()}" if cable.returncode else None


def must(*words):
    done = ip(*words)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stdout}"


def carrier(name, interface):
    """Waits until the interface is up for programs: the kernel says so up to a second late, and UCX takes no other."""
    end = time.monotonic() + 20
    while "state UP" not in ip("-n", name, "link", "show", interface).stdout:
        assert time.monotonic() < end, f"{interface} does not come up"
        time.sleep(0.02)


def free_port(host):
    """A port that nothing on that host listens on."""
    name, address, _ = host
    program = f"import socket; s = socket.socket(); s.bind(({address!r}, 0)); print(s.getsockname()[1])"
    done = subprocess.run(["ip", "netns", "exec", name, sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@contextlib.contextmanager
def two_hosts():
    """[(namespace, address, interface), …]; everything goes when the block ends."""
    names = [f"updraft-{os.getpid()}-{n}" for n in range(2)]
    hosts = [(name, f"10.213.7.{n + 1}", f"host{n}") for n, name in enumerate(names)]
    try:
        for name in names:
            must("netns", "add", name)
            must("-n", name, "link", "set", "lo", "up")
        must("-n", names[0], "link", "add", "host0", "type", "veth", "peer", "name", "host1", "netns", names[1])
        for name, address, interface in hosts:
            must("-n", name, "addr", "add", f"{address}/24", "dev", interface)
            must("-n", name, "link", "set", interface, "up")
        for name, _, interface in hosts:
            carrier(name, interface)
        yield hosts
    finally:
        for name in names:
            ip("netns", "del", name)


@contextlib.contextmanager
def several_hosts(count):
    """[(namespace, address), …], each on a cable to a bridge that is in a namespace of its own."""
    names = [f"updraft-{os.getpid()}-{n}" for n in range(count)]
    middle = f"updraft-{os.getpid()}-bridge"
    try:
        must("netns", "add", middle)
        must("-n", middle, "link", "add", "bridge0", "type", "bridge")
        must("-n", middle, "link", "set", "bridge0", "up")
        for n, name in enumerate(names):
            must("netns", "add", name)
            must("-n", name, "link", "set", "lo", "up")
            must("-n", middle, "link", "add", f"port{n}", "type", "veth", "peer", "name", f"host{n}", "netns", name)
            must("-n", middle, "link", "set", f"port{n}", "master", "bridge0", "up")
            must("-n", name, "addr", "add", f"10.213.8.{n + 1}/24", "dev", f"host{n}")
            must("-n", name, "link", "set", f"host{n}", "up")
        for n, name in enumerate(names):
            carrier(name, f"host{n}")
        yield [(name, f"10.213.8.{n + 1}") for n, name in enumerate(names)]
    finally:
        for name in [*names, middle]:
            ip("netns", "del", name)


if __name__ == "__main__":
    with several_hosts(int(sys.argv[1])) as found:
        words = [word for name, address in found for word in ("--host", f"{address}=ip netns exec {name}")]
        status = subprocess.run([*sys.argv[2:], *words]).returncode
    sys.exit(status)
