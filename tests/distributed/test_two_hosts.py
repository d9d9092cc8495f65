"""Ranks on two hosts (network namespaces): the same checks go over the network, and torchrun starts them."""
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clients.subproc import ROOT, environment

from .launch import BACKEND, DEVICE, LONG, Launch, says
from .namespaces import free_port, two_hosts, why_not
from .native_job import home
from .registry import CHECKS, run_all
from .test_checks import Reports, load
from .test_faults import all_reduce_for_ever, loops

load()
REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

# what differs between memory and network: each kind of operation, groups that cross hosts or not, a model of each kind
OVER_THE_NETWORK = ["all_reduce", "reduce_to_each_root", "reduce_scatter_tensor", "reduction_is_the_same_bits_everywhere", "broadcast_from_each_root",
                    "all_gather", "all_gather_into_tensor", "scatter_from_each_root", "all_to_all_single", "all_to_all_single_with_uneven_splits",
                    "barriers", "send_and_receive", "a_ring_of_batches", "batches_with_several_messages_a_peer", "sub_groups",
                    "two_groups_in_opposite_order", "many_small_ones_in_flight", "objects", "fully_shard", "two_dimensional_mesh"]
if DEVICE == "npu":
    OVER_THE_NETWORK += ["uneven_all_gather", "uneven_reduce_scatter", "all_to_all_of_lists", "coalesced"]


@pytest.fixture(scope="module")
def hosts():
    with two_hosts() as found:
        yield found


@pytest.fixture(scope="module")
def over_network(request, hosts, tmp_path_factory):
    items = [i for i in request.session.items if i.module is request.module]
    return Reports(items, tmp_path_factory.mktemp("network"), hosts=hosts)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("ranks, name", [(4, n) for n in (OVER_THE_NETWORK if not LONG else [c.name for c in CHECKS.values() if 4 in c.ranks])])
def test_check(over_network, ranks, name):
    over_network.verdict(ranks, name)


@pytest.fixture(scope="module")
def three_and_one(request, hosts, tmp_path_factory):
    items = [i for i in request.session.items if i.originalname == "test_hosts_of_different_sizes" and i.module is request.module]
    names = [i.callspec.params["name"] for i in items]
    return run_all(tmp_path_factory.mktemp("unequal"), 4, names, hosts=[hosts[0]] * 3 + [hosts[1]])


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [n for n in OVER_THE_NETWORK if n not in ("fully_shard", "two_dimensional_mesh", "objects")] if not LONG
                         else OVER_THE_NETWORK)
def test_hosts_of_different_sizes(three_and_one, name):
    """Three ranks on one host, one on the other."""
    assert not three_and_one[name], three_and_one[name]


UCX = {"UPDRAFT_HCCL_TRANSPORT": "ucx"}
needs_ucx = pytest.mark.skipif(DEVICE != "npu" or not Path(home(), "lib64", "libupdraft_net_ucx.so").exists(),
                               reason="UCX (libucx-dev) was not there when Updraft was built")


@needs_ucx
@pytest.mark.timeout(300)
def test_by_ucx(hosts, tmp_path):
    names = ["all_reduce", "all_to_all_single_with_uneven_splits", "send_and_receive", "sub_groups", "many_small_ones_in_flight"]
    problems = run_all(tmp_path, 4, names, hosts=hosts, env=UCX)
    assert not any(problems.values()), problems


SCRIPT = """
import os, sys
import torch, torch.distributed as dist
if %(npu)s:
    import torch_npu
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group(%(backend)r)
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.full((100_000,), float(rank), device=%(device)r)
dist.all_reduce(x)
everything = [torch.empty(3, device=%(device)r) for _ in range(size)]
dist.all_gather(everything, x[:3] + rank)
assert x.eq(6).all() and [t[0].item() for t in everything] == [6, 7, 8, 9], (x, everything)
open(os.path.join(sys.argv[1], "rank-%%d" %% rank), "w").write(os.environ["LOCAL_RANK"] + os.environ["GROUP_RANK"])
dist.destroy_process_group()
"""


@pytest.mark.timeout(240)
def test_torchrun_on_two_nodes(hosts, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT % {"npu": DEVICE == "npu", "backend": BACKEND, "device": DEVICE})
    port = str(free_port(hosts[0]))
    agents = [subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2",
                                "--node-rank", str(n), "--master-addr", hosts[0][1], "--master-port", port, str(script), str(tmp_path)],
                               cwd=ROOT, env=environment(GLOO_SOCKET_IFNAME=interface), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
              for n, (name, _, interface) in enumerate(hosts)]
    try:
        texts = [agent.communicate(timeout=180)[0] for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
    assert [agent.returncode for agent in agents] == [0, 0], "\n".join(t[-4000:] for t in texts)
    assert [(tmp_path / f"rank-{r}").read_text() for r in range(4)] == ["00", "10", "01", "11"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("victim, transport", [(1, "tcp"), (3, "tcp"), pytest.param(3, "ucx", marks=needs_ucx)])
def test_a_killed_rank_on_either_host(hosts, tmp_path, victim, transport):
    """Rank 1 beside rank 0, rank 3 on the other host: all three survivors raise, and say who it was."""
    job = Launch(tmp_path, all_reduce_for_ever, 4, hosts=hosts, env={"TORCH_HCCL_ASYNC_ERROR_HANDLING": "0", "UPDRAFT_HCCL_TRANSPORT": transport})
    loops(job)
    job.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    survivors = [o for o in job.wait(20) if o.rank != victim]
    assert time.monotonic() - killed < 15, says(survivors)
    for o in survivors:
        assert o.error and "RuntimeError" in o.error, str(o)
        assert DEVICE == "cpu" or f"rank {victim}" in o.error, str(o)
