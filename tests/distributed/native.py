"""One rank of a job that uses the C interface by ctypes: no torch, so that it starts in milliseconds.

    native.py SCRIPT [WORDS…]      SCRIPT: a function of this file; its last line is what it found out
"""
import ctypes
import os
import pathlib
import sys
import time

HOME = pathlib.Path(os.environ["UPDRAFT_CANN_HOME"])
COMMUNICATION = 507048
FLOAT, SUM, MAX = 4, 0, 2


class Failed(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code, self.text = code, text


class Rank:
    """A device, a stream and a buffer of floats."""

    def __init__(self, device):
        self.library = ctypes.CDLL(str(HOME / "lib64" / "libupdraft.so"))
        self.library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.stream, self.data = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("aclInit", None)
        self.call("aclrtSetDevice", ctypes.c_int32(device))
        self.call("aclrtCreateStream", ctypes.byref(self.stream))
        self.call("aclrtMalloc", ctypes.byref(self.data), ctypes.c_size_t(1 << 20), 0)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise Failed(code, (self.library.aclGetRecentErrMsg() or b"").decode())

    def put(self, values):
        host = (ctypes.c_float * len(values))(*values)
        self.call("aclrtMemcpy", self.data, ctypes.c_size_t(1 << 20), host, ctypes.c_size_t(4 * len(values)), 1)

    def get(self, n):
        host = (ctypes.c_float * n)()
        self.call("aclrtMemcpy", host, ctypes.c_size_t(4 * n), self.data, ctypes.c_size_t(4 * n), 2)
        return list(host)

    def wait(self):
        self.call("aclrtSynchronizeStream", self.stream)

    def all_reduce(self, comm, values):
        self.put(values)
        self.call("HcclAllReduce", self.data, self.data, ctypes.c_uint64(len(values)), FLOAT, SUM, comm, self.stream)
        self.wait()
        return self.get(len(values))

    def message(self, name, comm, n, peer):
        self.call(name, self.data, ctypes.c_uint64(n), FLOAT, ctypes.c_uint32(peer), comm, self.stream)

    def root_info(self, path, rank):
        info = ctypes.create_string_buffer(4108)
        path = pathlib.Path(path)
        if rank == 0:
            self.call("HcclGetRootInfo", info)
            path.with_suffix(".part").write_bytes(info.raw)
            path.with_suffix(".part").rename(path)
            return info
        while not path.exists():
            time.sleep(0.002)
        info.raw = path.read_bytes()
        return info

    def join(self, path, rank, ranks):
        comm = ctypes.c_void_p()
        self.call("HcclCommInitRootInfo", ctypes.c_uint32(ranks), self.root_info(path, rank), ctypes.c_uint32(rank), ctypes.byref(comm))
        return comm

    def part(self, parent, ranks, identity, me):
        comm = ctypes.c_void_p()
        self.call("HcclCreateSubCommConfig", ctypes.byref(parent), ctypes.c_uint32(len(ranks)), (ctypes.c_uint32 * len(ranks))(*ranks),
                  ctypes.c_uint64(identity), ctypes.c_uint32(me), None, ctypes.byref(comm))
        return comm

    def group(self, name):
        """The communicator of a group of hccl.manage.api."""
        comm, error = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        data = name.encode()
        code = self.library.updraft_hccl_group_communicator(data, ctypes.c_size_t(len(data)), ctypes.byref(comm), error, ctypes.c_size_t(4096))
        if code:
            raise Failed(code, error.value.decode())
        return comm

    def destroy(self, comm):
        self.call("HcclCommDestroy", comm)


def say(text):
    print(text, flush=True)


def groups(device):
    """Sums in the group of all, in pairs, in a group in another order, in one that was made twice."""
    sys.path.insert(0, str(HOME / "python" / "site-packages"))
    rank = Rank(int(device))
    from hccl.manage import api
    me, n = api.get_rank_id(), api.get_rank_size()
    world = rank.group("hccl_world_group")
    assert rank.group("hccl_world_group").value == world.value
    found = [rank.all_reduce(world, [me + 1.0, 1.0])]
    pairs = [[a, a + 1] for a in range(0, n, 2)]
    mine = pairs[me // 2]
    api.create_group(f"pair {me // 2}", 2, mine)
    found.append(rank.all_reduce(rank.group(f"pair {me // 2}"), [10.0 ** me]))
    backwards = list(reversed(range(n)))
    for turn in range(2):
        api.create_group("backwards", n, backwards)
        comm = rank.group("backwards")
        own = ctypes.c_uint32()
        rank.call("HcclGetRankId", comm, ctypes.byref(own))
        assert own.value == n - 1 - me == api.get_rank_id("backwards")
        rank.put([float(me)])
        rank.call("HcclBroadcast", rank.data, ctypes.c_uint64(1), FLOAT, ctypes.c_uint32(0), comm, rank.stream)
        rank.wait()
        found.append(rank.get(1))
        api.destroy_group("backwards")
    try:
        rank.group("backwards")
    except Failed as error:
        found.append(error.text.split(":")[0])
    found.append(rank.all_reduce(world, [2.0]))
    rank.destroy(world)
    say(found)


def only_group(device):
    sys.path.insert(0, str(HOME / "python" / "site-packages"))
    try:
        Rank(int(device)).group("hccl_world_group")
    except Failed as error:
        say(f"{error.code} {error.text}")


def after_the_root(path, me, victim_ends):
    """Rank 0 leaves for good; ranks 1 and 2 go on with messages; then rank 2 ends, and rank 1 waits for its word."""
    me, path = int(me), pathlib.Path(path)
    rank = Rank(me)
    comm = rank.join(path, me, 3)
    rank.all_reduce(comm, [1.0])
    if me == 0:
        rank.destroy(comm)
        return
    while not (path.parent / "root-ended").exists():
        time.sleep(0.002)
    peer = 3 - me
    for turn in range(4):
        if (turn + me) % 2:
            rank.put([float(turn)])
            rank.message("HcclSend", comm, 1, peer)
            rank.wait()
        else:
            rank.message("HcclRecv", comm, 1, peer)
            rank.wait()
            assert rank.get(1) == [float(turn)]
    if me == 2:
        if victim_ends == "leave":
            time.sleep(0.3)
            rank.destroy(comm)
            while not (path.parent / "heard").exists():
                time.sleep(0.01)
            return
        say("ready")
        time.sleep(1000)
    rank.message("HcclRecv", comm, 1, peer)
    try:
        rank.wait()
    except Failed as error:
        say(f"{time.clock_gettime(time.CLOCK_MONOTONIC)} {error.code} {error.text}")
    (path.parent / "heard").touch()


def reduce_until_it_fails(path, me, ranks, floats):
    """Says when, by the clock that all processes share."""
    me, ranks, floats = int(me), int(ranks), int(floats)
    rank = Rank(me)
    comm = rank.join(path, me, ranks)
    rank.put([1.0])
    try:
        for turn in range(1 << 40):
            rank.call("HcclAllReduce", rank.data, rank.data, ctypes.c_uint64(floats), FLOAT, MAX, comm, rank.stream)
            rank.wait()
            if turn == 20:
                say("ready")
    except Failed as error:
        say(f"{time.clock_gettime(time.CLOCK_MONOTONIC)} {error.code} {error.text}")


def part_without_one(path, me, victim):
    """All ranks but one form a communicator of all with the others; that one dies first."""
    me, victim = int(me), int(victim)
    rank = Rank(me)
    comm = rank.join(path, me, 4)
    rank.all_reduce(comm, [1.0])
    if me == victim:
        say("ready")
        time.sleep(1000)
    ranks = [1, 2, 3]
    if me == 0:
        time.sleep(60)
        return
    try:
        rank.part(comm, ranks, 7, ranks.index(me))
        say("joined")
    except Failed as error:
        say(f"{time.clock_gettime(time.CLOCK_MONOTONIC)} {error.code} {error.text}")


def part_without_the_root(path, me):
    """Ranks 1 to 3 are to form a communicator, to which rank 3 does not come."""
    me = int(me)
    rank = Rank(me)
    comm = rank.join(path, me, 4)
    rank.all_reduce(comm, [1.0])
    if me in (0, 3):
        say("ready")
        time.sleep(60)
        return
    try:
        rank.part(comm, [1, 2, 3], 7, me - 1)
        say("joined")
    except Failed as error:
        say(f"{time.clock_gettime(time.CLOCK_MONOTONIC)} {error.code} {error.text}")


def sum_of_all(device):
    """The sum of one from each rank of the job, or why not."""
    rank = Rank(int(device))
    try:
        say(rank.all_reduce(rank.group("hccl_world_group"), [1.0]))
    except Failed as error:
        say(f"{error.code} {error.text}")


def all_devices(preloaded):
    """HcclCommInitAll of three devices, of which one gets a thread (preloaded: a pthread_create that can be told to fail)."""
    rank = Rank(0)

    def make():
        comms = (ctypes.c_void_p * 3)()
        rank.call("HcclCommInitAll", ctypes.c_uint32(3), (ctypes.c_int32 * 3)(0, 1, 2), comms)
        for comm in comms:
            rank.destroy(ctypes.c_void_p(comm))

    make()
    ctypes.CDLL(preloaded).fail_after(1)
    try:
        make()
    except Failed as error:
        say(f"{error.code} {error.text}")
    ctypes.CDLL(preloaded).fail_after(-1)
    make()
    say("and again")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
