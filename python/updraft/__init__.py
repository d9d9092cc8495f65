"""Updraft: a virtual NPU under the official torch-npu wheels. Light on purpose: the preload hook imports this."""

import os

__version__ = "0.1.0"
CANN_VERSION = "9.1.0"


def home():
    """The CANN-shaped tree in use: UPDRAFT_CANN_HOME, else the one inside this package."""
    chosen = os.environ.get("UPDRAFT_CANN_HOME")
    return os.path.abspath(chosen) if chosen else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cann")


def library_dir():
    """Where libupdraft.so and the libraries that clients ask for lie."""
    return os.path.join(home(), "lib64")
