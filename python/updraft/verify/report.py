"""What the runs amount to, in words (verify_report.txt) and as data (verify_report.json)."""

import json
import math

from updraft._texts import t
from updraft.verify.losses import FIRST, Comparison, losses


def title(name):
    return {"original": t("the original on the CPU", "在 CPU 上运行原始脚本"),
            "original_again": t("the original once more", "再次运行原始脚本"),
            "migrated": t("the migrated project on the virtual NPU", "在虚拟 NPU 上运行迁移后的脚本")}[name]


class Result:
    def __init__(self, options, originals, migrated):
        self.command, self.rtol, self.limit = options.command, options.rtol, options.timeout
        self.original, self.again, self.migrated = originals[0], originals[1] if len(originals) > 1 else None, migrated
        self.streams = [(s, self._compare(self.original, migrated, s)) for s in ("stdout", "stderr")]
        self.repeats = [(s, self._compare(self.original, self.again, s)) for s in ("stdout", "stderr")] if self.again else []
        self.problems = self._problems()

    def _compare(self, a, b, stream):
        return Comparison(*(losses(r.text(getattr(r, stream))) for r in (a, b)), self.rtol)

    @property
    def compared(self):
        return sum(c.compared for _, c in self.streams)

    @property
    def verified(self):
        return not self.problems

    def _problems(self):
        problems = []
        for run in (self.original, self.migrated):
            if run.status is None:
                problems.append(t("%s: stopped after %g s (--verify-timeout)", "%s：运行 %g 秒后停止（--verify-timeout）") %
                                (title(run.name), self.limit))
            elif run.status:
                problems.append(t("%s: exit status %d; the end of %s:\n%s", "%s：退出码 %d；%s 末尾：\n%s") %
                                (title(run.name), run.status, run.stderr, _tail(run)))
            if not run.active and not run.status:
                problems.append(t(
                    "%s: no process imported torch where Updraft is installed; does the command take another Python?",
                    "%s：没有进程在装有 Updraft 的 Python 中导入 torch；命令是否使用了其他 Python？") % title(run.name))
        for stream, c in self.streams:
            if c.first is not None and not (problems and c.first >= min(len(c.ours), len(c.theirs))):
                problems.append(self._difference(stream, c))
        if not problems and not self.compared:
            problems.append(t("nothing that looks like a loss was printed by both: have the script print loss, accuracy or perplexity",
                              "两次运行均未打印可识别的指标：请让脚本打印 loss、accuracy 或 perplexity"))
        return problems

    def _difference(self, stream, c, names=("original", "migrated")):
        i, lines = c.first, []
        strict = t(" (the first %d are compared with a tenth of --rtol)", "（前 %d 个按 --rtol 的十分之一比较）") % FIRST if i < FIRST else ""
        lines.append(t("number %d of the losses in %s differs%s:", "%s 中第 %d 个指标不一致%s：") %
                     ((i + 1, stream, strict) if not _zh() else (stream, i + 1, strict)))
        for name, side in zip(names, (c.ours, c.theirs)):
            if i < len(side):
                lines.append("  %s.%s.txt:%d: %s = %s" % (name, stream, side[i].number, side[i].label, side[i].text))
                lines.append("    " + side[i].line.strip())
            else:
                lines.append("  %s.%s.txt: %s" % (name, stream, t("no more of them", "没有更多指标")))
        return "\n".join(lines)

    def text(self):
        lines = [t("command: %s", "命令：%s") % self.command]
        for run in filter(None, (self.original, self.again, self.migrated)):
            lines.append("%s: %s, %.1f s" % (title(run.name), t("exit status %s", "退出码 %s") %
                                             (run.status if run.status is not None else "-"), run.seconds))
        largest = max(c.largest for _, c in self.streams)
        if self.verified:
            lines.append(t("verified: %d losses agree within %g; the largest relative difference is %.2g",
                           "验证通过：%d 个指标在 %g 以内一致，最大相对误差 %.2g") % (self.compared, self.rtol, largest))
        else:
            lines.append(t("NOT verified: %d losses agree before", "验证未通过：此前 %d 个指标一致") % self.compared)
            lines += self.problems
        for stream, c in self.repeats:
            if c.first is not None:
                lines.append(t("the original differs from itself when it runs again: seed it before anything is concluded",
                               "原始脚本两次运行结果自身不一致：请先固定随机种子"))
                lines.append(self._difference(stream, c, ("original", "original_again")))
        if not self.verified and any(c.first is not None for _, c in self.streams):
            if not self.again:
                lines.append(t("does the original give the same losses twice? --verify-twice tells",
                               "原始脚本两次运行结果是否相同？可用 --verify-twice 检查"))
            lines.append(t("what is drawn on the device (dropout, rand(device=…)) differs by nature: generators of NPU and CPU are not the same",
                           "在设备上产生的随机数（dropout、rand(device=…)）天然不同：NPU 与 CPU 的随机数生成器不一样"))
        return "\n".join(lines)

    def data(self):
        def run(r):
            return r and {"status": r.status, "seconds": round(r.seconds, 3), "hook": r.active, "stdout": r.stdout.name, "stderr": r.stderr.name}

        def side(c, losses_):
            return None if c.first is None or c.first >= len(losses_) else {
                "label": losses_[c.first].label, "value": losses_[c.first].text, "line": losses_[c.first].number,
                "text": losses_[c.first].line}

        def stream(c):
            return {"original": len(c.ours), "migrated": len(c.theirs), "agree": c.compared,
                    "largest_relative_difference": c.largest if math.isfinite(c.largest) else None,
                    "first_difference": None if c.first is None else {"original": side(c, c.ours), "migrated": side(c, c.theirs)}}

        return {"verified": self.verified, "command": self.command, "rtol": self.rtol, "timeout": self.limit,
                "original": run(self.original), "original_again": run(self.again), "migrated": run(self.migrated),
                "streams": {s: stream(c) for s, c in self.streams},
                "repeatable": None if not self.again else all(c.first is None for _, c in self.repeats), "problems": self.problems}


def _zh():
    return t("", "zh") == "zh"


def _tail(run, lines=15):
    text = run.text(run.stderr).strip() or run.text(run.stdout).strip()
    return "\n".join("    " + line for line in text.splitlines()[-lines:])


def write(result, folder):
    (folder / "verify_report.txt").write_text(result.text() + "\n", encoding="utf-8")
    (folder / "verify_report.json").write_text(json.dumps(result.data(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
