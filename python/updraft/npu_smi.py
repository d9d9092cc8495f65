"""npu-smi: the queries of the real tool that build scripts and monitors parse, answered by the virtual devices.

`npu-smi info` keeps the real tool's rows: ggml's CMake reads the chip's name from row 7, column 3.
"""

import sys

from updraft import CANN_VERSION, __version__, _machine
from updraft._texts import t

WIDTHS = (27, 15, 52)
TOTAL = sum(WIDTHS) + 2
MIB = 1 << 20


def _line(fill="-", joint="+"):
    return "+" + joint.join(fill * w for w in WIDTHS) + "+"


def _row(*cells):
    return "|" + "|".join((" " + c).ljust(w)[:w] for c, w in zip(cells, WIDTHS)) + "|"


def _wide(text):
    return "|" + (" " + text).ljust(TOTAL)[:TOTAL] + "|"


def chip():
    """"910B2" for Ascend910B2."""
    name = _machine.soc()
    return name[len("Ascend"):] if name.startswith("Ascend") else name


def table():
    count, total = _machine.devices(), _machine.device_memory() // MIB
    running = [_machine.processes(n) for n in range(count)]
    title = "npu-smi %s (Updraft %s)" % (CANN_VERSION, __version__)
    rows = [
        "+" + "-" * TOTAL + "+",
        _wide(title.ljust(33) + "Version: " + CANN_VERSION),
        _line(),
        _row("NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"),
        _row("Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"),
        _line("="),
    ]
    for n in range(count):
        used = sum(p["used_bytes"] for p in running[n]) // MIB
        rows.append(_row("%-6d%s" % (n, chip()), "OK", "%-12s%-18s0    / 0" % ("-", "-")))
        rows.append(_row("0", "0000:%02X:00.0" % (n % 256), "%-12s0    / 0          %-5d/ %d" % ("-", used, total)))
        rows.append(_line("="))
    rows += [
        _line(),
        _row("NPU     Chip", "Process id", "Process name             | Process memory(MB)"),
        _line("="),
    ]
    for n in range(count):
        for p in running[n]:
            detail = "%-24.24s | %d" % (p["name"], p["used_bytes"] // MIB)
            rows.append(_row("%-8d0" % n, str(p["pid"]), detail))
        if not running[n]:
            rows.append(_wide("No running processes found in NPU %d" % n))
        rows.append(_line("="))
    return "\n".join(rows)


def _pairs(*pairs):
    return "\n".join("\t%-30s : %s" % pair for pair in pairs)


def listing():
    parts = [_pairs(("Total Count", _machine.devices()))]
    parts += [_pairs(("NPU ID", n), ("Product Name", "Updraft"), ("Chip Count", 1)) for n in range(_machine.devices())]
    return "\n\n".join(parts)


def mapping():
    row = "\t%-30s %-30s %-30s %s"
    rows = [row % ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")]
    return "\n".join(rows + [row % (n, 0, n, "Ascend " + chip()) for n in range(_machine.devices())])


def detail(kind, device):
    used, total = sum(p["used_bytes"] for p in _machine.processes(device)), _machine.device_memory()
    if kind == "board":
        return _pairs(("NPU ID", device), ("Chip ID", 0), ("Chip Type", "Ascend"), ("Chip Name", chip()),
                      ("Software Version", CANN_VERSION), ("Product Name", "Updraft"))
    if kind in ("memory", "usages"):
        return _pairs(("NPU ID", device), ("Chip Count", 1), ("HBM Capacity(MB)", total // MIB),
                      ("HBM Usage Rate(%)", used * 100 // max(total, 1)))
    if kind == "proc-mem":
        return "\n\n".join([_pairs(("NPU ID", device))] + [
            _pairs(("Process id", p["pid"]), ("Process name", p["name"]),
                   ("Process memory(MB)", p["used_bytes"] // MIB)) for p in _machine.processes(device)])
    return None


def _usage():
    return t(
        "usage: npu-smi info [-l | -m | -t board|memory|usages|proc-mem -i DEVICE [-c CHIP]]\n"
        "The virtual devices of Updraft have no fans, clocks or firmware to set.",
        "用法: npu-smi info [-l | -m | -t board|memory|usages|proc-mem -i 设备号 [-c 芯片号]]\n"
        "Updraft 的虚拟设备没有可设置的风扇、频率或固件。")


def _info(args):
    if not args:
        return table()
    if args == ["-l"]:
        return listing()
    if args == ["-m"]:
        return mapping()
    options = dict(zip(args[::2], args[1::2]))
    if len(args) % 2 or not {"-t", "-i"} <= set(options) <= {"-t", "-i", "-c"} or options.get("-c", "0") != "0":
        return None
    device = options["-i"]
    return detail(options["-t"], int(device)) if device.isdigit() and int(device) < _machine.devices() else None


def main(argv=None):
    args = list(sys.argv[1:] if argv is None else argv)
    if args in (["-v"], ["--version"]):
        print("npu-smi version: %s (Updraft %s)" % (CANN_VERSION, __version__))
        return 0
    if args in (["-h"], ["--help"]):
        print(_usage())
        return 0
    text = _info(args[1:]) if args[:1] == ["info"] else None
    if text is None:
        print(_usage(), file=sys.stderr)
        return 1
    try:
        print(text, flush=True)
    except BrokenPipeError:  # | head
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
