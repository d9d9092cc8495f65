"""What goes wrong: a rank that dies, disagrees, never comes, or leaves. The others get an error that says who, not a hang."""
import os
import re
import signal
import time

import pytest
import torch
import torch.distributed as dist

from .launch import DEVICE, Launch, says

pytestmark = pytest.mark.timeout(120)
npu_only = pytest.mark.skipif(DEVICE != "npu", reason="about hccl")
# torch_npu's watchdog ends the process when a communicator fails; without it the error comes out of the next synchronisation
ERRORS_RAISE = {"TORCH_HCCL_ASYNC_ERROR_HANDLING": "0"}


def all_reduce_for_ever(world):
    x = world.tensor(torch.ones(100_000))
    for n in range(1_000_000_000):
        dist.all_reduce(x, dist.ReduceOp.MAX)
        world.synchronize()
        if n == 20:
            (world.folder / f"looping-{world.rank}").touch()


def loops(job, seconds=40):
    """Waits until all ranks are in their loop."""
    end = time.monotonic() + seconds
    while not all((job.folder / f"looping-{r}").exists() for r in range(job.ranks)):
        if job.poll() or time.monotonic() > end:
            job.stop()
            pytest.fail("the ranks did not come to their loop\n" + says(job.outcomes()), pytrace=False)
        time.sleep(0.01)


@pytest.mark.parametrize("victim", [0, 2])
def test_survivors_of_a_killed_rank_raise(tmp_path, victim):
    job = Launch(tmp_path, all_reduce_for_ever, 3, env=ERRORS_RAISE)
    loops(job)
    job.kill(victim)
    killed = time.monotonic()
    outcomes = job.wait(10)
    survivors = [o for o in outcomes if o.rank != victim]
    assert outcomes[victim].status == -signal.SIGKILL
    assert all(o.error and "RuntimeError" in o.error for o in survivors), f"{time.monotonic() - killed:.1f} s later\n{says(survivors)}"
    if DEVICE == "npu":
        for o in survivors:
            assert f"rank {victim}" in o.error, str(o)


def reads_after_a_death(world):
    """Never synchronises the device; asks for numbers as training scripts do."""
    x = world.tensor(torch.ones(1000))
    dist.all_reduce(x)
    x.cpu()
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    y = world.tensor(torch.ones(1000))
    dist.all_reduce(y)
    return (y * 2).cpu()[0].item()


def test_no_wrong_number_comes_out(tmp_path):
    """What depends on a failed collective fails: else a script saves a checkpoint of garbage before somebody ends it."""
    for attempt in range(5):
        outcome = Launch(tmp_path / str(attempt), reads_after_a_death, 2, env=ERRORS_RAISE).wait(20)[0]
        assert outcome.error and "RuntimeError" in outcome.error, f"got {outcome.value}\n{outcome}"


@npu_only
def test_the_watchdog_ends_the_survivors(tmp_path):
    """The wheel's default: nobody goes on with wrong numbers, and the log says why."""
    job = Launch(tmp_path, all_reduce_for_ever, 2)
    loops(job)
    job.kill(1)
    survivor = job.wait(20)[0]
    assert survivor.status not in (None, 0), str(survivor)
    assert "rank 1" in (survivor.error or "") + survivor.log, str(survivor)


def disagree(world, what):
    """Rank 1 differs in one thing; all were in step before."""
    x = world.tensor(torch.ones(1000))
    dist.all_reduce(x)
    world.synchronize()
    odd = world.rank == 1
    if what == "count":
        dist.all_reduce(x[:999] if odd else x)
    elif what == "dtype":
        dist.all_reduce(x.int() if odd else x)
    elif what == "operator":
        dist.all_reduce(x, dist.ReduceOp.MAX if odd else dist.ReduceOp.SUM)
    elif what == "root":
        dist.broadcast(x, 1 if odd else 0)
    elif what == "operation":
        dist.broadcast(x, 0) if odd else dist.all_reduce(x)
    elif what == "large count":
        y = world.tensor(torch.ones(1 << 20))
        dist.all_reduce(y[:-1] if odd else y)
    elif what == "message":
        if world.rank == 0:
            dist.send(x, 1)
        elif odd:
            dist.recv(x[:10], 0)
        else:
            return "not concerned"
    world.synchronize()
    return "nothing was raised"


@npu_only
@pytest.mark.parametrize("what", ["count", "dtype", "operator", "root", "operation", "large count", "message"])
def test_ranks_that_disagree_are_told(tmp_path, what):
    outcomes = Launch(tmp_path, disagree, 3, what, env=ERRORS_RAISE).wait(30)
    for o in outcomes:
        if what == "message" and o.rank == 2:
            continue
        assert o.error and "EI0005" in o.error, f"{what}\n{says(outcomes)}"
        # whoever looks names itself and the other; a third rank may name either of the two
        assert "rank 1 " in o.error and re.search("rank [02] ", o.error), f"who differs?\n{o}"


def rank_1_never_comes(world):
    x = world.tensor(torch.ones(1000))
    dist.all_reduce(x)
    world.synchronize()
    if world.rank == 1:
        world.store.wait(["told"])
        return None
    start = time.monotonic()
    try:
        dist.all_reduce(x)
        world.synchronize()
    finally:
        world.store.set("told", "")
        (world.folder / "seconds").write_text(str(time.monotonic() - start))


@npu_only
def test_a_rank_that_never_comes(tmp_path):
    outcomes = Launch(tmp_path, rank_1_never_comes, 2, env={**ERRORS_RAISE, "UPDRAFT_HCCL_EXEC_TIMEOUT": "2"}).wait(40)
    assert outcomes[0].error and "EI0002" in outcomes[0].error and "rank 1" in outcomes[0].error, says(outcomes)
    assert 1.5 < float((tmp_path / "seconds").read_text()) < 20


def rank_1_never_connects(world):
    if world.rank == 1:
        world.store.wait(["told"])
        world.store.set("heard", "")
        os._exit(7)  # it has nothing to leave, and rank 0, whose store it is, does not come to a last meeting
    try:
        dist.all_reduce(world.tensor(torch.ones(10)))
        world.synchronize()
    finally:
        world.store.set("told", "")
        world.store.wait(["heard"])  # the store goes with this process


@npu_only
def test_a_rank_that_never_connects(tmp_path):
    env = {**ERRORS_RAISE, "UPDRAFT_HCCL_CONNECT_TIMEOUT": "2"}
    outcomes = Launch(tmp_path, rank_1_never_connects, 2, env=env).wait(40)
    assert outcomes[0].error and re.search("EI0015|EI0006", outcomes[0].error), says(outcomes)
    assert outcomes[0].error.count("rank 1") or "ranks 1" in outcomes[0].error, f"who is missing?\n{outcomes[0]}"
    assert outcomes[1].status == 7, f"rank 1 was not left in peace\n{says(outcomes)}"


def abort_while_it_hangs(world, how):
    x = world.tensor(torch.ones(1000))
    dist.all_reduce(x)
    world.synchronize()
    if world.rank == 1:
        world.store.wait(["told"])
        return None
    dist.all_reduce(x, async_op=True)
    time.sleep(0.5)
    start = time.monotonic()
    try:
        if how == "abort":
            world.group._get_backend(world.device).abort_hccl_comm("a test")
        dist.destroy_process_group()
    except RuntimeError as error:  # the operation has failed; to say so is fine
        print("raised:", error)
    finally:
        world.store.set("told", "")
    return time.monotonic() - start


@npu_only
@pytest.mark.parametrize("how", ["abort", "time-out"])
def test_destroying_a_group_while_an_operation_hangs(tmp_path, how):
    """torch_npu's destroy waits for the stream first: either the abort or HCCL's own time-out ends that."""
    env = {**ERRORS_RAISE, "UPDRAFT_HCCL_EXEC_TIMEOUT": "2" if how == "time-out" else "1000"}
    outcomes = Launch(tmp_path, abort_while_it_hangs, 2, how, env=env).wait(40)
    assert outcomes[0].value is not None and outcomes[0].value < 20, says(outcomes)


def leave_early(world):
    """Rank 0 is done with the group while rank 1 still computes; nobody minds."""
    x = world.tensor(torch.full((1000,), float(world.rank)))
    dist.all_reduce(x)
    if world.rank:
        time.sleep(2)
    assert x[0].item() == 1
    dist.destroy_process_group()


def test_leaving_early_disturbs_nobody(tmp_path):
    outcomes = Launch(tmp_path, leave_early, 2).wait(40)
    assert [o.status for o in outcomes] == [0, 0], says(outcomes)


def a_group_again_and_again(world):
    """Destroying gives everything back: descriptors, mappings and threads do not grow with the rounds."""
    def held():
        maps = [line for line in open("/proc/self/maps") if "memfd" in line or "/dev/shm" in line]
        return len(os.listdir("/proc/self/fd")), len(maps), len(os.listdir("/proc/self/task"))

    figures = []
    for n in range(12):
        group = dist.new_group()
        x = world.tensor(torch.ones(100_000))
        dist.all_reduce(x, group=group)
        world.synchronize()
        assert x[-1].item() == world.size
        dist.destroy_process_group(group)
        world.meet(f"round {n}")
        time.sleep(0.2)
        figures.append(held())
    return figures


@npu_only
def test_groups_come_and_go(tmp_path):
    outcomes = Launch(tmp_path, a_group_again_and_again, 2).wait(60)
    assert all(o.status == 0 for o in outcomes), says(outcomes)
    for o in outcomes:
        # a step or two may be somebody's lazy beginning, a leak is one in each of nine rounds
        grown = [sum(later > before for before, later in zip(column, column[1:])) for column in zip(*o.value[2:])]
        assert max(grown) <= 3, f"descriptors, mappings, threads by round: {o.value}"


def stop_in(world, how):
    x = world.tensor(torch.ones(1 << 20))
    for n in range(1_000_000):
        dist.all_reduce(x, dist.ReduceOp.MAX)
        world.synchronize()
        if n == 20:
            (world.folder / f"looping-{world.rank}").touch()
        if how == "well" and n == 30:
            return


@pytest.mark.parametrize("how", ["well", "killed"])
def test_nothing_is_left(tmp_path, how):
    """No file in the run folder, TMPDIR or /dev/shm, and no process: after a good end, and after kill -9 of all ranks."""
    here, temporary = tmp_path / "run", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    before = set(os.listdir("/dev/shm"))
    job = Launch(tmp_path / "job", stop_in, 2, how, env={"UPDRAFT_RUN_DIR": str(here), "TMPDIR": str(temporary)})
    loops(job)
    if how == "killed":
        for rank in range(2):
            job.kill(rank)
    outcomes = job.wait(40)
    assert [o.status for o in outcomes] == ([0, 0] if how == "well" else [-9, -9]), says(outcomes)
    time.sleep(0.3)
    pids = [str(pid) for pid in job.pids.values()]
    left = [p for p in os.listdir("/proc") if p.isdigit() and session_of(p) in pids]
    assert not left, f"processes {left}"
    assert not [f for f in os.listdir(temporary)], f"TMPDIR: {os.listdir(temporary)}"
    assert not [f for f in set(os.listdir("/dev/shm")) - before if any(pid in f for pid in pids)]
    # devices/ holds the process table, whose records of the dead the next process removes
    files = [str(p.relative_to(here)) for p in here.rglob("*") if not p.is_dir()]
    assert not [f for f in files if not f.startswith("devices/")], f"run folder: {files}"


def session_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[3]
    except (FileNotFoundError, ProcessLookupError):
        return None
