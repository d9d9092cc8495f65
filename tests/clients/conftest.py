"""The device under test, and a time-out for each test that dumps all stacks.

UPDRAFT_TEST_DEVICE=cpu lets PyTorch's CPU device stand in for npu: that tests the tests (those that need torch.npu are skipped)."""
import faulthandler
import os
import signal
import sys

import pytest

DEVICE = os.environ.get("UPDRAFT_TEST_DEVICE", "npu")


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): this client test's time-out (default 120 s)")


@pytest.fixture(autouse=True)
def time_limit(request):
    marker = request.node.get_closest_marker("limit")
    seconds = marker.args[0] if marker else 120

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


@pytest.fixture
def npu(device):
    """For tests of what only torch.npu has."""
    import torch
    if not device.startswith("npu"):
        pytest.skip("needs torch.npu; UPDRAFT_TEST_DEVICE says " + device)
    torch.manual_seed(0)
    return torch.npu
