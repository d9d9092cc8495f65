"""An event between two processes, both plain programs of the C interface: the second waits for what the first records."""
import ctypes
import subprocess
import sys
import time
from pathlib import Path

IPC, WAIT_TIMEOUT = 0x40, 107019
CHILD = """
import ctypes, sys
sys.path.insert(0, sys.argv[2])
from test_shared_events import Handle, library
acl, event = library(sys.argv[1]), ctypes.c_void_p()
assert acl.aclrtSetDevice(0) == 0
handle = Handle.from_buffer_copy(bytes.fromhex(sys.argv[3]))
assert acl.aclrtIpcOpenEventHandle(handle, ctypes.byref(event)) == 0
print(acl.aclrtSynchronizeEventWithTimeout(event, 20), flush=True)
stream = ctypes.c_void_p()
assert acl.aclrtCreateStream(ctypes.byref(stream)) == 0 and acl.aclrtStreamWaitEvent(stream, event) == 0
sys.stdin.readline()
print(acl.aclrtSynchronizeStreamWithTimeout(stream, 30000), acl.aclrtSynchronizeEventWithTimeout(event, 30000), flush=True)
"""


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]


def library(path):
    acl = ctypes.CDLL(str(path))
    acl.aclrtIpcOpenEventHandle.argtypes = [Handle, ctypes.c_void_p]
    return acl


def test_another_process_waits(lib_dir):
    path = lib_dir / "libascendcl.so"
    acl, stream, event, handle = library(path), ctypes.c_void_p(), ctypes.c_void_p(), Handle()
    go = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def wait(_):
        while not go:
            time.sleep(0.001)
    acl.aclInit(None)
    assert acl.aclrtSetDevice(0) == 0 and acl.aclrtCreateStream(ctypes.byref(stream)) == 0
    assert acl.aclrtCreateEventExWithFlag(ctypes.byref(event), IPC) == 0
    assert acl.aclrtIpcGetEventHandle(event, ctypes.byref(handle)) == 0
    assert acl.aclrtLaunchHostFunc(stream, wait, None) == 0 and acl.aclrtRecordEvent(event, stream) == 0
    key = bytes(handle).hex()
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(Path(__file__).parent), key], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().strip() == str(WAIT_TIMEOUT)
        go.append(True)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline().split() == ["0", "0"]
        assert child.wait(30) == 0
    finally:
        go.append(True)
        child.kill()
        assert acl.aclrtDestroyEvent(event) == 0
