"""The list on a terminal, as JSON, and as one HTML page that needs no network."""

import html
import json

from updraft import __version__
from updraft._texts import chinese, t
from updraft.check.result import FAIL, PASS, UNKNOWN
from updraft.readiness.page import STYLE, table

_MARKS = {PASS: "ok", FAIL: "fails", UNKNOWN: "slow"}
_COLOURS = {PASS: "32", FAIL: "31", UNKNOWN: "33"}


def word(status):
    return t(status, {PASS: "通过", FAIL: "不通过", UNKNOWN: "未知"}[status])


def counts(lines):
    return {status: sum(line.status == status for line in lines) for status in (PASS, FAIL, UNKNOWN)}


def as_text(lines, colour=False):
    made = []
    for line in lines:
        mark = word(line.status)
        made.append("%-4s  %s  %s" % (line.number, "\033[%sm%s\033[0m" % (_COLOURS[line.status], mark) if colour else mark, line.title))
        made += ["        " + text for text in line.evidence]
        if line.advice:
            made.append("        " + t("What to do: ", "处理办法：") + line.advice)
    n = counts(lines)
    made.append(t("%d pass, %d fail, %d not known", "通过 %d，不通过 %d，未知 %d") % (n[PASS], n[FAIL], n[UNKNOWN]))
    return "\n".join(made)


def as_json(lines, references, run):
    return json.dumps({"format": 1, "updraft": __version__, "references": [r.folder for r in references], "run": run.folder,
                       "lines": [line.json() for line in lines], "counts": counts(lines)}, ensure_ascii=False, indent=1)


def as_html(lines, references, run):
    parts = ["<!doctype html><html lang=%s><meta charset=utf-8><meta name=viewport content='width=device-width'><title>%s</title><style>%s.ok { background: #1d6b3a }"
             "</style>" % ("zh" if chinese() else "en", t("Before looking for a wrong operator", "精度调优前检查"), STYLE)]
    parts.append("<h1>%s</h1>" % t("Before looking for a wrong operator", "精度调优前检查"))
    facts = [(t("reference", "参考基准"), ", ".join(r.folder for r in references)), (t("run", "本次运行"), run.folder), (t("product", "型号"), run.product),
             (t("ranks", "rank 数"), str(max(1, len(run.ranks)))), (t("steps", "步数"), str(run.steps))]
    parts.append('<div class="facts">%s</div>' % "".join("<span><b>%s</b><code>%s</code></span>" % (html.escape(a), html.escape(b)) for a, b in facts))
    parts.append("<p>%s</p>" % " ".join('<span class="level %s">%s</span>%d' % (_MARKS[s], word(s), n) for s, n in counts(lines).items() if n))
    for line in sorted(lines, key=lambda x: (FAIL, UNKNOWN, PASS).index(x.status)):
        parts.append('<h2 id="%s"><span class="level %s">%s</span>%s. %s</h2>' % (
            line.id, _MARKS[line.status], word(line.status), html.escape(line.number), html.escape(line.title)))
        parts.append("".join("<p>%s</p>" % html.escape(text) for text in line.evidence))
        if line.advice:
            parts.append("<p><b>%s</b> %s</p>" % (t("What to do:", "处理办法："), html.escape(line.advice)))
        parts.append(table(line.columns, line.rows))
    return "\n".join(parts) + "\n"
