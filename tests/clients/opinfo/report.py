"""From results to verdicts, JSON, a printed summary and the page."""
import json
import subprocess
import time
from collections import Counter
from pathlib import Path

from . import lists, observed

ROOT = Path(__file__).resolve().parents[3]
RESULTS, PAGE_FILE = Path(__file__).with_name("results.json"), ROOT / "docs" / "reference" / "opinfo.md"

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
                        "by": observed.of_entry([s["by"] for s in r.samples if s["by"]]), "operators": r.operators,
                        "samples": dict(Counter(s["status"] for s in r.samples)),
                        "samples_by": dict(Counter(s["by"] for s in r.samples if s["by"] and s["status"] == "ok")),
                        "rules": dict(Counter(s["rule"] for s in r.samples if s["rule"])), "text": bad[0]["text"] if bad else r.text,
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

PyTorch's own test databases (`op_db`, `module_db`, `optim_db`): every sample of every entry on the virtual NPU, compared with PyTorch's
CPU. An entry is right when all its samples are. Who computed them is observed, call by call (`tests/clients/opinfo/observed.py`):

- **Updraft**: operators of ours computed what was compared.
- **CPU**: torch_npu has no kernel for the function and ran it on the CPU, which says nothing of Updraft but that copies work.
- **both**: of an entry's samples, or of one sample's steps, some were computed here and some there.
- **no operator**: views, metadata, copies of memory, empty results.

In backward rows this is said of the gradients alone. **Refused** and **excluded** entries are those of which no sample is compared, because
the wheel refuses it before it asks CANN for anything, or by a rule of `tests/clients/opinfo/excluded.toml`; the second table counts
the rules. **No such type**: the database has no samples of that type (or no gradients) for the entry, or the CPU refuses them all;
entries that have no float32 are compared in another type in the float32 rows. What fails is listed in
`tests/clients/opinfo/known_failures_*.txt`; a failure that is not, or one listed that passes, fails the test.

Each row is written by `python -m tests.clients.opinfo.run --suite SUITE --dtypes DTYPE --direction DIRECTION --publish` (all of them by
`--rows all --publish`), at the date and with the state of `src/` (its last commit) that it says. `./dev test` runs the forward
rows in float32, `./dev test all` all of them.

| database | type | direction | entries | Updraft | both | CPU | no operator | wrong | refused | excluded | no such type | samples: Updraft | others | wrong | not compared | date | src/ |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""
RULES = """
## Rules

Samples that each rule of `excluded.toml` left out (or, where a difference of kind is allowed, compared with it), entries in brackets.

| rule | entries and samples |
|---|---|
"""
KEYS = ("suite", "dtype", "direction")


def row_of(section):
    """What is kept of a row: counts, and which rules it met."""
    entries = section["entries"]
    by, samples, rules = Counter(), Counter(), {}
    for e in entries:
        by[e["by"] if e["status"] == "ok" else "wrong" if e["status"] in BAD else e["status"]] += 1
        for status, n in e["samples"].items():
            samples["wrong" if status in BAD else status] += n
        samples.update({"by " + who: n for who, n in e["samples_by"].items()})
        for reason, n in e["rules"].items():
            rules.setdefault(reason, [0, 0])
            rules[reason][0] += 1
            rules[reason][1] += n
        if e["status"] == "excluded" and e["reason"]:
            rules.setdefault(e["reason"], [0, 0])[0] += 1
    return {"entries": len(entries), "by": dict(by), "samples": dict(samples), "rules": rules, "date": time.strftime("%Y-%m-%d"), "src": commit()}


def commit():
    """The last commit that changed src/, and whether it has changed since."""
    git = lambda *words: subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()
    return git("log", "-1", "--format=%h", "--", "src") + (" and changes" if git("status", "--porcelain", "--", "src") else "")


def published():
    return json.loads(RESULTS.read_text())


def page(rows):
    lines, rules = [], {}
    for key in sorted(rows):
        row = rows[key]
        suite, dtype, direction = key.split()
        by, samples = Counter(row["by"]), Counter(row["samples"])
        others = samples["by mixed"] + samples["by cpu"] + samples["by none"]
        cells = [f"{suite}_db", dtype, direction, row["entries"], *(by[who] for who in observed.BY), by["wrong"], by["refused"], by["excluded"], by["skipped"],
                 samples["by updraft"], others, samples["wrong"], samples["skipped"] + samples["refused"] + samples["excluded"], row["date"], row["src"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
        for reason, (entries, n) in row["rules"].items():
            rules.setdefault(reason, []).append(f"{suite} {dtype} {direction}: {n or 'all'} ({entries})")
    told = [f"| {reason} | {'; '.join(where)} |".replace("\n", " ") for reason, where in sorted(rules.items())]
    return PAGE + "\n".join(lines) + "\n" + RULES + "\n".join(told) + "\n"


def publish(sections):
    """Replaces the rows of these sections in results.json and on the page, and what tiers.tsv says of float32."""
    rows = published() if RESULTS.exists() else {}
    for section in sections:
        rows[" ".join(section[k] for k in KEYS)] = row_of(section)
        if section["suite"] == "op" and section["dtype"] == "float32":
            lists.write_tiers(section)
    RESULTS.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    PAGE_FILE.write_text(page(rows))
