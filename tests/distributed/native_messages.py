"""One rank of a job that does every collective by every algorithm, so that its messages can be compared with hccl_sim's.

    native_messages.py TABLE RANK DEVICE COUNT KIND:ROOT,KIND:ROOT… ALGORITHM…

Kinds as hccl_sim names them, algorithms as HCCL_ALGO names them for a level; - for none. Each algorithm has a communicator of its own,
messages-0, messages-1…, in which the operations are numbered from 1 on.
"""
import ctypes
import sys
from ctypes import c_char, c_int32, c_uint8, c_uint32, c_uint64

from native import FLOAT, SUM, Rank
from uneven import blocks, matrix

UNSET = 0xFFFFFFFF


class Config(ctypes.Structure):
    """HcclCommConfig as HcclCommConfigInit leaves it, with a name and an algorithm."""
    _fields_ = [("size", c_uint64), ("magic", c_uint32), ("version", c_uint32), ("reserved", c_uint64), ("buffer", c_uint32),
                ("deterministic", c_uint32), ("name", c_char * 128), ("udi", c_char * 128), ("expansion", c_uint32),
                ("traffic_class", c_uint32), ("service_level", c_uint32), ("world_rank", c_uint32), ("job", c_uint64),
                ("zero_copy", c_uint8), ("timeout", c_int32), ("algorithm", c_char * 1600), ("retry", c_char * 50),
                ("retry_parameters", c_char * 128), ("buffer_name", c_char * 128), ("qos", c_uint32), ("window", c_uint64)]

    def __init__(self, name, algorithm):
        levels = "" if algorithm == "-" else f"level0:NA;level1:{algorithm};level2:{algorithm}"
        super().__init__(size=ctypes.sizeof(Config), magic=0xF0F0F0F0, version=10, buffer=UNSET, deterministic=UNSET, name=name.encode(),
                         traffic_class=UNSET, service_level=UNSET, timeout=-1, algorithm=levels.encode(), qos=UNSET, window=1 << 36)


def laid_out(counts):
    """Counts and offsets, as the interface has them."""
    offsets = [sum(counts[:i]) for i in range(len(counts))]
    return (c_uint64 * len(counts))(*counts), (c_uint64 * len(counts))(*offsets)


def main(table, me, device, count, operations, *algorithms):
    per_rank, count = int(count), c_uint64(int(count))
    rank = Rank(int(device))
    receive = ctypes.c_void_p(rank.data.value + (1 << 19))
    for number, algorithm in enumerate(algorithms):
        comm = ctypes.c_void_p()
        rank.call("HcclCommInitClusterInfoConfig", table.encode(), c_uint32(int(me)), ctypes.byref(Config(f"messages-{number}", algorithm)),
                  ctypes.byref(comm))
        whole, exchange = (count, FLOAT), (rank.data, count, FLOAT, receive, count, FLOAT)
        size = c_uint32()
        rank.call("HcclGetRankSize", comm, ctypes.byref(size))
        own, pairs = blocks(size.value, per_rank), matrix(size.value, per_rank)
        mine, every = c_uint64(own[int(me)]), laid_out(own)
        out, back = laid_out(pairs[int(me)]), laid_out([row[int(me)] for row in pairs])
        for kind, root in (word.split(":") for word in operations.split(",")):
            root = c_uint32(int(root))
            name, arguments = {
                "allreduce": ("HcclAllReduce", (rank.data, receive, *whole, SUM)), "allgather": ("HcclAllGather", (rank.data, receive, *whole)),
                "reducescatter": ("HcclReduceScatter", (rank.data, receive, *whole, SUM)), "alltoall": ("HcclAlltoAll", exchange),
                "broadcast": ("HcclBroadcast", (rank.data, *whole, root)), "reduce": ("HcclReduce", (rank.data, receive, *whole, SUM, root)),
                "scatter": ("HcclScatter", (rank.data, receive, *whole, root)), "barrier": ("HcclBarrier", ()),
                "allgatherv": ("HcclAllGatherV", (rank.data, mine, receive, *every, FLOAT)),
                "reducescatterv": ("HcclReduceScatterV", (rank.data, *every, receive, mine, FLOAT, SUM)),
                "alltoallv": ("HcclAlltoAllV", (rank.data, *out, FLOAT, receive, *back, FLOAT))}[kind]
            rank.call(name, *arguments, comm, rank.stream)
        rank.wait()
        rank.destroy(comm)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
