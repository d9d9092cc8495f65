"""ONNX's own node cases through the official onnxruntime-cann. Knows nothing of Updraft; run by the Python of .venv-onnxruntime.

usage: updraft run .venv-onnxruntime/bin/python tests/graph/onnx_nodes.py [--sample [--bodies] | NAME…] [--parser | --atc [--base]] [--jobs N] [--json]

A case counts when onnxruntime's CPU provider passes it. It is
  npu       right, and every node ran on CANNExecutionProvider (onnxruntime's profile says where nodes ran)
  partly    right, and some nodes ran elsewhere
  fell back right, and no node ran on CANNExecutionProvider: onnxruntime computed it while it loaded the model, or on the CPU
  failed    an error, a wrong result, a crash or no end within a minute
  uncounted the CPU provider does not pass it
With --parser there is no onnxruntime: models go through aclgrphParseONNXFromMem (ge_client.py), and a case counts when all its inputs
and outputs are tensors of types that the virtual NPU has. With --atc they are compiled by atc and run by pyACL (atc_client.py), and
numbers of bfloat16, which numpy has not, do not count either; --base leaves out the cases of expanded functions and of operator sets after 18.
Each comparison is that of onnx.backend.test with the case's own tolerances. Cases run in processes that are forked from this one:
one that crashes ends only itself.
"""

import argparse
import collections
import json
import os
import re
import selectors
import signal
import sys
import tempfile
import time
import warnings

CANN = "CANNExecutionProvider"
RANDOM = re.compile("test_bernoulli|test_training_dropout(?!_zero)")
SECONDS = 60  # of one case, both providers
# onnxruntime refuses operator sets that are newer than itself otherwise
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"


def collect():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case import node

    # what draws random numbers is right with others than the reference's
    return {case.name: case for case in node.collect_testcases(None) if not RANDOM.match(case.name)}


def kind_of(case):
    """The operator that the case is about."""
    return case.model.graph.node[0].op_type


def weight(case):
    """How much of an operator a case asks for."""
    only = case.model.graph.node[0]
    return len([i for i in only.input if i]), len(only.attribute), len(only.output)


def sample(cases):
    """Of every operator the case with the most inputs and attributes; of expanded functions, which are made of the same
    operators, every twentieth."""
    best, expanded = {}, []
    for name, case in sorted(cases.items()):
        if "_expanded" in name:
            expanded.append(name)
        elif kind_of(case) not in best or weight(case) > weight(cases[best[kind_of(case)]]):
            best[kind_of(case)] = name
    return sorted([*best.values(), *expanded[::20]])


def is_base(case):
    """One that is no function written out, of operator set 18 or before."""
    return "_expanded" not in case.name and all(o.version <= 18 for o in case.model.opset_import if o.domain in ("", "ai.onnx"))


def has_bodies(case):
    from onnx import AttributeProto

    nodes = [*case.model.graph.node, *(n for f in case.model.functions for n in f.node)]
    return any(a.type == AttributeProto.GRAPH for n in nodes for a in n.attribute)


def has_texts(case):
    from onnx import TensorProto

    def texts(value):
        of = value.type
        while of.WhichOneof("value") in ("sequence_type", "optional_type"):
            of = getattr(of, of.WhichOneof("value")).elem_type
        return of.tensor_type.elem_type == TensorProto.STRING

    graph = case.model.graph
    return any(texts(v) for v in [*graph.input, *graph.output])


# --- in a forked process ---------------------------------------------------------------------------------------------


def places(profile):
    """How many nodes ran on which provider."""
    with open(profile) as f:
        events = json.load(f)
    return collections.Counter(e["args"]["provider"] for e in events
                               if e.get("cat") == "Node" and e.get("args", {}).get("provider"))


def run_on(case, cann):
    import onnxruntime.backend
    from onnx.backend.test.runner import Runner

    os.environ["ORT_ONNX_BACKEND_EXCLUDE_PROVIDERS"] = "" if cann else CANN
    ready = onnxruntime.backend.prepare(case.model, "CPU", enable_profiling=cann, profile_file_prefix="profile", log_severity_level=4)
    session = ready._session
    if cann and session.get_providers()[0] != CANN:
        raise AssertionError("onnxruntime made no %s" % CANN)
    for inputs, outputs in case.data_sets:
        Runner.assert_similar_outputs(plain(outputs), list(ready.run(plain(inputs))), case.rtol, case.atol)
    if not cann:
        return None
    ran = places(session.end_profiling())
    return "fell back" if not ran[CANN] else "npu" if set(ran) == {CANN} else "partly"


def plain(values):
    import numpy
    from onnx import TensorProto, numpy_helper

    arrays = [numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for v in values]
    return [numpy.asarray(v) if isinstance(v, numpy.generic) else v for v in arrays]


def run_without(case, door):
    """Not through onnxruntime, but the parser of GE or atc."""
    import numpy
    from onnx.backend.test.runner import Runner

    import ge_client

    global client
    if client is None and door == "atc":
        import atc_client
        client = atc_client.AtcClient()
    elif client is None:
        client = ge_client.Client()
    types = set(ge_client.TYPES) - ({"bfloat16"} if door == "atc" else set())
    for inputs, outputs in case.data_sets:
        inputs, outputs = plain(inputs), plain(outputs)
        if not all(isinstance(v, numpy.ndarray) and v.dtype.name in types for v in [*inputs, *outputs]):
            return "uncounted"
        Runner.assert_similar_outputs(outputs, client.run(case.model.SerializeToString(), inputs, len(outputs)), case.rtol, case.atol)
    return "npu"


client = None


def short(error):
    return " ".join(("%s: %s" % (type(error).__name__, error)).split())[:400]


def judge(case, log, door):
    if door:
        try:
            return run_without(case, door), ""
        except Exception as error:
            return "failed", short(error)
    try:
        run_on(case, False)
    except Exception as error:
        return "uncounted", short(error)
    log.seek(0)
    log.truncate()
    try:
        return run_on(case, True), ""
    except Exception as error:
        log.flush()
        with open(log.name, errors="replace") as said:
            # onnxruntime throws the reason of a refusal away: it is on stderr
            reasons = [line.strip() for line in said if line.startswith("updraft: ")]
        return "failed", reasons[-1][:400] if reasons else short(error)


def work(cases, names, to, door):
    os.chdir(tempfile.mkdtemp())  # onnxruntime leaves profiles and offline models there
    log = open(os.path.abspath("stderr"), "w+")
    os.dup2(log.fileno(), 2)
    for name in names:
        os.write(to, ("> %s\n" % name).encode())
        status, reason = judge(cases[name], log, door)
        os.write(to, (json.dumps({"name": name, "status": status, "reason": reason}) + "\n").encode())


# --- in this process -------------------------------------------------------------------------------------------------


class Worker:
    def __init__(self, cases, names, door):
        self.names, self.current, self.text, self.since = list(names), None, b"", time.monotonic()
        self.fd, to = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self.fd)
                work(cases, names, to, door)
                status = 0
            finally:
                os._exit(status)
        os.close(to)

    def lines(self):
        """What it said since; None: it has ended."""
        data = os.read(self.fd, 1 << 16)
        if not data:
            return None
        self.text += data
        *whole, self.text = self.text.split(b"\n")
        return [line.decode() for line in whole]


def run_all(cases, names, jobs, door, answer):
    # A text in a tensor makes onnxruntime itself write where it must not: such a case has a process of its own.
    alone = [n for n in names if has_texts(cases[n])]
    rest = [n for n in names if n not in set(alone)]
    waiting = [rest[i::jobs] for i in range(jobs)] + [[n] for n in alone]
    selector, running = selectors.DefaultSelector(), 0
    while running or any(waiting):
        while running < jobs and waiting:
            if part := waiting.pop(0):
                worker = Worker(cases, part, door)
                selector.register(worker.fd, selectors.EVENT_READ, worker)
                running += 1
        for key, _ in selector.select(1):
            worker = key.data
            lines = worker.lines()
            for line in lines or []:
                if line.startswith("> "):
                    worker.current, worker.since = line[2:], time.monotonic()
                else:
                    worker.names.remove(worker.current)
                    worker.current, worker.since = None, time.monotonic()
                    answer(json.loads(line))
            if lines is None:
                selector.unregister(worker.fd)
                os.close(worker.fd)
                running -= 1
                _, status = os.waitpid(worker.pid, 0)
                if worker.current:
                    how = "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit status %d" % os.WEXITSTATUS(status)
                    answer({"name": worker.current, "status": "failed", "reason": "crashed: " + how})
                    worker.names.remove(worker.current)
                elif worker.names:
                    raise SystemExit("a process ended before its cases: %s" % worker.names[:5])
                waiting.append(worker.names)
        for key in list(selector.get_map().values()):
            worker = key.data
            if worker.current and time.monotonic() - worker.since > SECONDS:
                os.kill(worker.pid, signal.SIGKILL)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*")
    options.add_argument("--sample", action="store_true")
    options.add_argument("--bodies", action="store_true", help="also the cases of If, Loop and Scan, in functions too")
    options.add_argument("--parser", dest="door", action="store_const", const="parser", help="without onnxruntime")
    options.add_argument("--atc", dest="door", action="store_const", const="atc", help="without onnxruntime: atc and pyACL")
    options.add_argument("--base", action="store_true", help="no expanded functions, operator sets up to 18")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--json", action="store_true", help="a line for each case as it ends")
    options = options.parse_args()
    cases = collect()
    names = options.names or (sample(cases) if options.sample else sorted(cases))
    if options.bodies:
        names = sorted({*names, *(name for name in cases if has_bodies(cases[name]))})
    if options.base:
        names = [name for name in names if is_base(cases[name])]
    answers = []

    def answer(one):
        answers.append(one)
        if options.json:
            print("@@" + json.dumps(one), flush=True)

    with tempfile.TemporaryDirectory(prefix="onnx_nodes_") as tempfile.tempdir:
        run_all(cases, names, options.jobs, options.door, answer)
    if options.json:
        return
    for one in sorted(answers, key=lambda a: a["name"]):
        if one["status"] in ("failed", "fell back", "partly") or options.names:
            print("%-9s %s  %s" % (one["status"], one["name"], one["reason"]))
    number = collections.Counter(a["status"] for a in answers)
    counted = len(answers) - number["uncounted"]
    if options.door:
        through = {"parser": "the parser", "atc": "atc and pyACL"}[options.door]
        print("%d of %d cases of tensors are right through %s; %d uncounted" % (number["npu"], counted, through, number["uncounted"]))
        return
    print("%d of %d cases that onnxruntime's CPU provider passes are right: %d on %s alone, %d partly, %d fell back; %d failed; %d uncounted"
          % (counted - number["failed"], counted, number["npu"], CANN, number["partly"], number["fell back"], number["failed"], number["uncounted"]))


if __name__ == "__main__":
    main()
