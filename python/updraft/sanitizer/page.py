"""The report as one HTML file, without anything from elsewhere."""

import html

from updraft._texts import chinese, t
from updraft.readiness.page import STYLE
from updraft.sanitizer import texts


def _frames(frames):
    return "<br>".join("<code>%s:%d %s</code>" % (html.escape(f["file"]), f["line"], html.escape(f["function"])) for f in frames)


def _finding(number, f):
    ranks = f.ranks()
    facts = [texts.count_of(f)] + ([t("rank %s", "rank %s") % ", ".join(ranks)] if ranks else [])
    rows = []
    for heading, one in ((t("first", "前者"), f.first), (t("then", "后者"), f.second)):
        if one and one["name"] and f.kind not in ("leak", "host-access"):
            rows.append((heading, html.escape(texts.side(one))))
    if texts.memory(f):
        rows.append((t("memory", "内存"), html.escape(texts.memory(f))))
    if f.second and f.second["call"]:
        rows.append((t("call", "接口"), "<code>%s</code>" % html.escape(f.second["call"])))
    table = "".join("<tr><th>%s</th><td>%s</td></tr>" % row for row in rows)
    stacks = "".join("<details%s><summary>%s</summary>%s</details>" % (" open" if i == 0 else "", html.escape(heading), _frames(frames))
                     for i, (heading, frames) in enumerate(texts.stacks(f)))
    return '<h2 id="%s-%d"><span class="level %s">%s</span>%s</h2><p>%s</p><p>%s</p><p><b>%s</b> %s</p><table>%s</table>%s' % (
        f.kind, number, "note" if f.kind == "leak" else "fails", f.kind, html.escape(texts.title(f.kind)), html.escape(", ".join(facts)),
        html.escape(texts.sentence(f)), t("What to do:", "处理办法："), html.escape(texts.advice(f.kind)), table, stacks)


def as_html(record, command, status):
    facts = [(t("command", "命令"), " ".join(command)), (t("exit status", "退出码"), str(status)), (t("product", "型号"), record.product),
             (t("processes", "进程"), str(len(record.processes))), (t("suppressed", "已忽略"), str(record.suppressed))]
    parts = ["<!doctype html><html lang=%s><meta charset=utf-8><meta name=viewport content='width=device-width'><title>%s</title><style>%s</style>" % (
        "zh" if chinese() else "en", t("Sanitizer", "内存与流检查"), STYLE)]
    parts.append("<h1>%s</h1>" % t("Faults of streams and memory", "流与内存问题"))
    parts.append('<div class="facts">%s</div>' % "".join("<span><b>%s</b><code>%s</code></span>" % (html.escape(a), html.escape(b)) for a, b in facts))
    if not record.findings:
        parts.append("<p>%s</p>" % t("Nothing was found.", "没有发现问题。"))
    parts += [_finding(i, f) for i, f in enumerate(record.findings)]
    return "\n".join(parts) + "\n"
