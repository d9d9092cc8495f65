"""The modules that write into the log: what their errors are about and where to look first. In the order in which things happen in a run."""

from collections import namedtuple

Module = namedtuple("Module", "names about about_zh advice advice_zh")

MODULES = (
    Module(("ASCENDCL",), "calls of the C interface that were refused", "被拒绝的 C 接口调用",
           "The line names the function and says what was wrong; a framework usually puts the same text into its exception.",
           "该行给出函数名和原因；框架通常会把同样的文本放入异常。"),
    Module(("RUNTIME",), "the device: its initialisation, and tasks while they run", "设备：初始化以及任务执行",
           "At the beginning: is the device there, and taken by another process (npu-smi info)? Later: the task that failed is named; it failed when "
           "it ran, not where it was called (ASCEND_LAUNCH_BLOCKING=1 brings the two together).",
           "启动时：设备是否存在、是否被其他进程占用（npu-smi info）。运行中：日志会给出失败任务；失败发生在执行时而非调用处（ASCEND_LAUNCH_BLOCKING=1 可对齐二者）。"),
    Module(("GE", "FE", "TEFUSION", "TBE"), "graphs: checks, shapes, compilation", "图：检查、形状推导、编译",
           "The text names the node: change the script or the model there, or keep the node out of the graph. DUMP_GE_GRAPH=2 writes the graph.",
           "日志指出节点：修改脚本或模型的对应部分，或不让该节点进入图。DUMP_GE_GRAPH=2 可写出图。"),
    Module(("OP",), "operators", "算子", "Shapes, types and values that came stand in the line. updraft op NAME tries one alone.",
           "该行给出形状、类型和取值；可用 updraft op NAME 单独试验。"),
    Module(("HCCL",), "collectives: how ranks meet, and what they exchange", "集合通信：建链与数据交换",
           "One device works and several fail: start here. Look at the rank that failed first; the others only say that it has gone.",
           "单卡正常、多卡失败时从这里查起。先看最先失败的 rank；其他 rank 只会报告它已离开。"),
    Module(("TDT",), "channels between host and device", "主机与设备间的数据通道", "The side that ended first says why.", "以先结束的一侧为准。"),
    Module(("PROFILING", "MSPROF", "ADUMP"), "profiling and dump", "性能采集与数据 dump", "The text names the setting.", "日志指出配置项。"),
)


def module_of(name):
    return next((m for m in MODULES if name in m.names), None)
