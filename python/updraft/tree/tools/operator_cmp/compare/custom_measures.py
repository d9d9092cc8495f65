"""What msaccucmp starts for -c FOLDER: measures of the user's own, FOLDER/algorithm/alg_NAME.py with a function

    def compare(my_output_dump_data, ground_truth_dump_data, args): return "the value", "why there is none, or ''"

usage: custom_measures.py FOLDER OPTIONS    OPTIONS as -a has them: NAME:key=value,key=value;NAME:…

The first line on stdout is a list of the names, as JSON. Then a line for each pair of arrays comes in,
{"mine": npy, "golden": npy, "names": […], "my_output_dump_file": …, "ground_truth_dump_file": …, "max": N}, and a line goes out: [[value, reason], …].
What the functions print goes to stderr.
"""

import importlib
import json
import os
import re
import sys
import types

import numpy as np


def options_of(text):
    """{NAME: {key: value}}; ValueError for another form."""
    made = {}
    for part in filter(None, text.split(";")):
        name, colon, values = part.partition(":")
        pairs = [p.split("=") for p in values.split(",") if p.strip()]
        if not colon or not name.strip() or not pairs or any(len(p) != 2 or not all(x.strip() for x in p) for p in pairs):
            raise ValueError('-a has "%s", want NAME:key=value,key=value;NAME:…' % part)
        made.setdefault(name.strip(), {}).update((k.strip(), v.strip()) for k, v in pairs)
    return made


def functions_of(folder):
    """The functions by name. ValueError where there are none, or one has another form."""
    inside = os.path.join(folder, "algorithm")
    if not os.path.isdir(inside):
        raise ValueError("-c is %s: there is no folder algorithm in it" % folder)
    names = sorted(m.group(1) for m in (re.fullmatch(r"alg_([A-Za-z0-9_]+)\.py", f) for f in os.listdir(inside)) if m)
    if not names:
        raise ValueError("%s: there is no file alg_NAME.py" % inside)
    sys.path.insert(0, folder)
    made = {}
    for name in names:
        try:
            module = importlib.import_module("algorithm.alg_" + name)
        except Exception as error:
            raise ValueError("%s/alg_%s.py: %s: %s" % (inside, name, type(error).__name__, error)) from None
        compare = getattr(module, "compare", None)
        if not callable(compare) or getattr(getattr(compare, "__code__", None), "co_argcount", 3) != 3:
            raise ValueError("%s/alg_%s.py: want a function compare(my_output_dump_data, ground_truth_dump_data, args)" % (inside, name))
        made[name] = compare
    return made


def value_of(name, compare, mine, golden, values):
    try:
        got = compare(mine, golden, types.SimpleNamespace(**values, get=values.get, get_dict=lambda: values))
        if not isinstance(got, tuple) or len(got) != 2 or not all(isinstance(x, str) for x in got):
            raise TypeError("it gives %r, want two texts: the value, and a reason or ''" % (got,))
        return list(got)
    except Exception as error:
        return ["NaN", "%s: %s: %s" % (name, type(error).__name__, error)]


def main(folder, options):
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        options, functions = options_of(options), functions_of(os.path.abspath(folder))
    except ValueError as error:
        print(json.dumps({"error": str(error)}), file=out, flush=True)
        return 1
    print(json.dumps(sorted(functions)), file=out, flush=True)
    np.seterr(divide="ignore", invalid="ignore")
    for line in sys.stdin:
        task = json.loads(line)
        mine, golden = (np.load(task[side]).reshape(-1) for side in ("mine", "golden"))
        if task["max"]:
            mine, golden = mine[:task["max"]], golden[:task["max"]]
        # those of dumps are bytes, which msaccucmp takes for numbers
        arrays = all(task[key].endswith((".npy", ".pt")) for key in ("my_output_dump_file", "ground_truth_dump_file"))
        if arrays and mine.dtype == np.bool_ and golden.dtype == np.bool_:
            answers = [["NaN", "Algorithm %s does not support Boolean types." % name] for name in task["names"]]
        else:
            mine, golden = mine.astype(np.float32), golden.astype(np.float32)
            files = {key: task[key] for key in ("my_output_dump_file", "ground_truth_dump_file")}
            answers = [value_of(name, functions[name], mine, golden, {**options.get(name, {}), **files}) for name in task["names"]]
        print(json.dumps(answers), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
