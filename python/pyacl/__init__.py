"""pyACL: AscendCL from Python. Handles and addresses are ints; codes come last: ptr, ret = acl.rt.malloc(size, policy)."""

from acl._acl import *  # noqa: F403

_ABSENT = {"himpi": "images and video (DVPP V2)", "fv": "retrieval of features"}


def __getattr__(name):
    if name in _ABSENT:
        raise AttributeError("acl.%s, %s, is not part of the virtual NPU yet (docs/use/pyacl.md)" % (name, _ABSENT[name]))
    raise AttributeError("module 'acl' has no attribute %r" % name)
