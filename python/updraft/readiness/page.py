"""A report as one HTML file, without anything from elsewhere, and as JSON."""

import html
import json

from updraft import __version__
from updraft._texts import chinese, t
from updraft.readiness.findings import MOST_ROWS, milliseconds, percent

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882 }
body { font: 15px/1.5 system-ui, "Noto Sans CJK SC", sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: 13px }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums } td.n { white-space: nowrap }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere }
.level { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: 12px; color: #fff; margin-right: .5rem; vertical-align: 2px }
.fails { background: #b3261e } .slow { background: #8a5300 } .note { background: #3b5b8c }
.bar { background: var(--soft); height: .7rem; min-width: 1px; display: inline-block; vertical-align: middle }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 2rem; padding: .6rem 0; border-bottom: 1px solid var(--line) } .facts b { display: block }
summary { cursor: pointer; margin-top: .5rem }
"""


def as_json(record, found, command, status):
    return json.dumps({
        "format": 1, "updraft": __version__, "command": command, "status": status, "product": record.product,
        "processes": [p["process"] for p in record.processes], "devices": record.devices,
        "findings": [f.json() for f in found],
        "operators": record.operators,
        "signatures": [dict(s, shapes=sorted(s["shapes"])) for s in record.signatures],
        "waits": record.waits, "fallbacks": record.fallbacks, "lost_gradients": record.lost_gradients, "gaps": record.gaps,
        "loss_scaling": {"checks": record.checks, "overflows": record.overflows},
    }, ensure_ascii=False, indent=1)


def _is_number(text):
    return text[:1].isdigit() and " " not in text.removesuffix(" ms").removesuffix(" %") or text.startswith("> ")


def _cell(text, tag, number):
    first, _, code = text.partition("\n")
    shown = html.escape(first) + ("<br><code>%s</code>" % html.escape(code) if code else "")
    return "<%s%s>%s</%s>" % (tag, ' class="n"' if number else "", shown, tag)


def table(columns, rows):
    if not rows:
        return ""
    numbers = [all(_is_number(str(row[i])) for row in rows) for i in range(len(columns))]
    line = lambda row, tag="td": "<tr>%s</tr>" % "".join(_cell(str(c), tag, n) for c, n in zip(row, numbers))
    head = line(columns, "th")
    shown = "<table>%s%s</table>" % (head, "".join(map(line, rows[:MOST_ROWS])))
    if len(rows) > MOST_ROWS:
        shown += "<details><summary>%s</summary><table>%s%s</table></details>" % (
            t("%d more", "另有 %d 行") % (len(rows) - MOST_ROWS), head, "".join(map(line, rows[MOST_ROWS:])))
    return shown


def _level(level):
    return '<span class="level %s">%s</span>' % (
        level, {"fails": t("fails on the card", "真卡上失败"), "slow": t("slow", "性能"), "note": t("note", "提示")}[level])


def _engines(record):
    names = {"Cube": t("Cube: products, convolutions", "Cube：矩阵乘、卷积"), "Vector": t("Vector: elementwise, sums", "Vector：逐元素、归约"),
             "MixCube": t("both: attention", "两者：注意力"), "AICPU": "AI CPU", "SDMA": t("copies", "拷贝"), "-": t("collectives, others", "通信及其他")}
    times = {}
    for o in record.operators:
        times[o["engine"]] = times.get(o["engine"], 0) + o["nanoseconds"]
    rows = "".join('<tr><td>%s</td><td class="n">%s</td><td><span class="bar" style="width:%.1f%%"></span></td></tr>' % (
        html.escape(names.get(engine, engine)), percent(n, record.busy), 100 * n / max(record.busy, 1))
        for engine, n in sorted(times.items(), key=lambda x: -x[1]))
    return "<table>%s</table>" % rows


def as_html(record, found, command, status):
    counts = {level: sum(f.level == level for f in found) for level in ("fails", "slow", "note")}
    facts = [(t("command", "命令"), " ".join(command)), (t("exit status", "退出码"), str(status)), (t("product", "型号"), record.product),
             (t("processes", "进程"), str(len(record.processes))), (t("time of the devices", "设备时间"), milliseconds(record.span)),
             (t("most memory at once", "内存峰值"), "%.2f GiB" % (record.peak_memory / 2**30))]
    parts = ["<!doctype html><html lang=%s><meta charset=utf-8><meta name=viewport content='width=device-width'><title>%s</title><style>%s</style>" % (
        "zh" if chinese() else "en", t("Ready for the card?", "真卡就绪报告"), STYLE)]
    parts.append("<h1>%s</h1>" % t("What a card would say of this run", "真卡会如何看待这次运行"))
    parts.append('<div class="facts">%s</div>' % "".join("<span><b>%s</b><code>%s</code></span>" % (html.escape(a), html.escape(b)) for a, b in facts))
    if not found:
        parts.append("<p>%s</p>" % t("Nothing was found that a card would refuse or be slow at.", "没有发现真卡会拒绝或明显变慢之处。"))
    else:
        parts.append("<p>%s</p>" % " ".join("%s%d" % (_level(level), n) for level, n in counts.items() if n))
    for f in found:
        parts.append('<h2 id="%s">%s%s</h2><p>%s</p><p><b>%s</b> %s</p>%s' % (
            f.id, _level(f.level), html.escape(f.title), html.escape(f.meaning), t("What to do:", "处理办法："), html.escape(f.advice),
            table(f.columns, f.rows)))
    parts.append("<h2>%s</h2>%s" % (t("Time by unit of the device", "按设备单元统计时间"), _engines(record)))
    parts.append("<p>%s</p>" % t("Times are those of this machine's CPU. They say what there is to do, not how long a card takes for it.",
                                 "时间为本机 CPU 所测；它们说明工作构成，而非真卡耗时。"))
    parts.append("<h2>%s</h2>%s" % (t("Operators", "算子"), table(
        (t("operator", "算子"), t("unit", "单元"), t("calls", "次数"), t("time here", "此处时间"), t("share", "占比"), "GFLOP", "MB"),
        [(o["name"], o["engine"], str(o["count"]), milliseconds(o["nanoseconds"]), percent(o["nanoseconds"], record.busy),
          "%.3g" % (o["flops"] / 1e9), "%.3g" % (o["bytes"] / 1e6)) for o in record.operators])))
    parts.append("<h2>%s</h2>%s" % (t("Types and shapes", "类型与形状"), table(
        (t("operator", "算子"), t("types", "类型"), t("calls", "次数"), t("shapes", "形状"), t("first at", "首次出现")),
        [(s["operator"], s["types"], str(s["count"]), _shapes(s), _first(s)) for s in sorted(record.signatures, key=lambda s: -s["count"])])))
    return "\n".join(parts) + "\n"


def _shapes(signature):
    shapes = sorted(signature["shapes"])
    return shapes[0] if len(shapes) == 1 else "%s … (%s%d)" % (shapes[0], "> " if signature["more_shapes"] else "", len(shapes))


def _first(signature):
    from updraft.readiness.collect import place

    return place(signature["where"])
