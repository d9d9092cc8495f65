"""What MindSpore asks of the C interface and no other client does, from plain C and used wrongly, too."""
import ctypes
import json
import os

import pytest
from programs import HERE, mindspore

LIBRARIES = HERE.parents[1] / "build/release/cann/lib64"


@pytest.fixture(scope="module")
def acl():
    library = ctypes.CDLL(str(LIBRARIES / "libupdraft.so"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
    for name in ("aclrtAllocatorCreateDesc", "acltdtCreateChannelWithCapacity", "acltdtCreateDataset", "acltdtCreateDataItem", "acltdtGetDataItem",
                 "acltdtGetDataAddrFromItem", "acltdtGetDatasetName"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("acltdtGetDataSizeFromItem", "acltdtGetDatasetSize", "acltdtGetDimNumFromItem"):
        getattr(library, name).restype = ctypes.c_size_t
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return library


def text(acl):
    return (acl.aclGetRecentErrMsg() or b"").decode()


def item(acl, data, dims=(2,), what=0):
    buffer = ctypes.create_string_buffer(data, len(data))
    sizes = (ctypes.c_int64 * len(dims))(*dims)
    return ctypes.c_void_p(acl.acltdtCreateDataItem(what, sizes, ctypes.c_size_t(len(dims)), 0, buffer, ctypes.c_size_t(len(data)))), buffer


def test_overflow_mode_before_any_device(acl):
    mode = ctypes.c_int32(-1)
    assert acl.aclrtSetDeviceSatMode(0) == 0
    assert acl.aclrtGetDeviceSatMode(ctypes.byref(mode)) == 0 and mode.value == 0
    assert acl.aclrtSetDevice(1) == 0
    assert acl.aclrtGetDeviceSatMode(ctypes.byref(mode)) == 0 and mode.value == 0  # the device began in it
    assert acl.aclrtSetDeviceSatMode(2) == 107000 and "want 0" in text(acl)
    assert acl.aclrtSetDeviceSatMode(1) == 0 and acl.aclrtResetDevice(1) == 0


def test_waiting_for_callbacks_leaves_no_text(acl):
    libc = ctypes.CDLL(None)
    libc.pthread_self.restype = ctypes.c_uint64
    stream = ctypes.c_void_p()
    assert acl.aclrtSetDevice(0) == 0 and acl.aclrtCreateStream(ctypes.byref(stream)) == 0
    thread = ctypes.c_uint64(libc.pthread_self())
    assert acl.aclrtSubscribeReport(thread, stream) == 0
    text(acl)
    assert acl.aclrtProcessReport(1) == 100036 and text(acl) == ""
    assert acl.aclrtUnSubscribeReport(thread, stream) == 0 and acl.aclrtDestroyStream(stream) == 0


def test_allocators_are_kept(acl):
    stream = ctypes.c_void_p()
    assert acl.aclrtSetDevice(0) == 0 and acl.aclrtCreateStream(ctypes.byref(stream)) == 0
    desc = ctypes.c_void_p(acl.aclrtAllocatorCreateDesc())
    assert acl.aclrtAllocatorRegister(stream, desc) == 107000 and "lacks" in text(acl)
    for number, name in enumerate(("Obj", "AllocFunc", "FreeFunc", "AllocAdviseFunc", "GetAddrFromBlockFunc"), 1):
        assert getattr(acl, "aclrtAllocatorSet%sToDesc" % name)(desc, ctypes.c_void_p(number)) == 0
    found = [ctypes.c_void_p() for _ in range(6)]
    assert acl.aclrtAllocatorGetByStream(stream, *map(ctypes.byref, found)) == 107000
    assert acl.aclrtAllocatorRegister(stream, desc) == 0
    assert acl.aclrtAllocatorGetByStream(stream, *map(ctypes.byref, found)) == 0
    assert [f.value for f in found] == [desc.value, 1, 2, 3, 4, 5]
    assert acl.aclrtAllocatorUnregister(stream) == 0 and acl.aclrtAllocatorDestroyDesc(desc) == 0
    assert acl.aclrtAllocatorDestroyDesc(desc) == 107017 and acl.aclrtDestroyStream(stream) == 0


def test_failures_reach_the_callback(acl):
    seen = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda info: seen.append(tuple(
        getattr(acl, "aclrtGet%sFromExceptionInfo" % name)(ctypes.c_void_p(info)) for name in ("DeviceId", "ErrorCode"))))
    assert acl.aclrtSetDevice(0) == 0 and acl.aclrtSetExceptionInfoCallback(callback) == 0
    x, index, out = (ctypes.c_void_p() for _ in range(3))
    for p in (x, index, out):
        assert acl.aclrtMalloc(ctypes.byref(p), ctypes.c_size_t(64), 0) == 0
    bad = (ctypes.c_int64 * 1)(1000)
    assert acl.aclrtMemcpy(index, ctypes.c_size_t(8), bad, ctypes.c_size_t(8), 1) == 0
    acl.aclCreateTensor.restype = ctypes.c_void_p

    def tensor(data, dtype, n):
        dims, one = (ctypes.c_int64 * 1)(n), (ctypes.c_int64 * 1)(1)
        return ctypes.c_void_p(acl.aclCreateTensor(dims, ctypes.c_uint64(1), dtype, one, ctypes.c_int64(0), 2, dims, ctypes.c_uint64(1), data))

    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert acl.aclnnIndexSelectGetWorkspaceSize(tensor(x, 0, 4), ctypes.c_int64(0), tensor(index, 9, 1), tensor(out, 0, 1), ctypes.byref(size),
                                                ctypes.byref(executor)) == 0
    assert acl.aclnnIndexSelect(None, ctypes.c_uint64(0), executor, None) == 0
    failed = acl.aclrtSynchronizeDevice()
    assert failed != 0 and seen == [(0, failed)]
    assert acl.aclrtSetExceptionInfoCallback(None) == 0
    assert acl.aclrtGetErrorCodeFromExceptionInfo(None) & 0xffffffff == 0xffffffff


def test_channels_carry_sets_of_tensors(acl):
    channel = ctypes.c_void_p(acl.acltdtCreateChannelWithCapacity(0, b"values", ctypes.c_size_t(1)))
    assert channel and not acl.acltdtCreateChannelWithCapacity(0, b"values", ctypes.c_size_t(1)) and "already" in text(acl)
    sent, came = ctypes.c_void_p(acl.acltdtCreateDataset()), ctypes.c_void_p(acl.acltdtCreateDataset())
    (first, _), (last, _) = item(acl, b"12345678"), item(acl, b"", (), 1)
    assert acl.acltdtAddDataItem(sent, first) == 0 and acl.acltdtAddDataItem(sent, last) == 0
    assert acl.acltdtReceiveTensor(channel, came, 1) == 207013 and text(acl) == ""
    assert acl.acltdtSendTensor(channel, sent, -1) == 0 and acl.acltdtSendTensor(channel, sent, 0) == 207014
    assert acl.acltdtDestroyDataItem(first) == 0 and acl.acltdtDestroyDataset(sent) == 0  # the channel has copies
    assert acl.acltdtReceiveTensor(channel, came, -1) == 0 and acl.acltdtGetDatasetSize(came) == 2
    got = ctypes.c_void_p(acl.acltdtGetDataItem(came, ctypes.c_size_t(0)))
    assert ctypes.string_at(acl.acltdtGetDataAddrFromItem(got), acl.acltdtGetDataSizeFromItem(got)) == b"12345678"
    assert acl.acltdtGetTensorTypeFromItem(ctypes.c_void_p(acl.acltdtGetDataItem(came, ctypes.c_size_t(1)))) == 1
    assert ctypes.string_at(acl.acltdtGetDatasetName(came)) == b"values"
    dims = (ctypes.c_int64 * 1)()
    assert acl.acltdtGetDimsFromItem(got, dims, ctypes.c_size_t(1)) == 0 and list(dims) == [2]
    assert acl.acltdtGetDimsFromItem(got, dims, ctypes.c_size_t(0)) == 100000
    assert acl.acltdtDestroyDataItem(got) == 100000  # it is the data set's own
    assert acl.acltdtStopChannel(channel) == 0 and acl.acltdtReceiveTensor(channel, came, -1) == 500000
    assert acl.acltdtDestroyChannel(channel) == 0 and acl.acltdtDestroyChannel(channel) == 100000
    again = ctypes.c_void_p(acl.acltdtCreateChannelWithCapacity(0, b"values", ctypes.c_size_t(1)))
    assert again and acl.acltdtDestroyChannel(again) == 0 and acl.acltdtDestroyDataset(came) == 0


def test_copies_with_bounds(acl):
    to = ctypes.create_string_buffer(b"abcdefgh", 8)
    n = ctypes.c_size_t
    assert acl.memcpy_s(to, n(8), b"123", n(3)) == 0 and to.raw == b"123defgh"
    assert acl.memcpy_s(to, n(2), b"123", n(3)) == 34 + 128 and to.raw == b"\0\0" b"3defgh"
    assert acl.memcpy_s(to, n(0), b"123", n(3)) == 34 and acl.memcpy_s(None, n(8), b"123", n(3)) == 22
    assert acl.memcpy_s(to, n(8), None, n(3)) == 22 + 128 and to.raw == bytes(8)
    assert acl.memcpy_s(to, n(8), ctypes.byref(to, 1), n(4)) == 54 + 128
    assert acl.memset_s(to, n(8), 7, n(4)) == 0 and to.raw == b"\7" * 4 + bytes(4)
    assert acl.memset_s(to, n(4), 1, n(5)) == 34 + 128 and to.raw == b"\1" * 4 + bytes(4)


def test_memory_has_no_errors(acl):
    count = ctypes.c_size_t(9)
    assert acl.aclrtGetMemUceInfo(0, None, ctypes.c_size_t(0), ctypes.byref(count)) == 0 and count.value == 0
    assert acl.aclrtMemUceRepair(0, None, ctypes.c_size_t(1)) == 107000


def test_items_that_are_none_are_told(acl):
    channel = ctypes.c_void_p(acl.acltdtCreateChannelWithCapacity(0, b"none", ctypes.c_size_t(1)))
    sent = ctypes.c_void_p(acl.acltdtCreateDataset())
    (gone, _) = item(acl, b"12345678")
    assert acl.acltdtAddDataItem(sent, gone) == 0 and acl.acltdtDestroyDataItem(gone) == 0
    assert acl.acltdtSendTensor(channel, sent, 0) == 100000 and "is not a data item" in text(acl)  # its memory is the client's again
    nowhere = ctypes.c_void_p(4096)
    for bad in (nowhere, gone, ctypes.c_void_p()):
        assert acl.acltdtGetDataSizeFromItem(bad) == 0 and acl.acltdtGetDimNumFromItem(bad) == 0 and not acl.acltdtGetDataAddrFromItem(bad)
        assert acl.acltdtGetTensorTypeFromItem(bad) == -1
        assert acl.acltdtGetDimsFromItem(bad, None, ctypes.c_size_t(0)) == acl.acltdtDestroyDataItem(bad) == (100000 if bad else 107000)
    assert acl.acltdtDestroyDataset(sent) == 0 and acl.acltdtDestroyChannel(channel) == 0


def text_tensor(characters):
    """As tensors hold a text: where its characters begin, how many there are, and these."""
    return (16).to_bytes(8, "little") + len(characters).to_bytes(8, "little") + characters


def test_tensors_and_texts_go_to_the_host(acl):
    """OutfeedEnqueueOpV2, by which MindSpore prints and dumps: in the order of its tensors, called as the client says."""
    for name in ("aclCreateTensorDesc", "aclCreateDataBuffer", "aclopCreateAttr"):
        getattr(acl, name).restype = ctypes.c_void_p
    assert acl.aclrtSetDevice(0) == 0
    channel = ctypes.c_void_p(acl.acltdtCreateChannelWithCapacity(0, b"printed", ctypes.c_size_t(4)))
    numbers = (ctypes.c_float * 4)(1, 2, 3, 4)
    given = [(13, (), text_tensor(b"x is")), (0, (2, 2), bytes(numbers)), (13, (), text_tensor(b"a name"))]
    placed, descs, buffers = [], [], []
    for kind, dims, data in given:
        memory = ctypes.c_void_p()
        assert acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(len(data)), 0) == 0
        assert acl.aclrtMemcpy(memory, ctypes.c_size_t(len(data)), data, ctypes.c_size_t(len(data)), 1) == 0
        placed.append(memory)
        descs.append(acl.aclCreateTensorDesc(kind, len(dims), (ctypes.c_int64 * 2)(*dims), 2))
        buffers.append(acl.aclCreateDataBuffer(memory, ctypes.c_size_t(len(data))))

    def send(to):
        attributes = ctypes.c_void_p(acl.aclopCreateAttr())
        assert acl.aclopSetAttrString(attributes, b"channel_name", to) == 0
        code = acl.aclopCompileAndExecute(b"OutfeedEnqueueOpV2", 3, (ctypes.c_void_p * 3)(*descs), (ctypes.c_void_p * 3)(*buffers), 0,
                                          None, None, attributes, 0, 0, None, None)
        acl.aclopDestroyAttr(attributes)
        return code or acl.aclrtSynchronizeStream(None)

    assert send(b"printed") == 0
    came = ctypes.c_void_p(acl.acltdtCreateDataset())
    assert acl.acltdtReceiveTensor(channel, came, 1000) == 0
    assert ctypes.string_at(acl.acltdtGetDatasetName(came)) == b"a name" and acl.acltdtGetDatasetSize(came) == 2
    seen = []
    for i in range(2):
        one = ctypes.c_void_p(acl.acltdtGetDataItem(came, ctypes.c_size_t(i)))
        seen.append((acl.acltdtGetDataTypeFromItem(one), acl.acltdtGetDimNumFromItem(one),
                     ctypes.string_at(acl.acltdtGetDataAddrFromItem(one), acl.acltdtGetDataSizeFromItem(one))))
    assert seen == [(13, 0, b"x is"), (0, 2, bytes(numbers))]
    assert send(b"nobody listens") != 0 and "there is no channel 'nobody listens'" in text(acl)
    acl.acltdtDestroyDataset(came)
    # A head that promises more characters than there are is refused.
    assert acl.aclrtMemcpy(placed[0], ctypes.c_size_t(16), (16).to_bytes(8, "little") + (1 << 40).to_bytes(8, "little"), ctypes.c_size_t(16), 1) == 0
    assert send(b"printed") != 0 and "says that it has more" in text(acl)
    for handle in descs:
        acl.aclDestroyTensorDesc(ctypes.c_void_p(handle))
    for handle in buffers:
        acl.aclDestroyDataBuffer(ctypes.c_void_p(handle))
    assert acl.acltdtDestroyChannel(channel) == 0
    for memory in placed:
        assert acl.aclrtFree(memory) == 0


@pytest.mark.parametrize("mode", ["pynative", "O0"])
def test_kept_executors_compute_anew(tmp_path, mode):
    """Numbers, sizes and memory change from call to call; MindSpore's indices of addresses differ from path to path."""
    out, _ = mindspore(tmp_path, "kept.py", mode)
    count, wrong = json.loads(out.splitlines()[-1])
    assert count >= 8 and not wrong
