"""What follows from a record. Each check is a function of it that gives findings or none; CHECKS is the order of the page.

A finding has a level: "fails" (the card refuses it, or its results are not what was meant), "slow" (it works and costs time), "note".
Its evidence is rows of text: what, how often, and where in the user's code.
"""

from dataclasses import asdict, dataclass, field

from updraft._texts import t
from updraft.readiness.collect import place

LEVELS = ("fails", "slow", "note")
MOST_ROWS = 12


@dataclass
class Finding:
    id: str
    level: str
    title: str
    meaning: str  # why it matters on a card
    advice: str
    columns: tuple
    rows: list = field(default_factory=list)

    def json(self):
        return asdict(self)


# GiB of the products' memory: what the device plugins of Kubernetes allot of them (HAMi, docs/ascend910b-support.md; 910A, 910B2 to B4)
# and Huawei Connect 2025 (950PR). Of the others nothing reliable is published, or they come in several sizes: nothing is said of these.
MEMORY = {"Ascend910A": 32, "Ascend910B2": 64, "Ascend910B3": 64, "Ascend910B4": 32, "Ascend950PR_9589": 128}

# What torch_npu has for operators in a row (src/observe/readiness/chains.cpp).
FUSED = {
    "attention": ("torch.nn.functional.scaled_dot_product_attention, torch_npu.npu_fusion_attention",
                  lambda: t("a product, softmax, and a product again", "矩阵乘、softmax、再矩阵乘")),
    "swiglu": ("torch_npu.npu_swiglu", lambda: t("silu, and a multiplication", "silu 后接乘法")),
    "rms_norm": ("torch_npu.npu_rms_norm", lambda: t("the mean of squares, its root, and a multiplication", "平方均值、开方倒数、乘法")),
    "rotary": ("torch_npu.npu_rotary_mul", lambda: t("halves exchanged and joined, and a multiplication", "两半互换、拼接、乘法")),
    "layer_norm": ("torch.nn.functional.layer_norm", lambda: t("mean and variance, taken off and divided by", "减均值、除以标准差")),
    "gelu": ("torch.nn.functional.gelu", lambda: t("erf, plus one, and a multiplication", "erf 加一后相乘")),
    "gelu_tanh": ("torch.nn.functional.gelu(approximate='tanh')", lambda: t("the third power, tanh, plus one, and a multiplication", "三次方、tanh、加一、相乘")),
    "geglu": ("torch_npu.npu_geglu", lambda: t("gelu, and a multiplication", "gelu 后接乘法")),
    "group_norm_silu": (lambda: t("torch_npu.npu_group_norm_silu (without gradient)", "torch_npu.npu_group_norm_silu（无梯度）"),
                        lambda: t("group_norm, and silu", "group_norm 后接 silu")),
    "masked_softmax": ("torch_npu.npu_scaled_masked_softmax", lambda: t("a scale, a mask that is added, and softmax", "缩放、加掩码、softmax")),
    "gating": (lambda: t("torch_npu.npu_moe_gating_top_k_softmax (without gradient)", "torch_npu.npu_moe_gating_top_k_softmax（无梯度）"),
               lambda: t("softmax, and its largest", "softmax 后取最大的 k 个")),
    "clip": (lambda: t("clip_grad_norm_fused_ of torch_npu.optim's optimizers", "torch_npu.optim 优化器的 clip_grad_norm_fused_"),
             lambda: t("the norm of all gradients (clip_grad_norm_)", "所有梯度的范数（clip_grad_norm_）")),
    "sgd": ("torch_npu.optim.NpuFusedSGD", lambda: t("the steps of SGD with momentum over lists of parameters", "逐步执行的带动量 SGD 参数列表更新")),
    "adam": ("torch_npu.optim.NpuFusedAdamW, NpuFusedAdam",
             lambda: t("the steps of Adam one by one over lists of parameters", "逐步执行的 Adam 参数列表更新")),
}


def percent(part, whole):
    return "%.1f %%" % (100 * part / whole) if whole else "-"


def milliseconds(nanoseconds):
    return "%.1f ms" % (nanoseconds / 1e6)


def somewhere(row):
    return place(row["where"]) or t("(no line of Python: a backward pass, or the library itself)", "（无 Python 行：反向传播或库内部）")


def by_place(counted):
    """Rows of where and how often, the most frequent first."""
    return [(somewhere(r), str(r["count"])) for r in sorted(counted, key=lambda r: -r["count"])]


def refused(record):
    rows = [(r["operator"], r["why"], somewhere(r)) for r in record.refusals]
    if rows:
        yield Finding("refused", "fails", t("%s does not take these data types", "%s 不支持这些数据类型") % record.product,
                      t("They are computed here, which is more than the product's public documents list. On the card the call fails.",
                        "此处可以计算，但超出该型号公开文档所列范围；在真卡上调用会失败。"),
                      t("Convert to a type from the list (for float64: .float()), or compute this part on the CPU. UPDRAFT_FIDELITY=card "
                        "makes the run stop at each of them.", "转换为列出的类型（float64 用 .float()），或在 CPU 上计算该部分。"
                        "UPDRAFT_FIDELITY=card 会让运行在每处停下。"),
                      (t("operator", "算子"), t("reason", "原因"), t("first at", "首次出现")), rows)


def lost_gradients(record):
    rows = by_place(record.lost_gradients)
    if rows:
        yield Finding("lost-gradients", "fails", t("Gradients that the optimizer does not see", "优化器看不到的梯度"),
                      t("torch_npu's fused optimizers step by a buffer with the gradients of the first step. model.zero_grad(), which transformers' "
                        "Trainer calls, lets go of these: the next ones lie elsewhere, and each step takes the old ones again, on a card as here, "
                        "without an error.", "torch_npu 的融合优化器按一个缓冲区更新，其中是第一步的梯度。model.zero_grad()（transformers 的 Trainer "
                        "会调用它）放弃这些梯度：之后的梯度在别处，每一步都再次使用旧的，真卡上同样如此，且不报错。"),
                      t("Call optimizer.zero_grad() in its place, or model.zero_grad(set_to_none=False); for Trainer, optim=\"adamw_torch\".",
                        "改用 optimizer.zero_grad()，或 model.zero_grad(set_to_none=False)；Trainer 请用 optim=\"adamw_torch\"。"),
                      (t("step at", "更新位置"), t("times", "次数")), rows)


def missing(record):
    rows = [(name, str(n)) for name, n in sorted(record.missing.items())]
    if rows:
        yield Finding("missing", "note", t("Functions that the virtual NPU has not got", "虚拟 NPU 尚未实现的函数"),
                      t("The program asked for them and was refused. A card has them: this says nothing about your script.",
                        "程序调用后被拒绝。真卡具备这些函数：这与您的脚本无关。"),
                      t("docs/reference/support.md lists what there is.", "docs/reference/support.md 列出已有内容。"),
                      (t("function", "函数"), t("calls", "次数")), rows)


def fallbacks(record):
    rows = by_place(record.fallbacks)
    if rows:
        yield Finding("cpu-fallback", "slow", t("Operators that torch_npu computes on the CPU", "torch_npu 在 CPU 上计算的算子"),
                      t("Each call waits for the device, copies its operands to the host and the results back.",
                        "每次调用都要等待设备、把操作数拷到主机、再把结果拷回。"),
                      t("Replace them by operators that the NPU has, move them out of the loop, or do them in the data pipeline.",
                        "改用 NPU 支持的算子，移出循环，或放到数据预处理中。"),
                      (t("where", "位置"), t("times", "次数")), rows)


# Modules move their parameters one by one, once.
_ONCE = {"_apply", "load_state_dict", "_load_from_state_dict", "_lazy_init", "state_dict"}


def waits(record):
    of_fallbacks = {place(r["where"]) for r in record.fallbacks}
    lines, total = {}, 0
    for w in record.waits:
        where = place(w["where"])
        if not where or where in of_fallbacks or any(f["function"] in _ONCE for f in w["where"]):
            continue
        line = lines.setdefault(where, {"calls": set(), "count": 0, "nanoseconds": 0})
        line["calls"].add(w["call"])
        line["count"] = max(line["count"], w["count"])
        line["nanoseconds"] += w["nanoseconds"]
    lines = {where: line for where, line in lines.items() if line["count"] >= 10}  # a few are how programs begin and end
    rows = [(where, ", ".join(sorted(line["calls"])), str(line["count"]), milliseconds(line["nanoseconds"]))
            for where, line in sorted(lines.items(), key=lambda x: -x[1]["nanoseconds"])]
    total = sum(line["nanoseconds"] for line in lines.values())
    if rows:
        yield Finding("host-waits", "slow", t("Lines at which the host waits for the device", "主机等待设备的代码行"),
                      t("Until the device has caught up no further operator is launched, and then the device waits for the host. Here they took "
                        "%s of the run.", "在设备追上之前不会下发新的算子，随后设备又要等待主机。本次运行中占 %s。") % percent(total, record.span),
                      t("Read values (.item(), .cpu(), print of a tensor, conditions on tensors) once in many steps; copy from pinned memory "
                        "with non_blocking=True.", "隔多步再读取数值（.item()、.cpu()、打印张量、以张量为条件）；使用锁页内存并设 non_blocking=True。"),
                      (t("where", "位置"), t("call", "调用"), t("times", "次数"), t("waited here", "此处等待")), rows)


def keeps_changing(signature):
    """New shapes came to the end. Layers of different sizes bring different shapes, too, but all of them in the first step."""
    calls = signature["count"]
    if calls < 100:
        return False
    if signature["more_shapes"]:
        return True
    quarters = [0, 0, 0, 0]
    for at in signature["new_at"]:
        quarters[min(3, 4 * (at - 1) // calls)] += 1
    return min(quarters[1:]) >= 2


def changing_shapes(record):
    lines = {}
    for s in sorted(record.signatures, key=lambda s: -len(s["shapes"])):
        if keeps_changing(s):
            lines.setdefault(place(s["where"]), s)
    if set(lines) - {""}:
        lines.pop("", None)  # the backward pass of the others
    rows = [(s["operator"], s["types"], ("> " if s["more_shapes"] else "") + str(len(s["shapes"])), str(s["count"]), somewhere(s))
            for s in lines.values()]
    if rows:
        yield Finding("changing-shapes", "slow", t("Shapes that keep changing", "不断变化的形状"),
                      t("A compiled graph, an aclop and a captured NPUGraph are made anew for each shape, and memory is fragmented.",
                        "编译图、aclop 和已捕获的 NPUGraph 会因每个新形状重新生成，内存也会碎片化。"),
                      t("Pad to a few sizes (buckets), use drop_last=True, or compile with dynamic=True.",
                        "填充到少数几种尺寸（分桶），使用 drop_last=True，或以 dynamic=True 编译。"),
                      (t("operator", "算子"), t("types", "类型"), t("shapes", "形状数"), t("calls", "次数"), t("first at", "首次出现")), rows)


def by_name(record):
    rows = [(o["name"], str(o["count"]), percent(o["nanoseconds"], record.busy)) for o in record.operators if o["by_name"]]
    if rows:
        yield Finding("aclop", "slow", t("Operators through the aclop interface", "通过 aclop 接口执行的算子"),
                      t("The card compiles them at their first use for each shape, which takes seconds. Ascend950 has no such interface.",
                        "真卡在每个形状首次使用时编译，需要数秒；Ascend950 没有该接口。"),
                      t("torch.npu.set_compile_mode(jit_compile=False) makes torch_npu take aclnn operators where there are any.",
                        "torch.npu.set_compile_mode(jit_compile=False) 会让 torch_npu 优先使用 aclnn 算子。"),
                      (t("operator", "算子"), t("calls", "次数"), t("share of time here", "此处时间占比")), rows)


def aicpu(record):
    first = {}
    for s in record.signatures:
        first.setdefault(s["operator"], s)
    rows = [(o["name"], str(o["count"]), somewhere(first[o["name"]]) if o["name"] in first else "")
            for o in sorted(record.operators, key=lambda o: -o["count"]) if o["engine"] == "AICPU" and o["count"] >= 5]
    if rows:
        yield Finding("aicpu", "slow", t("Operators that a card runs on its AI CPU", "真卡在 AI CPU 上执行的算子"),
                      t("The AI CPU is a general processor with few cores, much slower than the units for vectors; some of these operators also "
                        "tell the host a size and make it wait.", "AI CPU 是核数很少的通用处理器，远慢于矢量单元；其中一些还要把大小告知主机而造成等待。"),
                      t("Masks by torch.where or multiplication in place of nonzero and index by bool; sort and unique outside of the step.",
                        "用 torch.where 或乘法代替 nonzero 与布尔索引；把 sort、unique 移出训练步。"),
                      (t("operator", "算子"), t("calls", "次数"), t("first at", "首次出现")), rows)


def precision(record):
    wide = "FLOAT"
    kinds = {}
    for s in record.signatures:
        kinds.setdefault(s["operator"], {}).setdefault(s["types"].split(" ")[0] if s["types"] else "", 0)
        kinds[s["operator"]][s["types"].split(" ")[0] if s["types"] else ""] += s["count"]
    flops = total = 0
    rows = []
    for o in record.operators:
        if o["engine"] not in ("Cube", "MixCube") or not o["flops"]:
            continue
        of = kinds.get(o["name"], {})
        count = sum(of.values())
        total += o["flops"]
        if count and of.get(wide, 0):
            part = o["flops"] * of[wide] / count
            flops += part
            rows.append((o["name"], str(of[wide]), "%.3g" % part))
    if rows and total and flops / total > 0.5:
        yield Finding("float32-products", "slow", t("Products and convolutions in float32", "float32 的矩阵乘与卷积"),
                      t("%s of the operations of the Cube units are in float32. They are several times faster in float16 or bfloat16.",
                        "Cube 单元 %s 的运算为 float32；使用 float16 或 bfloat16 会快数倍。") % percent(flops, total),
                      t("torch.autocast('npu', dtype=torch.bfloat16), or float16 with torch.npu.amp.GradScaler.",
                        "使用 torch.autocast('npu', dtype=torch.bfloat16)，或 float16 配合 torch.npu.amp.GradScaler。"),
                      (t("operator", "算子"), t("calls", "次数"), t("operations", "运算量")), rows)


def fusable(record):
    rows = []
    for c in sorted(record.chains, key=lambda c: -c["count"]):
        if any("/torch_npu/" in f["file"] for f in c["where"]):  # its own: a fused optimizer does the steps on all parameters at once
            continue
        api, chain = FUSED[c["name"]]
        rows.append((chain(), str(c["count"]), api() if callable(api) else api, somewhere(c)))
    if rows:
        yield Finding("fusable", "slow", t("Operators in a row that torch_npu has as one", "可用 torch_npu 融合算子代替的算子序列"),
                      t("Each of them reads and writes memory of the device; one operator does so once, and is launched once.",
                        "每个算子都读写设备内存；融合后只读写一次、只下发一次。"),
                      t("Call the operator of the third column; results differ by rounding.", "调用第三列的算子；结果仅有舍入差异。"),
                      (t("chain", "序列"), t("times", "次数"), t("operator", "可用算子"), t("first at", "首次出现")), rows)


def idle(record):
    """Gaps that come again: those of the beginning (imports, compilation) come once."""
    again = sorted((g for g in record.gaps if g["count"] >= 3), key=lambda g: -g["nanoseconds"])
    together = sum(g["nanoseconds"] for g in again)
    whole = together + sum(d["busy"] + d["collectives_alone"] for d in record.devices)
    rows = [(g["before"] or "-", g["behind"], str(g["count"]), milliseconds(g["nanoseconds"])) for g in again if g["nanoseconds"] > 0.02 * whole]
    if rows and together > 0.2 * whole:
        yield Finding("device-idle", "slow", t("The device waits for the host", "设备等待主机"),
                      t("In pauses of a millisecond and more that come again and again the devices had nothing to do, %s of the time. A card is much "
                        "faster than the virtual NPU and the host is not: there the share is larger.",
                        "在反复出现的 1 毫秒以上空隙里设备无事可做，占 %s 的时间。真卡远快于虚拟 NPU 而主机不变，占比会更高。") % percent(together, whole),
                      t("Load and prepare data ahead: DataLoader with num_workers and pin_memory=True, non_blocking copies, a prefetch of "
                        "the next batch; fewer, larger operators.", "提前加载和预处理数据：DataLoader 使用 num_workers 与 pin_memory=True、"
                        "异步拷贝、预取下一批；减少小算子。"),
                      (t("after the task", "前一任务"), t("before the task", "后一任务"), t("pauses", "空隙数"), t("together", "合计")), rows)


def collectives_alone(record):
    for d in record.devices:
        if d["span"] and d["collectives_alone"] > 0.1 * d["span"]:
            rows = [(o["name"], str(o["count"]), milliseconds(o["nanoseconds"])) for o in record.operators if o["name"].startswith("Hccl")]
            yield Finding("collectives-alone", "slow", t("Collectives that no computation hides", "未被计算掩盖的集合通信"),
                          t("For %s of its time device %d did nothing but exchange data with other ranks. How long that takes on a card depends on "
                            "its links (hccl_sim predicts it).", "设备时间的 %s（设备 %d）只在与其他 rank 交换数据；真卡上的耗时取决于链路（可用 hccl_sim 预测）。")
                          % (percent(d["collectives_alone"], d["span"]), d["device"]),
                          t("Smaller or larger buckets (DDP's bucket_cap_mb), gradient_as_bucket_view, fewer barriers.",
                            "调整梯度桶大小（DDP 的 bucket_cap_mb）、gradient_as_bucket_view、减少 barrier。"),
                          (t("collective", "通信算子"), t("calls", "次数"), t("time", "时间")), rows)
            return


def overflow(record):
    if record.checks and record.overflows > max(3, 0.05 * record.checks):
        yield Finding("overflow", "note", t("Steps that loss scaling left out", "损失缩放跳过的训练步"),
                      t("Gradients had an infinity or NaN in %d of %d checks of gradients.", "%d / %d 次梯度检查出现无穷或 NaN。") % (record.overflows, record.checks),
                      t("A few at the beginning are normal. Later ones: a smaller initial scale, bfloat16, or look for the operator that makes "
                        "them.", "开始时少量属正常；之后仍出现时，请减小初始缩放、改用 bfloat16，或查找产生它们的算子。"), (), [])


def memory(record):
    size = MEMORY.get(record.product)
    peak = record.peak_memory / 2**30
    if size and peak > 0.9 * size:
        yield Finding("memory", "fails" if peak > size else "note", t("Memory of the device", "设备内存"),
                      t("%.1f GiB were in use at once; %s has %d GiB.", "同时占用 %.1f GiB；%s 有 %d GiB。") % (peak, record.product, size),
                      t("A smaller batch, checkpoints of activations, ZeRO or FSDP.", "减小 batch、激活重计算、ZeRO 或 FSDP。"), (), [])


CHECKS = (refused, lost_gradients, memory, fallbacks, waits, idle, collectives_alone, aicpu, by_name, changing_shapes, precision, fusable, overflow, missing)


def findings(record):
    found = [f for check in CHECKS for f in check(record)]
    return sorted(found, key=lambda f: LEVELS.index(f.level))
