"""The device under test, and a time-out for each test that dumps all stacks.

UPDRAFT_TEST_DEVICE=cpu lets PyTorch's CPU device stand in for npu: that tests the tests (those that need torch.npu are skipped)."""
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from _pytest.reports import TestReport
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent
DEVICE = os.environ.get("UPDRAFT_TEST_DEVICE", "npu")
THREADS = []  # of PyTorch in a fork


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): this client test's time-out (default 120 s)")
    config.addinivalue_line("markers", "timeout(seconds): of pytest-timeout")


def seconds_of(item):
    marker = item.get_closest_marker("limit")
    return marker.args[0] if marker else 120


def pytest_collection_modifyitems(items):
    """pytest-timeout, where it is installed, is the last resort: it ends the whole run, so it comes after our own."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(seconds_of(item) + 90))


def pytest_collection_finish(session):
    """Imported once here, so that the forks below do not each pay for it. Nothing here uses the device."""
    if any("device" in getattr(item, "fixturenames", ()) for item in session.items) and not session.config.option.collectonly:
        import torch  # noqa: F401
        if DEVICE.startswith("npu"):
            import torch_npu  # noqa: F401
        import torch._dynamo  # noqa: F401  the first step of any optimizer imports it: 0.9 s in each fork
        # A fork has none of OpenMP's threads and would wait for them: tests that run here are to make none.
        THREADS.append(torch.get_num_threads())
        torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """A test of the device runs in a fork: an error that poisons the device, or a crash, is its own affair.
    UPDRAFT_TEST_FORK=0 keeps all tests in one process, for a debugger."""
    if "device" not in getattr(item, "fixturenames", ()) or os.environ.get("UPDRAFT_TEST_FORK") == "0":
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in in_fork(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    # What an earlier test in this process set up, and the next one does not need, ends here as after any test.
    item.session._setupstate.teardown_exact(nextitem)
    return True


def in_fork(item):
    hook, config = item.config.hook, item.config
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        sys.stderr.flush()
        # pytest's faulthandler_timeout has begun a watchdog thread; a fork would inherit its lock without the thread, and wait
        # for it for ever when it sets its own time-out.
        faulthandler.cancel_dump_traceback_later()
        child = os.fork()
        if child == 0:
            status = 1
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: the fork ends with pytest
            try:
                if THREADS:
                    import torch
                    torch.set_num_threads(THREADS[0])
                # nextitem=None: the fork tears everything down, whatever the parent does next
                reports = runtestprotocol(item, nextitem=None, log=False)
                data = [hook.pytest_report_to_serializable(config=config, report=r) for r in reports]
                pickle.dump(data, file)
                file.flush()
                status = 0
            finally:
                os._exit(status)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        file.seek(0)
        data = file.read()
    if code == 0 and data:
        return [hook.pytest_report_from_serializable(config=config, data=d) for d in pickle.loads(data)]
    what = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code} (a hang is ended by its time-out)"
    return [TestReport(nodeid=item.nodeid, location=item.location, keywords={}, outcome="failed", when="call", longrepr=f"the test's process was {what}")]


@pytest.fixture(autouse=True)
def time_limit(request):
    seconds = seconds_of(request.node)

    def expired(number, frame):
        faulthandler.dump_traceback(file=sys.__stderr__, all_threads=True)
        pytest.fail(f"longer than {seconds} s", pytrace=True)

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    # A hang inside a library never returns to Python, so the signal is not enough.
    faulthandler.dump_traceback_later(seconds + 30, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def device():
    """The device as a string; torch_npu is imported for npu."""
    import torch  # noqa: F401
    if DEVICE.startswith("npu"):
        import torch_npu  # noqa: F401
    return DEVICE


@pytest.fixture(autouse=True)
def forks_stay_possible(request):
    """torch_npu cannot be used in a fork of a process that used it: whoever uses the device asks for the fixture."""
    yield
    torch = sys.modules.get("torch")
    alone = "device" in request.fixturenames or os.environ.get("UPDRAFT_TEST_FORK") == "0"
    if not alone and "torch_npu" in sys.modules and torch.npu.is_initialized():
        pytest.fail("this test used the device in pytest's own process: ask for the fixture `device` or `npu`")


@pytest.fixture
def npu(device):
    """For tests of what only torch.npu has."""
    import torch
    if not device.startswith("npu"):
        pytest.skip("needs torch.npu; UPDRAFT_TEST_DEVICE says " + device)
    torch.manual_seed(0)
    return torch.npu
