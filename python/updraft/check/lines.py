"""The lines about the training itself. Each takes the repeats of the reference, the run, and the options of the command."""

from updraft._texts import t
from updraft.check.result import Gathering, ending, first_difference, number, relative

LARGE_BATCH = 2048  # from here on the guide's stricter share of overflowing steps; it names none, its example of a large one is 2048
SHARE, LARGE_SHARE = 0.005, 0.001
_RECORD = lambda: t("Record it: updraft run --record FOLDER CMD.", "请记录：updraft run --record 目录 CMD。")


def _measures(runs, name):
    return [dict(r.series()).get(name) for r in runs]


def _is_score(name):
    return any(word in name for word in ("acc", "top", "prec@", "iou", "f1", "auc", "bleu", "psnr", "score"))


def repeatable(references, run, options):
    g = Gathering("1", "repeatable", t("The reference gives the same result again", "参考基准：多次训练结果一致"))
    repeats = list(references)
    same = lambda a, b: a.whole["command"] == b.whole["command"] and [s["md5"] for s in a.whole["script"]] == [s["md5"] for s in b.whole["script"]]
    with_the_run = len(repeats) == 1 and same(repeats[0], run)
    if with_the_run:
        repeats.append(run)
        g.told(t("Both runs are of the same command, so they are repeats of each other.", "两次运行命令相同，互为重复。"))
    if len(repeats) < 2:
        g.open(t("The reference was recorded once.", "参考基准只记录了一次。"),
               t("Record it three times, with its randomness as it is, and name all of them: updraft check REF1 REF2 REF3 RUN.",
                 "在不固定随机性的情况下记录三次并全部给出：updraft check REF1 REF2 REF3 RUN。"))
        return g.line()
    names = [n for n, _ in repeats[0].series() if all(dict(r.series()).get(n) for r in repeats)]
    if not names:
        g.open(t("No loss was printed or computed by backward() in all of them.", "各次运行均无打印的指标或 backward() 的损失。"),
               t("Have the script print its loss or accuracy.", "请让脚本打印 loss 或 accuracy。"))
        return g.line()
    g.columns = (t("measure", "指标"),) + tuple(r.name for r in repeats) + (t("difference of the ends", "末值差"),)
    exact = True
    for name in names:
        rows = _measures(repeats, name)
        ends = [ending(r) for r in rows]
        spread = max(relative(ends[0], e) for e in ends)
        lengths = {len(r) for r in rows}
        exact &= all(r == rows[0] for r in rows)
        g.rows.append((name,) + tuple(number(e) for e in ends) + ("%.2g" % spread,))
        if len(lengths) > 1:
            g.bad(t("%s: %s values: the runs are not of the same length.", "%s：各次的个数为 %s，训练长度不同。") % (name, ", ".join(map(str, (len(r) for r in rows)))),
                  t("Let all repeats train the same number of steps.", "各次重复请训练相同步数。"))
        elif spread > options.tolerance:
            at = min(first_difference(rows[0], r, options.tolerance / 10) or 0 for r in rows[1:] if relative(ending(rows[0]), ending(r)) > options.tolerance)
            g.bad(t("%s ends %.2g apart (allowed %.2g); value %d is the first that differs.", "%s 末值相差 %.2g（允许 %.2g）；第 %d 个值开始不同。")
                  % (name, spread, options.tolerance, at + 1),
                  t("A reference that does not agree with itself cannot be compared with: look at its data, its hyper-parameters, and fewer random parts.",
                    "与自身不一致的参考基准不能用于比较：请检查数据、超参与随机部分。"))
    if g.failed and with_the_run:  # the difference may be the run's
        g.failed = False
        g.open(t("Whether the reference agrees with itself is told by repeats of it.", "参考基准是否与自身一致，需要对其重复记录。"),
               t("Record the reference three times: updraft check REF1 REF2 REF3 RUN.", "请将参考基准记录三次：updraft check REF1 REF2 REF3 RUN。"))
    elif not g.failed:
        g.good(t("%d runs end within %.2g of each other%s.", "%d 次运行末值相差不超过 %.2g%s。")
               % (len(repeats), options.tolerance, t(", and are equal in every number", "，且每个数都相同") if exact else ""))
        if len(repeats) < 3:
            g.told(t("The guide asks for three repeats or more.", "指南要求重复三次以上。"))
    return g.line()


def _kinds(run):
    return ", ".join("%s %d" % pair for pair in sorted(run.products.items(), key=lambda p: -p[1])) or "-"


def _older_910(product):
    """Products whose default turns float32 products into float16 (allow_fp32_to_fp16)."""
    return product.startswith("Ascend910") and not product.startswith(("Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910_93"))


def reference_precision(references, run, options):
    g = Gathering("2", "reference-precision", t("The reference trains in mixed precision", "参考基准：正确使能混合精度训练"))
    share, kind = references[0].half
    if share is None:
        g.open(t("No layer with a weight was seen in the reference.", "参考基准中未见带权重的层。"),
               t("Layers are seen in PyTorch; elsewhere compare a run in float32 with one in mixed precision by hand.",
                 "仅能识别 PyTorch 的层；其他框架请自行比较 float32 与混合精度的训练。"))
        return g.line()
    g.told(t("Outputs of layers with weights: %s.", "带权重的层的输出：%s。") % _kinds(references[0]))
    if share > 0:
        g.good(t("%.0f %% of them in %s.", "其中 %.0f %% 为 %s。") % (100 * share, kind))
    elif _older_910(run.product):
        g.open(t("The reference is in float32, and %s computes products of float32 in float16.", "参考基准为 float32，而 %s 会以 float16 计算 float32 矩阵乘。")
               % run.product, t("Record the reference once more in mixed precision and see that it ends at the same accuracy.",
                                "请以混合精度再记录一次参考基准，确认精度相同。"))
    else:
        g.good(t("All in float32, which %s computes as float32 too.", "全部为 float32，%s 同样以 float32 计算。") % run.product)
    return g.line()


def precision(references, run, options):
    g = Gathering("3", "precision", t("Mixed precision is the reference's, and on once", "模型迁移：正确使能混合精度"))
    mode = run.first.get("notes", {}).get("precision_mode")
    g.told(t("%s: precision_mode is %s by default%s.", "%s：precision_mode 默认为 %s%s。") % (
        run.product, "allow_fp32_to_fp16" if _older_910(run.product) else "must_keep_origin_dtype", t(", %s in this run", "，本次为 %s") % mode if mode else ""))
    (reference, kind), (share, ours) = references[0].half, run.half
    if reference is None or share is None:
        g.open(t("The types of the layers are not known for both runs.", "两次运行中层的类型未全部得知。"), _RECORD())
        return g.line()
    g.told(t("Reference: %s. Run: %s.", "参考：%s。本次：%s。") % (_kinds(references[0]), _kinds(run)))
    if run.first.get("autocast") and any(s["name"] == "LossScaler" for s in run.first.get("scalers", [])):
        g.bad(t("autocast and apex are both on.", "同时启用了 autocast 与 apex。"), t("Keep one of them.", "请只保留一种。"))
    if reference > 0 and share == 0 and mode not in ("allow_mix_precision", "allow_mix_precision_fp16", "force_fp16", "allow_fp32_to_fp16"):
        g.bad(t("The reference computes in %s, the run in float32.", "参考为 %s，本次为 float32。") % kind,
              t("Enable autocast (or apex) as the reference does.", "请与参考一样启用 autocast（或 apex）。"))
    elif reference > 0 and share > 0 and kind != ours:
        g.bad(t("The reference computes in %s, the run in %s.", "参考为 %s，本次为 %s。") % (kind, ours), t("Use the same type.", "请使用相同类型。"))
    elif abs(reference - share) > 0.1 and reference > 0:
        g.bad(t("%.0f %% of the outputs are in half precision in the reference, %.0f %% in the run.", "参考中 %.0f %% 的输出为半精度，本次为 %.0f %%。")
              % (100 * reference, 100 * share), t("Give autocast the same extent in both scripts.", "两个脚本中 autocast 的范围应相同。"))
    else:
        g.good(t("Both compute in the same types.", "两者类型一致。") if (reference > 0) == (share > 0) else
               t("The run adds mixed precision to a reference in float32.", "本次在 float32 参考之上启用了混合精度。"))
    return g.line()


def _scaler(run):
    return next((s for s in run.first.get("scalers", []) if s["checks"]), None)


_SETTINGS = ("dynamic", "initial", "growth", "backoff", "interval")


def loss_scale(references, run, options):
    g = Gathering("4", "loss-scale", t("The loss scale is on and set as in the reference", "模型迁移：正确使能 Loss Scale"))
    theirs, ours = _scaler(references[0]), _scaler(run)
    _, kind = run.half
    if ours is None:
        if not run.processes or run.half[0] is None:
            g.open(t("Neither layers nor a loss scale were seen in the run.", "本次运行未见层或 Loss Scale。"), _RECORD())
        elif kind == "float16":
            g.bad(t("The run computes in float16 without a loss scale.", "本次以 float16 计算但没有 Loss Scale。"),
                  t("Use torch.npu.amp.GradScaler.", "请使用 torch.npu.amp.GradScaler。"))
        elif theirs is not None:
            g.bad(t("The reference scales its loss (%s), the run does not.", "参考使用 Loss Scale（%s），本次没有。") % theirs["name"],
                  t("Use torch.npu.amp.GradScaler with the same numbers.", "请以相同参数使用 torch.npu.amp.GradScaler。"))
        else:
            g.good(t("%s needs none, and the reference has none.", "%s 无需 Loss Scale，参考也没有。") % (kind or "float32"))
        return g.line()
    if theirs is not None:
        g.columns = (t("setting", "设置"), references[0].name, run.name)
        g.rows = [(key, str(theirs.get(key)), str(ours.get(key))) for key in _SETTINGS]
        different = [key for key in _SETTINGS if None not in (theirs.get(key), ours.get(key)) and theirs[key] != ours[key]]
        if different:
            g.bad(t("Settings differ: %s.", "设置不同：%s。") % ", ".join("%s %s / %s" % (k, theirs[k], ours[k]) for k in different),
                  t("Set what GradScaler is made with to the reference's numbers, then adapt it only for overflows.",
                    "请将 GradScaler 的参数设为参考的值，再仅针对溢出调整。"))
    elif references[0].half[1] == "float16":
        g.told(t("The reference computes in float16 without a loss scale.", "参考以 float16 计算但没有 Loss Scale。"))
    if not ours["dynamic"]:
        g.told(t("The scale is fixed at %s; the guide advises against that.", "缩放固定为 %s；指南不建议如此。") % ours["initial"])
    if ours["last"] <= 1 and ours["overflows"]:
        g.bad(t("The scale has fallen to %s.", "缩放已降至 %s。") % number(ours["last"]),
              t("Find the operator that overflows: updraft run --find-nan CMD.", "请查找溢出的算子：updraft run --find-nan CMD。"))
    if not g.failed:
        g.good(t("%s, %s to %s in %d steps.", "%s，%s 至 %s，共 %d 步。") % (ours["name"], number(ours["initial"]), number(ours["last"]), ours["checks"]))
    return g.line()


def global_batch(run):
    """Samples of a step of all ranks, or None."""
    loader = next((x for x in run.first.get("loaders", []) if isinstance(x["batch_size"], int) and x["batch_count"]), None)
    return loader["batch_size"] * max(1, len(run.ranks)) if loader else None


def overflow_share(references, run, options):
    g = Gathering("2, 4", "overflow-share", t("Few steps overflow", "浮点异常次数足够少"))
    batch = global_batch(run)
    limit = LARGE_SHARE if batch and batch >= LARGE_BATCH else SHARE
    rows = [(r, _scaler(r)) for r in (references[0], run)]
    g.columns = (t("run", "运行"), t("steps", "步数"), t("overflows", "溢出"), t("of these before the first step", "其中首次更新之前"), t("share after that", "之后的占比"))
    ours = rows[1][1]
    for r, s in rows:
        if s:
            rest, later = s["checks"] - s["until_first_step"], s["overflows"] - s["until_first_step"]
            g.rows.append((r.name, str(s["checks"]), str(s["overflows"]), str(s["until_first_step"]), "%.2f %%" % (100 * later / rest) if rest else "-"))
    if ours is None:
        losses = run.first.get("losses", [])
        wrong = [i for i, x in enumerate(losses) if x != x or abs(x) == float("inf")]
        if wrong:
            g.bad(t("%d of %d losses are NaN or infinite, the first in step %d.", "%d / %d 个损失为 NaN 或无穷，最早在第 %d 步。") % (len(wrong), len(losses), wrong[0] + 1),
                  t("updraft run --find-nan CMD stops at the operator that makes it.", "updraft run --find-nan CMD 会在产生它的算子处停止。"))
        elif losses and run.half[1] != "float16":
            g.good(t("No loss scale, and all %d losses are finite.", "无 Loss Scale，%d 个损失均为有限值。") % len(losses))
        else:
            g.open(t("Steps that overflow are counted by the loss scale; there is none.", "溢出步由 Loss Scale 统计；本次没有。"),
                   t("Train with a loss scale, or look with: updraft run --find-nan CMD.", "请启用 Loss Scale，或用 updraft run --find-nan CMD 查看。"))
        return g.line()
    rest, later = ours["checks"] - ours["until_first_step"], ours["overflows"] - ours["until_first_step"]
    share = later / rest if rest else 1.0
    text = t("%d of %d steps overflowed after the first scale that fits (%.2f %%, allowed %.1f %%%s).", "首个合适的缩放之后 %d / %d 步溢出（%.2f %%，允许 %.1f %%%s）。") % (
        later, rest, 100 * share, 100 * limit, t(" for a batch of %d", "，batch 为 %d") % batch if batch else "")
    advice = t("Change the first scale and how it grows and shrinks; if it goes on, find the operator: updraft run --find-nan CMD.",
               "调整缩放初值与增减阈值；若仍溢出，查找算子：updraft run --find-nan CMD。")
    if share >= limit and (later > 1 or rest >= 1 / limit) or not rest:
        g.bad(text, advice)
    elif share >= limit:
        g.open(text, t("Record %d steps or more: one overflow in so few says nothing.", "请记录 %d 步以上：步数太少，一次溢出不能说明问题。") % int(1 / limit))
    else:
        g.good(text)
    return g.line()


def flow(references, run, options):
    g = Gathering("9", "flow", t("Training begins, goes on and ends as in the reference", "训练流程：与基准一致"))
    reference = references[0]
    for r in (reference, run):
        if r.whole["status"]:
            g.bad(t("%s: exit status %d.", "%s：退出码 %d。") % (r.name, r.whole["status"]), t("Mend the run first.", "请先让训练正常结束。"))
        for error in r.first.get("errors", []):
            g.told(t("%s: not recorded: %s", "%s：未能记录：%s") % (r.name, error))
    _weights(g, reference, run)
    if reference.steps and run.steps:
        if reference.steps != run.steps:
            skipped = [(_scaler(r) or {}).get("overflows", 0) for r in (reference, run)]
            if reference.steps + skipped[0] == run.steps + skipped[1]:
                g.told(t("Steps of optimizers: %d and %d, %d and %d left out by the loss scale.", "优化器步数：%d 与 %d，Loss Scale 跳过 %d 与 %d。")
                       % (reference.steps, run.steps, skipped[0], skipped[1]))
            else:
                g.bad(t("Steps of optimizers: %d in the reference, %d in the run.", "优化器步数：参考 %d，本次 %d。") % (reference.steps, run.steps),
                      t("Train as many steps: look at the length of the data and at accumulation of gradients.", "请训练相同步数：检查数据长度与梯度累积。"))
        else:
            g.good(t("%d steps of optimizers in both.", "两者优化器均为 %d 步。") % run.steps)
    _exchange(g, run)
    _stale(g, run)
    return g.line()


def _weights(g, reference, run):
    """The first weights: equal, or drawn alike."""
    pairs = list(zip(reference.first.get("optimizers", []), run.first.get("optimizers", [])))
    if not pairs:
        g.open(t("No optimizer of PyTorch was seen in both.", "两者中未同时看到 PyTorch 优化器。"), _RECORD())
        return
    for index, (theirs, ours) in enumerate(pairs):
        shapes = [[x["shape"] for x in o["initial"]] for o in (theirs, ours)]
        if theirs["parameter_count"] != ours["parameter_count"] or shapes[0] != shapes[1]:
            at = next((i for i, (a, b) in enumerate(zip(*shapes)) if a != b), min(map(len, shapes)))
            g.bad(t("Optimizer %d: %d parameters in the reference, %d in the run; number %d has another shape.", "优化器 %d：参考 %d 个参数，本次 %d 个；第 %d 个形状不同。")
                  % (index + 1, theirs["parameter_count"], ours["parameter_count"], at + 1), t("Build the same model.", "请构建相同的模型。"))
            continue
        differ = [i for i, (a, b) in enumerate(zip(theirs["initial"], ours["initial"]))
                  if a.get("digest") != b.get("digest") and relative(a.get("norm", 0.0), b.get("norm", 0.0)) + abs(a.get("mean", 0) - b.get("mean", 0)) > 1e-6]
        if not differ:
            g.good(t("Optimizer %d: the first values of all %d parameters are equal.", "优化器 %d：%d 个参数的初值相同。") % (index + 1, len(ours["initial"])))
            continue
        alike = all(_alike(theirs["initial"][i], ours["initial"][i]) for i in differ)
        seeds = [r.first.get("randomness", {}).get("seed") for r in (reference, run)]
        text = t("Optimizer %d: %d of %d parameters begin with other values, first number %d (norm %s / %s).", "优化器 %d：%d / %d 个参数初值不同，首个为第 %d 个（范数 %s / %s）。") % (
            index + 1, len(differ), len(ours["initial"]), differ[0] + 1, number(theirs["initial"][differ[0]].get("norm")), number(ours["initial"][differ[0]].get("norm")))
        if alike and seeds[0] != seeds[1]:
            g.open(text + " " + t("They have the same size, and the seeds differ.", "大小相近，且随机种子不同。"),
                   t("Call torch.manual_seed with the same number in both scripts, or load the same checkpoint.", "两个脚本请以相同数值调用 torch.manual_seed，或加载同一权重文件。"))
        else:
            g.bad(text, t("Load the same checkpoint, or draw the weights alike.", "请加载同一权重文件，或以相同方式初始化。"))


def _alike(a, b):
    """Two draws of one distribution: their norms are as near as the number of elements lets expect."""
    count = 1
    for size in a["shape"]:
        count *= size
    x, y = a.get("norm", 0.0), b.get("norm", 0.0)
    return relative(x, y) < 0.15 + 2 / max(1, count) ** 0.5


def _exchange(g, run):
    ranks = [p for p in run.ranks if p.get("optimizers")]
    if len(ranks) < 2:
        if run.world > 1 and ranks:
            g.open(t("The run has %d ranks, of which one was recorded.", "本次有 %d 个 rank，仅记录到一个。") % run.world)
        return
    if any(p.get("sharded") for p in ranks) or any(p["optimizers"][0]["parameter_count"] != ranks[0]["optimizers"][0]["parameter_count"] for p in ranks):
        g.told(t("Parameters are spread over the ranks: whether gradients are exchanged is not looked at.", "参数分布在各 rank 上，未检查梯度交换。"))
        return
    last = [[x.get("digest") for x in p["optimizers"][0]["last"]] for p in ranks]
    if not all(last):
        g.open(t("The parameters at the end are not known of all ranks.", "未能得知所有 rank 结束时的参数。"))
    elif any(x != last[0] for x in last):
        at = next(p["rank"] for p, x in zip(ranks, last) if x != last[0])
        g.bad(t("Rank %d ends with other parameters than rank %d: they train each for itself.", "rank %d 与 rank %d 结束时参数不同：各自独立训练。") % (at, ranks[0]["rank"]),
              t("Wrap the model in DistributedDataParallel after init_process_group, on every rank.", "在每个 rank 上 init_process_group 之后使用 DistributedDataParallel。"))
    else:
        g.good(t("All %d ranks end with the same parameters.", "%d 个 rank 结束时参数相同。") % len(ranks))


def _stale(g, run):
    """A checkpoint that was there before, in a folder that the run writes to."""
    import os

    folders = {os.path.dirname(p) for p in run.whole["written"]}
    stale = [f["path"] for f in run.whole["files"] if os.path.dirname(f["path"]) in folders
             and f["path"].endswith((".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".index", "checkpoint"))]
    if stale:
        g.told(t("Read from a folder that the run writes to, perhaps left by an earlier one: %s", "读取了本次写入目录中已有的文件，可能是此前遗留：%s") % ", ".join(stale[:5]))


def hyper_parameters(references, run, options):
    g = Gathering("10", "hyper-parameters", t("Hyper-parameters are those of the reference", "模型超参：与基准一致"))
    reference = references[0]
    pairs = list(zip(reference.first.get("optimizers", []), run.first.get("optimizers", [])))
    batches = [global_batch(r) for r in (reference, run)]
    g.columns = (t("what", "项目"), reference.name, run.name)
    if None not in batches:
        g.rows.append((t("samples of a step, all ranks", "全局 batch"), str(batches[0]), str(batches[1])))
        if batches[0] != batches[1]:
            g.bad(t("A step takes %d samples in the reference and %d in the run (%d and %d ranks).", "参考每步 %d 个样本，本次 %d 个（rank 数 %d 与 %d）。")
                  % (batches[0], batches[1], len(reference.ranks), len(run.ranks)),
                  t("Batch size of a device times ranks must be the reference's; otherwise the learning rate must follow.", "单卡 batch × rank 数须与参考相等，否则需相应调整学习率。"))
        else:
            g.good(t("A step takes %d samples in both.", "两者每步均为 %d 个样本。") % batches[0])
    for r in (reference, run):
        for p in r.ranks:
            for o in p.get("optimizers", []):
                g.rows.append((t("rank %d: batch, learning rate", "rank %d：batch、学习率") % p["rank"],) + tuple(
                    "%s, %s" % (_batch_of(p), o["groups"][0].get("lr")) if r is which else "" for which in (reference, run)))
                break
    if not pairs:
        g.open(t("No optimizer of PyTorch was seen in both.", "两者中未同时看到 PyTorch 优化器。"), _RECORD())
    if len(reference.first.get("optimizers", [])) != len(run.first.get("optimizers", [])):
        g.bad(t("%d optimizers in the reference, %d in the run.", "参考有 %d 个优化器，本次 %d 个。")
              % tuple(len(r.first.get("optimizers", [])) for r in (reference, run)))
    for index, (theirs, ours) in enumerate(pairs):
        different = [(i, key, a.get(key), b.get(key)) for i, (a, b) in enumerate(zip(theirs["groups"], ours["groups"]))
                     for key in sorted(set(a) & set(b)) if a[key] != b[key] and key not in _HOW]
        for i, key, a, b in different:
            g.rows.append(("%s %d, group %d, %s" % (ours["name"], index + 1, i, key), str(a), str(b)))
        if len(theirs["groups"]) != len(ours["groups"]):
            g.bad(t("%s has %d groups of parameters in the reference, %d in the run.", "%s 的参数组：参考 %d，本次 %d。") % (
                ours["name"], len(theirs["groups"]), len(ours["groups"])), t("Give the optimizer the same groups.", "请使用相同的参数组。"))
        if different:
            g.bad("%s: %s." % (ours["name"], "; ".join("%s %s / %s" % (key, a, b) for _, key, a, b in different[:6])),
                  t("Set them to the reference's values.", "请设为参考的值。"))
        else:
            g.good(t("%s: all values of the optimizer agree.", "%s：优化器各值一致。") % ours["name"])
        _curve(g, theirs, ours, [_skipped(r) for r in (reference, run)])
    _configurations(g, reference, run)
    return g.line()


_HOW = {"foreach", "fused", "capturable", "differentiable", "initial_lr"}  # how it is computed, not what


def _batch_of(process):
    return next((str(x["batch_size"]) for x in process.get("loaders", []) if x["batch_count"]), "-")


def _skipped(run):
    """The steps that the loss scale left out: optimizers were not called in them."""
    return {c["check"] for c in (_scaler(run) or {}).get("changes", []) if c["overflow"]}


def _curve(g, theirs, ours, skipped):
    """The learning rate, step by step, those that were left out among them."""
    steps = min(x["steps"] + len(s) for x, s in zip((theirs, ours), skipped))
    a, b = [[(c["step"], c["group"], c["key"], c["value"]) for c in row["changes"] if c["key"] not in _HOW and c["step"] <= steps] for row in (theirs, ours)]

    def together(x, y):
        """In one step, or nothing was done in the steps between them."""
        earlier, later = sorted((x[0], y[0]))
        return set(range(earlier, later)) <= skipped[0] | skipped[1]

    for x, y in zip(a, b):
        equal = x[3] == y[3] or isinstance(x[3], float) and isinstance(y[3], float) and relative(x[3], y[3]) < 1e-6
        if not (equal and x[1:3] == y[1:3] and together(x, y)):
            g.bad(t("%s: in step %d %s becomes %s in the reference; in the run, in step %d, %s becomes %s.", "%s：参考第 %d 步 %s 变为 %s；本次第 %d 步 %s 变为 %s。")
                  % (ours["name"], x[0], x[2], x[3], y[0], y[2], y[3]), t("Use the same schedule of the learning rate.", "请使用相同的学习率策略。"))
            return
    if len(a) != len(b):
        g.bad(t("%s: values change %d times in the reference and %d times in the run.", "%s：参考中变化 %d 次，本次 %d 次。") % (ours["name"], len(a), len(b)),
              t("Use the same schedule of the learning rate.", "请使用相同的学习率策略。"))
    elif a:
        g.good(t("%s: %d changes of the learning rate and others agree.", "%s：学习率等 %d 次变化一致。") % (ours["name"], len(a)))


CONFIGURATIONS = (".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf")


def _configurations(g, reference, run):
    import os

    sides = [{os.path.basename(f["path"]): f["md5"] for f in r.whole["files"] if f["path"].endswith(CONFIGURATIONS)} for r in (reference, run)]
    for name in sorted(set(sides[0]) & set(sides[1])):
        if sides[0][name] != sides[1][name]:
            g.bad(t("The configuration %s is another file.", "配置文件 %s 不同。") % name, t("Use the same configuration.", "请使用相同的配置文件。"))
