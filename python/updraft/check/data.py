"""The lines about data: the files, what is read of them and in which order, and how ranks share them."""

import os

from updraft._texts import t
from updraft.check.lines import CONFIGURATIONS
from updraft.check.result import Gathering, number, relative

MOST_NAMED = 20


def _sets(run):
    """Data of a run by name relative to its folder: what --data named, and what was opened (without configurations)."""
    named = {os.path.relpath(f["path"], d["folder"]) if f["path"] != d["folder"] else os.path.basename(f["path"]): f for d in run.whole["data"] for f in d["files"]}
    if named:
        return named, True
    opened = [f for f in run.whole["files"] if not f["path"].endswith(CONFIGURATIONS)]
    if not opened:
        return {}, False
    root = os.path.commonpath([os.path.dirname(f["path"]) for f in opened])
    return {os.path.relpath(f["path"], root): f for f in opened}, False


def files(references, run, options):
    g = Gathering("6", "data-files", t("The data set is that of the reference", "数据处理：数据集与基准一致"))
    (theirs, named), (ours, also) = _sets(references[0]), _sets(run)
    advice = t("Name the data set when recording, on both machines: updraft run --record FOLDER --data PATH CMD. Files that C++ code opens (tf.data) are "
               "not seen otherwise.", "记录时在两台机器上给出数据集：updraft run --record 目录 --data 路径 CMD。C++ 代码（tf.data）打开的文件无法自动得知。")
    if not theirs or not ours:
        g.open(t("No file of data was seen in %s.", "%s 中未见数据文件。") % ", ".join(r.name for r, x in ((references[0], theirs), (run, ours)) if not x), advice)
        return g.line()
    if named != also:
        g.open(t("--data was given for one of the runs.", "仅一次运行给出了 --data。"), advice)
        return g.line()
    unread = [n for side in (theirs, ours) for n, f in side.items() if f["md5"] is None]
    missing, more = sorted(set(theirs) - set(ours)), sorted(set(ours) - set(theirs))
    differ = sorted(n for n in set(theirs) & set(ours) if theirs[n]["md5"] != ours[n]["md5"])
    if missing or more:  # the same files by other names
        by_sum = {f["md5"] for f in ours.values()}
        renamed = [n for n in missing if theirs[n]["md5"] in by_sum]
        if len(renamed) == len(missing) == len(more):
            g.told(t("%d files have other names and the same content.", "%d 个文件名称不同但内容相同。") % len(renamed))
            missing = more = []
    g.columns = (t("file", "文件"), references[0].name, run.name)
    told = lambda f: "%d B, md5 %s" % (f["size"], f["md5"]) if f else "-"
    g.rows = [(n, told(theirs.get(n)), told(ours.get(n))) for n in (differ + missing + more)[:200]]
    for names, text in ((differ, t("%d files have another content: %s", "%d 个文件内容不同：%s")), (missing, t("%d files are missing in the run: %s", "本次缺少 %d 个文件：%s")),
                        (more, t("%d files are in the run alone: %s", "仅本次有 %d 个文件：%s"))):
        if names:
            g.bad(text % (len(names), ", ".join(names[:MOST_NAMED])), t("Copy the data set again and compare the sums.", "请重新拷贝数据集并核对校验码。"))
    if unread:
        g.open(t("%d files could not be read again for their sum.", "%d 个文件无法再次读取以计算校验码。") % len(unread))
    if not g.failed:
        g.good(t("%d files, %d MB, the same md5.", "%d 个文件，%d MB，md5 相同。") % (len(ours), sum(f["size"] for f in ours.values()) >> 20))
    return g.line()


_KEYS = ("dataset", "samples", "sampler", "batch_size", "drop_last", "collate")
_LESS = ("workers", "prefetch")  # how many at once: they change the order only where workers draw numbers


def order(references, run, options):
    g = Gathering("7", "data-order", t("Batches are the reference's, in its order", "数据处理：预处理流程与基准一致"))
    reference = references[0]
    pairs = list(zip(reference.first.get("loaders", []), run.first.get("loaders", [])))
    seeds = [r.first.get("randomness", {}).get("seed") for r in (reference, run)]
    seeded = seeds[0] is not None and seeds[0] == seeds[1]
    g.columns = (t("what", "项目"), reference.name, run.name)
    counts = [len(r.first.get("loaders", [])) for r in (reference, run)]
    if counts[0] != counts[1]:
        g.bad(t("%d loaders in the reference, %d in the run.", "参考有 %d 个 DataLoader，本次 %d 个。") % tuple(counts), t("Use the same loaders.", "请使用相同的 DataLoader。"))
    for index, (theirs, ours) in enumerate(pairs):
        here = t("loader %d", "DataLoader %d") % (index + 1)
        g.rows += [("%s, %s" % (here, key), str(theirs[key]), str(ours[key])) for key in _KEYS + _LESS]
        different = [k for k in _KEYS if theirs[k] != ours[k] and not (k == "batch_size" and len(reference.ranks) != len(run.ranks))]
        if different:
            g.bad("%s: %s." % (here, ", ".join("%s %s / %s" % (k, theirs[k], ours[k]) for k in different)), t("Give the loader the same settings.", "DataLoader 请使用相同设置。"))
        elif [theirs[k] for k in _LESS] != [ours[k] for k in _LESS]:
            g.told(t("%s: workers %s / %s.", "%s：workers %s / %s。") % (here, theirs["workers"], ours["workers"]))
        if not different and len(reference.ranks) == len(run.ranks):
            _batches(g, here, theirs, ours, seeded)
    if not pairs:
        _inputs(g, reference, run, seeded)
    return g.line()


def _batches(g, here, theirs, ours, seeded):
    seed = t("Call torch.manual_seed (and numpy's and random's) with the same number in both scripts.", "两个脚本请以相同数值调用 torch.manual_seed（以及 numpy、random 的种子）。")
    at = next((i for i, (a, b) in enumerate(zip(theirs["indices"], ours["indices"])) if a != b), None)
    if at is None and len(theirs["epochs"]) == len(ours["epochs"]):
        epoch = next((i for i, (a, b) in enumerate(zip(theirs["epochs"], ours["epochs"])) if a != b), None)
        if epoch is not None:
            g.bad(t("%s: epoch %d takes samples in another order.", "%s：第 %d 个 epoch 的样本次序不同。") % (here, epoch + 1), seed)
            return
    if at is not None:
        alike = sorted(map(str, theirs["indices"])) == sorted(map(str, ours["indices"]))
        text = t("%s: sample %d is number %s in the reference and number %s in the run%s.", "%s：第 %d 个样本在参考中为 %s 号，本次为 %s 号%s。") % (
            here, at + 1, theirs["indices"][at], ours["indices"][at], t("; the samples of the epoch are the same", "；该 epoch 的样本集合相同") if alike else "")
        if seeded or not alike:
            g.bad(text, t("Shuffle alike: the same sampler, seed and buffer.", "乱序方式应相同：采样器、种子、缓冲区。"))
        else:
            g.open(text + " " + t("The seeds differ.", "随机种子不同。"), seed)
        return
    for i, (a, b) in enumerate(zip(theirs["batches"], ours["batches"])):
        text = _difference(a, b)
        if text:
            g.bad(t("%s: batch %d: %s", "%s：第 %d 个 batch：%s") % (here, i + 1, text),
                  t("The same samples are prepared otherwise: compare decoding, padding, normalisation and augmentation%s.", "相同样本的预处理不同：请比较解码、补齐、归一化与增强%s。")
                  % ("" if seeded else t(", and fix the seeds", "，并固定随机种子")))
            return
    if theirs["batch_count"] != ours["batch_count"]:
        g.bad(t("%s: %d batches in the reference, %d in the run.", "%s：参考 %d 个 batch，本次 %d 个。") % (here, theirs["batch_count"], ours["batch_count"]),
              t("Train as long.", "请训练相同长度。"))
    elif theirs["indices"] or theirs["batches"]:
        g.good(t("%s: %d batches, the same samples in the same order; the first %d are equal in every number.", "%s：%d 个 batch，样本与次序相同；前 %d 个 batch 数值相同。")
               % (here, ours["batch_count"], len(ours["batches"])))


def _difference(a, b):
    """What is different between two lists of tensors, or None. Rounding of the last bit is none."""
    if len(a) != len(b):
        return t("%d tensors and %d", "张量个数 %d 与 %d") % (len(a), len(b))
    for i, (x, y) in enumerate(zip(a, b)):
        if x["shape"] != y["shape"] or x["dtype"] != y["dtype"]:
            return t("tensor %d is %s %s and %s %s", "张量 %d 为 %s %s 与 %s %s") % (i + 1, x["dtype"], x["shape"], y["dtype"], y["shape"])
        if x.get("digest") != y.get("digest"):
            apart = max(relative(x.get(k, 0.0), y.get(k, 0.0)) for k in ("mean", "norm"))
            if apart > 1e-5 or "float" not in x["dtype"]:
                return t("tensor %d has the mean %s and %s, the norm %s and %s", "张量 %d 的均值为 %s 与 %s，范数为 %s 与 %s") % (
                    (i + 1,) + tuple(number(v.get(k, 0.0)) for k in ("mean", "norm") for v in (x, y)))
    return None


def _inputs(g, reference, run, seeded):
    """Without a DataLoader: what the model is called with."""
    sides = [r.first.get("inputs", []) for r in (reference, run)]
    if not all(sides):
        g.open(t("Neither a DataLoader nor calls of a model were seen in both.", "两者中均未同时看到 DataLoader 或模型调用。"),
               t("Batches are seen in PyTorch; elsewhere compare what is read, decoded, padded and shuffled by hand.", "仅能识别 PyTorch 的 batch；其他框架请自行比较读取、解码、补齐与乱序。"))
        return
    for i, (a, b) in enumerate(zip(*sides)):
        text = _difference(a["tensors"], b["tensors"])
        if text:
            said = t("Call %d of the model: %s.", "第 %d 次调用模型：%s。") % (i + 1, text)
            if seeded or [x["shape"] for x in a["tensors"]] != [x["shape"] for x in b["tensors"]]:
                g.bad(said, t("Compare how inputs are made.", "请比较输入的产生方式。"))
            else:
                g.open(said, t("Fix the seeds in both scripts.", "请在两个脚本中固定随机种子。"))
            return
    g.good(t("There is no DataLoader; the first %d inputs of the model are equal.", "没有 DataLoader；模型前 %d 次输入相同。") % min(map(len, sides)))


def sharding(references, run, options):
    g = Gathering("8", "sharding", t("Ranks share the data as in the reference", "数据处理：多节点分片方式与基准一致"))
    ranks = run.ranks
    if len(ranks) < 2:
        if run.world > 1:
            g.open(t("The run has %d ranks, of which %d were recorded.", "本次有 %d 个 rank，记录到 %d 个。") % (run.world, len(ranks)))
        else:
            g.good(t("One rank: nothing is shared.", "单个 rank，无需分片。"))
        return g.line()
    rows = [next((x for x in p.get("loaders", []) if x["batch_count"]), None) for p in ranks]
    g.columns = (t("rank", "rank"), t("samples of the first epoch", "首个 epoch 样本数"), t("begins with", "起始样本"), t("files, in order", "文件（按次序）"))
    for p, row in zip(ranks, rows):
        mine = sorted((f for f in run.whole["files"] if str(p["rank"]) in f["order"] and not f["path"].endswith(CONFIGURATIONS)), key=lambda f: f["order"][str(p["rank"])])
        g.rows.append((str(p["rank"]), str(len(row["indices"])) if row else "-", ", ".join(map(str, row["indices"][:8])) if row else "-",
                       ", ".join(os.path.basename(f["path"]) for f in mine[:8])))
    if all(row and row["indices"] for row in rows):
        seen = {}
        doubled = 0
        for p, row in zip(ranks, rows):
            for i in set(map(str, row["indices"])):
                doubled += i in seen
                seen[i] = p["rank"]
        sizes = {len(row["indices"]) for row in rows}
        padding = max(len(ranks) - 1, 0)  # DistributedSampler repeats a few so that all have as many
        if doubled > padding:
            g.bad(t("%d samples of the first epoch are given to more than one rank (%d ranks, %d different samples).", "首个 epoch 有 %d 个样本被分给多个 rank（%d 个 rank，共 %d 个不同样本）。")
                  % (doubled, len(ranks), len(seen)), t("Give each loader a DistributedSampler.", "请为每个 DataLoader 使用 DistributedSampler。"))
        elif len(sizes) > 1:
            g.bad(t("Ranks have different numbers of samples: %s.", "各 rank 样本数不同：%s。") % ", ".join(str(len(row["indices"])) for row in rows),
                  t("Ranks that have more wait for the others in the last step.", "样本较多的 rank 会在最后一步等待。"))
        else:
            g.good(t("%d ranks share %d samples, %d each.", "%d 个 rank 分担 %d 个样本，每个 %d 个。") % (len(ranks), len(seen), sizes.pop()))
        theirs = references[0].ranks
        if len(theirs) == len(ranks):
            for p, q in zip(theirs, ranks):
                x, y = (next((l["indices"] for l in z.get("loaders", []) if l["batch_count"]), []) for z in (p, q))
                if set(map(str, x)) != set(map(str, y)):
                    g.told(t("Rank %d has other samples than in the reference.", "rank %d 的样本与参考不同。") % q["rank"])
                    break
        return g.line()
    batches = [[b[0].get("digest") for b in row["batches"] if b] if row else [] for row in rows]
    if all(batches):
        same = [(p["rank"], q["rank"]) for i, (p, a) in enumerate(zip(ranks, batches)) for q, b in list(zip(ranks, batches))[i + 1:] if a == b]
        if same:
            g.bad(t("Ranks %d and %d get the same batches.", "rank %d 与 %d 得到相同的 batch。") % same[0], t("Let each rank read its part (rank and world size).", "请让每个 rank 读取自己的部分。"))
        else:
            g.good(t("All ranks get different batches.", "各 rank 的 batch 不同。"))
    else:
        g.open(t("Which samples a rank takes is seen of PyTorch's DataLoader alone.", "仅能从 PyTorch 的 DataLoader 得知各 rank 的样本。"),
               t("The table has the files of each rank in their order: compare them with the reference's.", "表中列出各 rank 的文件次序，请与参考比较。"))
    return g.line()
