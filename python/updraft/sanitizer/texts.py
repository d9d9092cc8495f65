"""A finding in sentences: what happened, and what to do."""

from updraft._texts import t
from updraft.sanitizer.collect import frames, place

TITLES = {
    "race": ("Two streams, no order", "两个流之间没有先后关系"),
    "use-after-reuse": ("Memory given out again while a stream still uses it", "内存被重新分配时，仍有流在使用"),
    "use-after-free": ("Memory freed while it is still used", "内存释放后仍被使用"),
    "uninitialised": ("Memory read that nobody has written", "读取从未写入的内存"),
    "host-race": ("The host touches memory that a copy still uses", "主机访问仍被异步拷贝使用的内存"),
    "host-access": ("Host code touches device memory", "主机代码访问设备内存"),
    "out-of-bounds": ("Beyond the end of a tensor's memory", "超出张量内存边界"),
    "leak": ("Never given back", "未释放的资源"),
}


def count_of(finding):
    return t("once", "1 次") if finding.count == 1 else t("%d times", "%d 次") % finding.count


def title(kind):
    return t(*TITLES[kind])


def _stream(side):
    if side["stream"] is None:
        return t("the host", "主机")
    if side["stream"] < 0 and side.get("graph"):
        return t("another of its streams", "其中另一个流")
    if side["stream"] < 0:
        return t("a stream of the library", "库内部的流")
    return t("stream %d of device %d", "设备 %2$d 的流 %1$d".replace("%2$d", "%d").replace("%1$d", "%d")) % (
        (side["stream"], side["device"]) if t("en", "zh") == "en" else (side["device"], side["stream"]))


def side(one):
    """ "aclnnAdd on stream 3 of device 0 writes out, FLOAT[2,3] at 0x12c0 (24 bytes)"."""
    what = {"reads": t("reads", "读"), "writes": t("writes", "写"), "reads and writes": t("reads and writes", "读写")}[one["access"]]
    name = one["name"] if not one["call"] or one["call"] in one["name"] else "%s (%s)" % (one["name"], one["call"])
    if one.get("graph"):
        name += t(" in captured graph %d", "（捕获图 %d）") % one["graph"]
    if not one["tensor"]:
        return t("%s, %s", "%s，%s") % (name, _stream(one))
    return t("%s on %s %s %s, %s at %s (%d bytes)", "%s 在%s上%s %s，%s，地址 %s（%d 字节）") % (
        name, _stream(one), what, one["parameter"] or "memory", one["tensor"], one["address"], one["bytes"])


def sentence(f):
    m = f.memory
    if f.kind == "race":
        return t("Nothing orders the two: on a card they may run at the same time, and what is read or left there is chance.",
                 "两者之间没有任何同步：在真卡上可能同时执行，读到或留下的内容不确定。")
    if f.kind == "use-after-reuse":
        return t("The memory belonged to another tensor, was given back and given out again; the first operator, on another stream, may still be "
                 "using it.", "这块内存原属另一张量，归还后又被重新分配；前一个算子在另一个流上可能仍在使用。")
    if f.kind == "use-after-free":
        if f.first:
            return t("The memory is freed, and the host has not waited for the operator that uses it.", "内存被释放，而主机没有等待使用它的算子完成。")
        return t("The memory had been freed before.", "该内存此前已被释放。")
    if f.kind == "uninitialised":
        return t("From byte %d on of its memory nobody has written it: it holds what was there before.", "从该内存的第 %d 字节起从未写入，内容不确定。") % (
            m["offset"] if m else 0)
    if f.kind == "host-race":
        return t("The copy may still be on its way when the memory is used again.", "内存再次使用时，异步拷贝可能尚未完成。")
    if f.kind == "host-access":
        return t("Code of the host used the address %s, which is memory of device %d. On a card the process crashes there.",
                 "主机代码使用了设备 %2$s 的内存地址 %1$s；在真卡上进程会崩溃。".replace("%2$s", "%d").replace("%1$s", "%s")) % (
            (f.second["address"], f.second["device"]) if t("en", "zh") == "en" else (f.second["device"], f.second["address"]))
    if f.kind == "out-of-bounds":
        return f.detail
    what = {"stream": t("streams", "流"), "event": t("events", "事件"), "context": t("contexts", "上下文"), "notify": t("notifies", "notify"),
            "device memory": t("pieces of device memory", "块设备内存"), "host memory": t("pieces of pinned host memory", "块锁页主机内存"), "Tensor": "aclTensor", "Scalar": "aclScalar",
            "TensorList": "aclTensorList", "ScalarList": "aclScalarList", "IntArray": "aclIntArray", "FloatArray": "aclFloatArray",
            "BoolArray": "aclBoolArray", "executor": "aclOpExecutor"}.get(f.second["name"], f.second["name"])
    if f.detail.partition(" ")[2] and f.detail != f.second["name"]:
        what += " (%s)" % f.detail[len(f.second["name"]) + 1:]
    size = t(", %d bytes", "，共 %d 字节") % f.bytes if f.bytes else ""
    return t("%d %s%s were made and not given back at the end of the process.", "进程结束时仍有 %d 个%s%s未释放。") % (f.items, what, size)


def advice(kind):
    return {
        "race": t("Record an event behind the first (aclrtRecordEvent, stream.record_event) and let the second's stream wait for it "
                  "(aclrtStreamWaitEvent, stream.wait_event, stream.wait_stream), or synchronise.",
                  "在前者之后记录事件（aclrtRecordEvent、stream.record_event），让后者的流等待它（aclrtStreamWaitEvent、stream.wait_event、stream.wait_stream），或进行同步。"),
        "use-after-reuse": t("Call tensor.record_stream(stream) for the stream that uses it, or let the tensor's own stream wait for that one before "
                             "the tensor goes.", "对使用该张量的流调用 tensor.record_stream(stream)，或在张量释放前让其所属流等待该流。"),
        "use-after-free": t("Synchronise the stream (aclrtSynchronizeStream) before the memory is freed, and drop pointers to what is freed.",
                            "释放内存前先同步相应的流（aclrtSynchronizeStream），并不要再使用已释放的指针。"),
        "uninitialised": t("Fill it first (torch.zeros, fill_, aclrtMemset), or read only what was written.", "先填充（torch.zeros、fill_、aclrtMemset），或只读取写入过的部分。"),
        "host-race": t("Wait for the copy (stream.synchronize(), an event) before the host reads or changes that memory.",
                       "在主机读取或修改该内存前等待拷贝完成（stream.synchronize()、事件）。"),
        "host-access": t("Copy to the host first: aclrtMemcpy, tensor.cpu().", "先拷贝到主机：aclrtMemcpy、tensor.cpu()。"),
        "out-of-bounds": t("Mend sizes, strides or offset of the tensor, or the count of the copy.", "修正张量的 sizes、strides 或 offset，或拷贝的字节数。"),
        "leak": t("Destroy or free them: aclrtDestroyStream, aclrtDestroyEvent, aclrtDestroyContext, aclrtFree, "
                  "aclDestroyTensor, aclDestroyTensorList, aclDestroyScalar; launch an executor or give it to aclDestroyAclOpExecutor.",
                  "请释放：aclrtDestroyStream、aclrtDestroyEvent、aclrtDestroyContext、aclrtFree、"
                  "aclDestroyTensor、aclDestroyTensorList、aclDestroyScalar；执行器须启动或调用 aclDestroyAclOpExecutor。"),
    }[kind]


def memory(f):
    m = f.memory
    if not m:
        return ""
    where = t("memory of the host", "主机内存") if m["device"] < 0 else t("memory of device %d", "设备 %d 的内存") % m["device"]
    if m["block"]:  # how long it is the allocator does not say
        return t("%s: byte %d of the allocator's block at %s", "%s：分配器内存块（起始 %s）的第 %d 字节") % (
            (where, m["offset"], m["address"]) if t("en", "zh") == "en" else (where, m["address"], m["offset"]))
    return t("%s: byte %d of the allocation of %d bytes at %s", "%s：第 %d 字节，分配共 %d 字节，起始 %s") % (where, m["offset"], m["bytes"], m["address"])


def stacks(f):
    """Pairs of a heading and frames."""
    made = []
    if f.first:
        made.append((t("first", "前者"), f.first["where"]))
    if f.second:
        made.append((t("then", "后者") if f.first else t("where", "位置"), f.second["where"]))
    if f.memory:
        made.append((t("allocated", "分配于"), f.memory["allocated"]))
        made.append((t("freed", "释放于"), f.memory["freed"]))
    return [(heading, frames(stack)) for heading, stack in made if stack]


def as_text(record):
    lines = []
    for f in record.findings:
        ranks = f.ranks()
        of = t(", rank %s", "，rank %s") % ", ".join(ranks) if ranks else ""
        lines.append("== %s (%s%s, %s)" % (title(f.kind), f.kind, of, count_of(f)))
        for heading, one in ((t("first", "前者"), f.first), (t("then", "后者") if f.first else "", f.second)):
            if one and one["name"] and f.kind not in ("leak", "host-access"):
                lines.append("   %s%s" % (heading + ": " if heading else "", side(one)))
        lines.append("   " + sentence(f))
        if memory(f):
            lines.append("   " + memory(f))
        for heading, stack in stacks(f):
            shown = place(stack)
            if shown:
                lines.append("   %s: %s" % (heading, shown.replace("\n", "\n      ")))
        if f.kind in ("leak", "out-of-bounds", "host-access") and f.second and f.second["call"]:
            lines.append("   " + t("by %s", "来自 %s") % f.second["call"])
        lines.append("   " + t("What to do: ", "处理办法：") + advice(f.kind))
    return "\n".join(lines)
