"""Of all areas: what is marked `long` is for the long form, and tests that send Ctrl-C to a program want it to be heard. A shell that runs
them in the background has it ignored, which programs inherit."""
import os
import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    if os.environ.get("UPDRAFT_TEST_LONG"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="long form only (UPDRAFT_TEST_LONG=1)"))
