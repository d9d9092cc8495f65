"""The rules of the trace event format, as chrome://tracing and Perfetto read it."""

import collections

PHASES = {"X": {"name", "pid", "tid", "ts", "dur"}, "M": {"name", "pid", "args"}, "C": {"name", "pid", "ts", "args"},
          "s": {"name", "cat", "id", "pid", "tid", "ts"}, "f": {"name", "cat", "id", "pid", "tid", "ts"}}


def check(events):
    """Every event has its fields in their types; slices of a lane nest; each end of an arrow lies on a slice."""
    lanes, arrows = collections.defaultdict(list), collections.defaultdict(dict)
    for event in events:
        assert PHASES[event["ph"]] <= set(event), event
        assert isinstance(event["pid"], int) and isinstance(event.get("tid", 0), int), event
        if "ts" in event:
            assert float(event["ts"]) > 0, event
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            begin = nanoseconds(event["ts"])
            lanes[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000)))
        if event["ph"] in "sf":
            assert event["ph"] not in arrows[event["cat"], event["id"]], event
            arrows[event["cat"], event["id"]][event["ph"]] = event
    for lane, slices in lanes.items():
        slices.sort(key=lambda s: (s[0], -s[1]))
        open_ends = []
        for begin, end in slices:
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], "slices of lane %s overlap" % (lane,)
            open_ends.append(end)
    for key, ends in arrows.items():
        assert set(ends) == {"s", "f"}, "the arrow %s has one end" % (key,)
        assert nanoseconds(ends["s"]["ts"]) <= nanoseconds(ends["f"]["ts"]), key
        for end in ends.values():
            at = nanoseconds(end["ts"])
            assert any(begin <= at <= last for begin, last in lanes[end["pid"], end["tid"]]), end


def nanoseconds(ts):
    whole, _, part = str(ts).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def processes(events):
    return {e["args"]["name"] for e in events if e["name"] == "process_name"}
