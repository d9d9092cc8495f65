"""`updraft run --report FILE CMD`: runs the command and writes the report."""

import os
import sys

from updraft import _child
from updraft._texts import t
from updraft.readiness import collect, findings, page


def check(path):
    """A sentence where the report could not be written there, else None: said before the run, which may take hours."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return t("%s is a folder; name a file, e.g. report.html", "%s 是目录；请给出文件名，例如 report.html") % path
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        return t("%s cannot be written: %s is no folder with the right to write", "无法写入 %s：%s 不是可写目录") % (path, folder)
    return None


def run(command, env, path):
    """The command's exit status."""
    wrong = check(path)
    if wrong:
        print("updraft run: " + wrong, file=sys.stderr)
        return 2

    def then(folder, status):
        write(collect.read(folder), command, status, path)
        return status

    return _child.run_with_folder(command, env, "UPDRAFT_READINESS", then)


def write(record, command, status, path):
    if not record.processes:
        print(t("updraft run: no report: no process of the command has used the virtual NPU, or all of them were killed",
                "updraft run：没有报告：命令的进程均未使用虚拟 NPU，或已被强制终止"), file=sys.stderr)
        return
    found = findings.findings(record)
    beside = os.path.splitext(path)[0] + ".json"
    for name, text in ((path, page.as_html(record, found, command, status)), (beside, page.as_json(record, found, command, status))):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    counts = [sum(f.level == level for f in found) for level in findings.LEVELS]
    print(t("updraft: %s and %s: %d fail on the card, %d slow, %d notes", "updraft：%s 与 %s：真卡失败 %d 项，性能 %d 项，提示 %d 项")
          % ((path, beside) + tuple(counts)), file=sys.stderr)
