"""`updraft run --sanitize CMD`: runs the command and says what was found."""

import json
import os
import sys

from updraft import __version__, _child
from updraft._texts import t
from updraft.readiness.command import check
from updraft.sanitizer import collect, page, texts

EXIT_STATUS = 66  # of a command that ended with 0 and had findings
KINDS = tuple(texts.TITLES)
GROUPS = {"memory": ("use-after-reuse", "use-after-free", "uninitialised", "out-of-bounds"), "host": ("host-race", "host-access")}


def kinds(text):
    """The list of an option, as the library takes it; ValueError names what is unknown."""
    for word in text.split(","):
        if word != "all" and word not in KINDS and word not in GROUPS:
            raise ValueError(t("there is no kind %r; there are all, %s", "没有类别 %r；可用：all, %s") % (word, ", ".join(KINDS + tuple(GROUPS))))
    return text


def run(command, env, wanted, report=None, ignore=None):
    wrong = check(report) if report else None
    ignored = []
    if ignore and not wrong:
        try:
            ignored = collect.rules(ignore)
        except OSError as error:
            wrong = "%s: %s" % (ignore, error.strerror)
        except ValueError as error:
            wrong = t("%s: a line is KIND:PATTERN, e.g. race:train.py:31", "%s：每行应为 类别:模式，例如 race:train.py:31") % error
    if wrong:
        print("updraft run: " + wrong, file=sys.stderr)
        return 2
    # torch_npu then calls operators in the thread whose Python lines are wanted
    env = dict(env, UPDRAFT_SANITIZE=wanted, TASK_QUEUE_ENABLE="0")
    if _looks_at_host(wanted):
        env["UPDRAFT_STRICT"] = "1"
        # strict mode gives every task to the device's thread, so that faults of order show; here they show without
        env.setdefault("UPDRAFT_INLINE", "1")

    def then(folder, status):
        record = collect.read(folder, ignored)
        tell(record, command, status, report)
        return EXIT_STATUS if status == 0 and record.findings else status

    return _child.run_with_folder(command, env, "UPDRAFT_SANITIZE_FOLDER", then)


def _looks_at_host(wanted):
    return bool({"all", "host", "host-access"} & set(wanted.split(",")))


def as_json(record, command, status):
    return json.dumps({
        "format": 1, "updraft": __version__, "command": command, "status": status, "product": record.product,
        "processes": record.processes, "suppressed": record.suppressed, "left_out": record.left_out,
        "findings": [dict(f.json(), title=texts.title(f.kind), meaning=texts.sentence(f), advice=texts.advice(f.kind)) for f in record.findings],
    }, ensure_ascii=False, indent=1)


def tell(record, command, status, report):
    if not record.processes:
        print(t("updraft sanitizer: no process of the command has used the virtual NPU, or all of them were killed",
                "updraft sanitizer：命令的进程均未使用虚拟 NPU，或已被强制终止"), file=sys.stderr)
        return
    if record.findings:
        print(texts.as_text(record), file=sys.stderr)
    more = t(", %d suppressed", "，已忽略 %d 项") % record.suppressed if record.suppressed else ""
    more += t(", %d more places left out", "，另有 %d 处未列出") % record.left_out if record.left_out else ""
    print(t("updraft sanitizer: %d places found%s", "updraft sanitizer：发现 %d 处问题%s") % (len(record.findings), more), file=sys.stderr)
    if not report:
        return
    written = [(report, page.as_html(record, command, status) if report.endswith((".html", ".htm")) else as_json(record, command, status))]
    if report.endswith((".html", ".htm")):
        written.append((os.path.splitext(report)[0] + ".json", as_json(record, command, status)))
    for name, text in written:
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    print("updraft sanitizer: " + ", ".join(name for name, _ in written), file=sys.stderr)
