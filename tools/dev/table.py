"""Prints what ./dev test ran: area, tests, seconds, budget. Its last line is the sum.

usage: table.py FILE    one line an area: name, seconds, budget in seconds, exit status, JUnit files…
Exits 1 when anything failed or an area gave no result.
"""

import sys
import xml.etree.ElementTree as ET


def count(path):
    """(passed, failed, skipped) of a JUnit file, by its cases: writers differ in their totals."""
    passed = failed = skipped = 0
    for case in ET.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"} or case.get("status") == "fail":
            failed += 1
        elif "skipped" in kinds or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    total = [0, 0]
    print("%-12s %7s %7s %8s %9s %9s" % ("area", "passed", "failed", "skipped", "seconds", "budget"))
    for line in open(sys.argv[1]):
        name, seconds, budget, status, *files = line.split()
        sums = [0, 0, 0]
        for path in files:
            try:
                sums = [a + b for a, b in zip(sums, count(path))]
            except (OSError, ET.ParseError):
                sums[1] += 1  # the runner died, or was ended by a time-out, before it could report
        if status != "0" and sums[1] == 0:
            sums[1] = 1
        total = [total[0] + sums[0], total[1] + sums[1]]
        over = "  over budget" if int(seconds) > int(budget) else ""
        print("%-12s %7d %7d %8d %9s %9s%s" % (name, *sums, seconds, budget, over))
    print("%d passed, %d failed" % tuple(total))
    return 1 if total[1] or not total[0] else 0


sys.exit(main())
