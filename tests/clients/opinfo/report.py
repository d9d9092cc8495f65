"""From results to verdicts, JSON and a printed summary."""
from collections import Counter

from . import lists

BAD = ("crash", "timeout", "error", "wrong", "notrun")  # the worst first: an entry is called after its worst sample


def verdict(result, excluded):
    if result.name in excluded:
        return "excluded"
    statuses = {s["status"] for s in result.samples}
    for bad in BAD:
        if bad in statuses:
            return bad
    # excluded here: every sample of it is; refused: the wheel itself will have none of the samples; skipped: no dtype, no samples, or the CPU refuses them all
    return "ok" if "ok" in statuses else "excluded" if "excluded" in statuses else "refused" if "refused" in statuses else "skipped"


def describe(results, suite, dtype, direction):
    excluded = lists.excluded(suite, dtype, direction)
    tiers = lists.tiers() if suite == "op" else {}
    entries = []
    for name in sorted(results):
        r = results[name]
        bad = [s for s in r.samples if s["status"] in BAD]
        entries.append({"name": name, "status": verdict(r, excluded), "tier": tiers.get(name), "dtype": r.dtype,
                        "samples": dict(Counter(s["status"] for s in r.samples)), "text": bad[0]["text"] if bad else r.text,
                        "first_bad_sample": bad[0]["sample"] if bad else None,
                        "failures": [{k: s[k] for k in ("sample", "status", "text", "difference")} for s in bad[:20]],
                        "reason": excluded.get(name, "")})
    return {"suite": suite, "dtype": dtype, "direction": direction, "entries": entries,
            "all": count(entries), "tier1": count([e for e in entries if e["tier"] is not None and e["tier"] <= 1])}


def count(entries):
    """Shares are of what can be compared: neither excluded, refused nor skipped."""
    statuses = Counter(e["status"] for e in entries)
    judged = [e for e in entries if e["status"] not in ("excluded", "refused", "skipped")]
    samples = sum((Counter(e["samples"]) for e in judged), Counter())
    share = lambda ok, total: round(100 * ok / total, 2) if total else None
    compared = sum(n for status, n in samples.items() if status not in ("skipped", "refused", "excluded"))
    return {"entries": dict(statuses), "entries_ok_percent": share(statuses["ok"], len(judged)), "samples": dict(samples),
            "samples_ok_percent": share(samples["ok"], compared)}


def failing(section):
    return {e["name"]: f"{e['status']}: {e['text']}"[:160] for e in section["entries"] if e["status"] in BAD}


def against_list(section):
    """(new failures {name: why}, listed entries that pass)."""
    listed = lists.known_failures(section["suite"], section["dtype"], section["direction"])
    bad = failing(section)
    passing = {e["name"] for e in section["entries"] if e["status"] not in BAD}
    return {n: why for n, why in bad.items() if n not in listed}, sorted(listed & passing)


def summary(section):
    lines = [f"{section['suite']}_db {section['dtype']} {section['direction']} ({section['seconds']:.0f} s)"]
    for title, key in (("all", "all"), ("tier <= 1", "tier1")):
        c = section[key]
        if not c["entries"]:
            continue
        text = lambda counts: ", ".join(f"{n} {status}" for status, n in sorted(counts.items(), key=lambda x: -x[1]))
        lines.append(f"  {title:9}  entries: {c['entries_ok_percent']} % ok ({text(c['entries'])}); "
                     f"samples: {c['samples_ok_percent']} % ok ({text(c['samples'])})")
    return "\n".join(lines)


def candidates(section):
    """Entries all of whose samples fail with one text: perhaps what the wheel itself refuses. As TOML for excluded.toml."""
    blocks = []
    for e in section["entries"]:
        texts = {f["text"] for f in e["failures"]}
        if e["status"] == "error" and set(e["samples"]) <= {"error", "skipped"} and len(texts) == 1:
            reason = texts.pop().replace("\\", "\\\\").replace('"', '\\"')
            blocks.append(f'[[entry]]\nname = "{e["name"]}"\nreason = "{reason}"\n')
    return "\n".join(blocks)


PAGE = """# OpInfo: npu against cpu

PyTorch's own test databases (`op_db`, `module_db`, `optim_db`), every sample compared with PyTorch's CPU. Shares are of the
entries and samples that can be compared: not what torch or the wheel refuses before it asks CANN, and not what
`tests/clients/opinfo/excluded.toml` lists with its reason. An entry is ok when all its samples are. "Tier <= 1": entries whose
first sample needs no operator above tier 1. What fails is in `tests/clients/opinfo/known_failures_*.txt`.
The rows are written by the commands beside them; `--markdown docs/reference/opinfo.md` does it.

| database | dtype | direction | entries compared | entries ok | samples ok | tier <= 1: entries ok | samples ok | command |
|---|---|---|---|---|---|---|---|---|
"""


def write_page(file, sections):
    """Replaces the rows of these sections."""
    rows = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if cells[0].endswith("_db"):
            rows[tuple(cells[:3])] = line
    for s in sections:
        key = f"{s['suite']}_db", s["dtype"], s["direction"]
        percent = lambda c, what: "" if c[what] is None else f"{c[what]:.2f} %"
        compared = sum(n for status, n in s["all"]["entries"].items() if status not in ("excluded", "refused", "skipped"))
        shares = [percent(c, what) for c in (s["all"], s["tier1"]) for what in ("entries_ok_percent", "samples_ok_percent")]
        command = f"`python -m tests.clients.opinfo.run --suite {s['suite']} --dtypes {s['dtype']} --direction {s['direction']}`"
        rows[key] = "| " + " | ".join([*key, str(compared), *shares, command]) + " |"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PAGE + "\n".join(rows[k] for k in sorted(rows)) + "\n")
