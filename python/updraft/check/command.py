"""`updraft check REFERENCE… RUN`."""

import os
import sys

from updraft._texts import t
from updraft.check import data, lines, page
from updraft.check.result import FAIL
from updraft.check.runs import Run, Wrong

# In the order of the guide's list.
CHECKS = (lines.repeatable, lines.reference_precision, lines.precision, lines.loss_scale, lines.overflow_share, data.files, data.order, data.sharding, lines.flow,
          lines.hyper_parameters)


def add_parser(commands):
    parser = commands.add_parser("check", help=t("what must be so before a wrong operator is looked for, over recorded runs", "精度调优前检查：比较已记录的运行"),
                                 description=t("Compares runs that `updraft run --record FOLDER CMD` has recorded: the reference (its repeats), then the run. "
                                               "Exit status: 0 no line failed, 1 one did, 2 no such record.",
                                               "比较 `updraft run --record 目录 CMD` 记录的运行：先给出参考（可多次重复），最后给出本次运行。"
                                               "退出码：0 无不通过项，1 有不通过项，2 没有记录。"))
    parser.add_argument("runs", nargs="+", metavar="FOLDER", help=t("REFERENCE [REFERENCE…] RUN", "参考 [参考…] 本次"))
    parser.add_argument("--tolerance", type=_positive, default=0.01, metavar="X", help=t(
        "how far the ends of losses may be apart, relative (default 0.01)", "损失末值允许的相对差（默认 0.01）"))
    parser.add_argument("--html", metavar="FILE", help=t("write a page", "写出网页"))
    parser.add_argument("--json", metavar="FILE", help=t("write the list as JSON", "写出 JSON"))
    parser.set_defaults(call=main)


def _positive(text):
    import argparse

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(t("a positive number is needed, not %r", "需要正数，而不是 %r") % text)
    return value


def main(options):
    try:
        if len(options.runs) < 2:
            raise Wrong(t("name two records or more: the reference, then the run", "请给出两个以上的记录：先参考，后本次运行"))
        runs = [Run(folder) for folder in options.runs]
    except Wrong as error:
        print("updraft check: %s" % error, file=sys.stderr)
        return 2
    references, run = runs[:-1], runs[-1]
    made = [check(references, run, options) for check in CHECKS]
    print(page.as_text(made, sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    for path, text in ((options.html, page.as_html), (options.json, page.as_json)):
        if path:
            try:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text(made, references, run))
            except OSError as error:
                print("updraft check: %s: %s" % (path, error.strerror), file=sys.stderr)
                return 2
    return 1 if any(line.status == FAIL for line in made) else 0
