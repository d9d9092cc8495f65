"""ac, ls and ni: overflow, operators, one operator."""

import os

from precision_tool.lib import dump, graph, overflow, places
from precision_tool.lib.panel import box, log, table


def _tensor_lines(path, indent="  "):
    lines = []
    for t in dump.decode(path):
        lines.append("%s|- %s" % (indent, os.path.basename(t.path)))
        lines.append("%s|- %s" % (indent, dump.figures(dump.load(t.path))))
    return lines


def check(most=3):
    """What fused, and the overflows in the order of execution. How many overflows there are."""
    runs = places.runs()
    fused = {}
    for run in runs[:1]:
        for op in graph.find(run):
            if op.fusion_pass:
                fused[op.fusion_pass] = fused.get(op.fusion_pass, 0) + 1
    if fused:
        table("Fusion", ["PassName", "Operators"], sorted(fused.items(), key=lambda x: -x[1]))
    found = overflow.found(places.overflow_dump()) if os.path.isdir(places.overflow_dump()) else []
    log("INFO", "Find [%d] overflow entries in %s" % (len(found), places.overflow_dump()))
    for o in found[:most]:
        kind, name = (o.file.type, o.file.name) if o.file else ("?", "?")
        lines = ["- [%s][Status:%d][TaskId:%d] %s" % (o.kind, o.status, o.task, overflow.meaning(o.kind, o.status)),
                 "- First overflow file timestamp [%d] -" % o.time]
        if o.file:
            lines += _tensor_lines(o.file.path)
        box("[%s][%d] %s" % (kind, o.task, name), lines)
    if len(found) > most:
        log("INFO", "%d more: ac -l %d shows them" % (len(found) - most, len(found)))
    return len(found)


def listing(name="", op_type="", fusion_pass="", kernel=""):
    runs = places.runs()
    if not runs:
        raise places.Trouble("there is no run in %s: the script's action dump makes one" % places.npu("debug_0"))
    found = graph.find(runs[0], name, op_type, fusion_pass, kernel)
    for op in found:
        print("[%s]%s %s" % (op.type, "[%s]" % op.fusion_pass if op.fusion_pass else "[]", op.name))
    if not found and not (fusion_pass or kernel):
        # a script without graphs: the operators are those of the dump
        seen = dict.fromkeys((f.type, f.name) for f in dump.files(places.npu(runs[0], "dump"))
                             if name.lower() in f.name.lower() and op_type.lower() in f.type.lower())
        for kind, of in seen:
            print("[%s][] %s" % (kind, of))
        return len(seen)
    return len(found)


def _node(op, run, attributes):
    lines = ["[%s] %s" % (op.type, op.name)]
    if op.fusion_pass:
        lines.append("PassName: %s" % op.fusion_pass)
        lines.append("OriginOp: %s" % op.originals)
    if attributes:
        lines += ["Attr:"] + [" %s: %s" % pair for pair in sorted(op.attributes.items()) if not pair[0].startswith("_")]
    lines.append("Input:")
    for i, entry in enumerate(op.inputs):
        if not entry:
            continue
        descriptor = op.input_descriptors[i] if i < len(op.input_descriptors) else "[][][]"
        lines.append(" -[%d]%s %s" % (i, "[][][]" if entry.endswith(":-1") else descriptor, entry))
    lines.append("Output:")
    for i, descriptor in enumerate(op.outputs):
        lines.append(" -[%d]%s %s" % (i, descriptor, op.consumers.get(i, [])))
    return lines + _dumped(run, op.name)


def _dumped(run, name):
    lines = []
    for f in dump.of_operator(run, name)[:1]:
        tensors = dump.decode(f.path)
        for title, side in (("NpuDumpInput:", "input"), ("NpuDumpOutput:", "output")):
            of = [t for t in tensors if t.side == side]
            if of:
                lines.append(title)
            for t in of:
                lines += [" -[%d] %s" % (t.index, t.path), "     |- %s" % dump.figures(dump.load(t.path))]
    return lines


def node(name, rule=None, attributes=False, depth=0):
    """One operator in each run that has it."""
    shown = 0
    for run in places.runs():
        graphs = [graph.Graph(rule)] if rule else graph.graphs(run)
        op = next((g.ops[name] for g in graphs if name in g.ops), None)
        if op is None:
            op = next((o for g in graphs for o in g.ops.values() if dump.clean(o.name) == dump.clean(name)), None)
        lines = _node(op, run, attributes) if op else _dumped(run, name)
        if lines:
            box("[%s]%s" % (run, op.name if op else name), lines)
            shown += 1
        if op and depth:
            around(next(g for g in graphs if op.name in g.ops), op, depth, run)
    if not shown:
        log("WARNING", "no operator %s in the graphs and dumps of %s: ls -n shows names" % (name, places.data()))
    return shown


def around(of, op, depth, run):
    """The operators near one as a picture, dot's text where graphviz is missing."""
    near, edges = {op.name}, set()
    for _ in range(depth):
        for name in list(near):
            for entry in of.ops[name].inputs:
                producer = entry.rpartition(":")[0]
                if producer in of.ops:
                    near.add(producer)
            for names in of.ops[name].consumers.values():
                near.update(names)
    for name in near:
        for entry in of.ops[name].inputs:
            producer = entry.rpartition(":")[0]
            if producer in near:
                edges.add((producer, name))
    quote = lambda text: '"%s"' % text.replace('"', "'")
    text = "digraph {\n rankdir=TB; node [shape=box fontname=monospace];\n" + "".join(
        " %s [label=%s%s];\n" % (quote(n), quote(of.ops[n].type + "\\n" + n), " style=filled" if n == op.name else "") for n in sorted(near)) + "".join(
        " %s -> %s;\n" % (quote(a), quote(b)) for a, b in sorted(edges)) + "}\n"
    stem = os.path.join(places.temp("op_graph", run), dump.clean(op.name))
    with open(stem + ".dot", "w") as file:
        file.write(text)
    import shutil
    import subprocess

    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", stem + ".dot", "-o", stem + ".svg"], check=False)
        log("INFO", "written to %s.svg" % stem)
    else:
        log("INFO", "written to %s.dot; graphviz (dot) makes a picture of it" % stem)
