"""How ranks hear of each other's end when the root does not tell: it has left, or the communicator is still to come."""
import signal
import time

import pytest

from tests.distributed.native_job import Process

pytestmark = pytest.mark.timeout(120)
# Seconds for what takes milliseconds; less than any time-out and any pause between two looks of the library, so that nobody hears of
# it that way.
MARGIN = 4


@pytest.fixture
def start():
    processes = []

    def one(*words, **variables):
        processes.append(Process(words, **variables))
        return processes[-1]

    yield one
    for process in processes:
        process.kill()


def heard(process, since, *texts):
    """The survivor's line: in time, and with these texts."""
    when, code, text = process.line(tuple("0123456789")).split(" ", 2)
    assert float(when) - since < MARGIN, text
    assert all(t in text for t in texts), text
    return int(code)


@pytest.mark.parametrize("how", ["killed", "leave"])
def test_after_the_root_has_left(start, tmp_path, how):
    """Only messages are possible then; who waits for one from a rank that ends is told by the kernel."""
    ranks = [start("after_the_root", tmp_path / "root", r, how) for r in range(3)]
    assert ranks[0].end() == 0, ranks[0].lines
    (tmp_path / "root-ended").touch()
    since = time.monotonic()
    if how == "killed":
        ranks[2].line("ready")
        time.sleep(0.3)  # rank 1 waits
        since = time.monotonic()
        ranks[2].process.send_signal(signal.SIGKILL)
    word = "rank 2 has died" if how == "killed" else "rank 2 has left"
    assert heard(ranks[1], since, "EI0002", word) == 507048
    assert ranks[1].end() == 0


@pytest.mark.parametrize("victim", [1, 3])
def test_a_part_with_a_rank_that_died_before_it_joined(start, tmp_path, victim):
    """Rank 1 is where the part's root would be."""
    ranks = [start("part_without_one", tmp_path / "root", r, victim) for r in range(4)]
    ranks[victim].line("ready")
    time.sleep(0.3)  # the others wait for it
    since = time.monotonic()
    ranks[victim].process.send_signal(signal.SIGKILL)
    for r in {1, 2, 3} - {victim}:
        assert heard(ranks[r], since, f"rank {victim}") in (9, 21)


def test_a_part_that_waits_for_a_rank_when_the_root_dies(start, tmp_path):
    """Whoever has not come by then cannot hear any more where the others meet."""
    ranks = [start("part_without_the_root", tmp_path / "root", r) for r in range(4)]
    ranks[0].line("ready")
    time.sleep(0.3)  # 1 and 2 wait for 3
    since = time.monotonic()
    ranks[0].process.send_signal(signal.SIGKILL)
    for r in (1, 2):
        assert heard(ranks[r], since, "rank 0") in (9, 21)
