"""Makes migrate/support/data/tf_api.tsv: TensorFlow's public names, each in a class of the guide.

What data/tf_rules.tsv says goes first, then what the wheel itself calls deprecated, then what was seen to run (data/tf_seen.tsv).

usage: tf_api.py NAMES NEWER [OUT]      what tf_wheel_names.py printed of 2.6.5, and tf_names.py of 2.15.1
"""

import collections
import pathlib
import sys

DATA = pathlib.Path(__file__).parents[2] / "migrate/support/data"
CLASSES = ["supported", "tool_api", "tool_train", "no_harmless", "no_avoid", "deprecated", "none", "analysing"]
HEAD = """\
# TensorFlow's public API by class (tf_rules.tsv says which and why); made by tools/migrate_facts/tf_api.py from the
# %s and of %s. by: the row of tf_rules.tsv; "wheel" where TensorFlow itself says so; seen:NAME, the row of
# tf_seen.tsv; empty where nobody knows. newer: of the second version, where that differs; absent: it has no such name
name\tclass\tby\tnewer\tnewer by
"""


def read_rules():
    lines = [line for line in (DATA / "tf_rules.tsv").read_text().splitlines() if not line.startswith("#")][1:]
    rules = {}
    for line in lines:
        pattern, cls = line.split("\t")[:2]
        if cls not in CLASSES:
            sys.exit("tf_rules.tsv: %s: class %r, wanted one of %s" % (pattern, cls, ", ".join(CLASSES)))
        rules[pattern] = cls
    return rules


def match(rules, name):
    """The rule of a name: itself, or the longest NAME.* above it (which also covers NAME)."""
    if name in rules:
        return name
    while name:
        if name + ".*" in rules:
            return name + ".*"
        name = name.rpartition(".")[0]
    return None


def classify(names, rules, seen):
    """names: {name: (kind, deprecated, canonical name)}; gives {name: (class, by)}."""
    groups = collections.defaultdict(list)
    for name, (_, _, canonical) in names.items():
        groups[canonical or name].append(name)
    result = {}
    for group in groups.values():
        # an exact rule for any alias serves all of them; aliases are too many to be listed
        exact = sorted(name for name in group if name in rules)
        ran = sorted((name for name in group if name in seen), key=lambda n: (len(n), n))
        for name in group:
            kind, gone, _ = names[name]
            rule = name if name in rules else exact[0] if exact else match(rules, name)
            namesake = name.replace("tf.compat.v1.", "tf.", 1)  # the same operators under the older signature
            # that a whole family makes no operator does not hide what TensorFlow says of one of it, nor what ran
            if rule and not (rule.endswith(".*") and rules[rule] == "none" and (gone or ran)):
                result[name] = (rules[rule], rule)
            elif gone:
                result[name] = ("deprecated", "wheel")
            elif ran:
                result[name] = ("supported", "seen:" + ran[0])
            elif kind == "function" and namesake in seen:
                result[name] = ("supported", "seen:" + namesake)
            elif kind in ("module", "value"):
                result[name] = ("none", "wheel")
            else:
                result[name] = ("analysing", "")
    return result


def read_names(path, rules):
    lines = pathlib.Path(path).read_text().splitlines()
    names = {}
    for line in lines[1:]:
        name, kind, gone, canonical = line.split("\t")
        # operators' raw forms are the same in compat.v1; the look-up knows it
        if not name.startswith(("tf.compat.v1.raw_ops.", "tf.compat.v1.compat")):
            names[name] = (kind, gone, canonical)
    for pattern in rules:  # what no wheel has, yet scripts name: Horovod, tf.contrib
        if pattern.startswith(("horovod.", "tf.contrib")):
            names[pattern.removesuffix(".*")] = ("function", "", "")
    return lines[0].lstrip("# "), names


def main():
    rules = read_rules()
    seen = {line.split("\t")[0] for line in (DATA / "tf_seen.tsv").read_text().splitlines() if line.startswith("tf.")}
    (guide, old), (newer, new) = (read_names(path, rules) for path in sys.argv[1:3])
    out = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else DATA / "tf_api.tsv"
    first, second = classify(old, rules, seen), classify(new, rules, seen)
    absent = ("absent", "")
    text = HEAD % (guide, newer.removeprefix("names of "))
    for name in sorted(first.keys() | second.keys()):
        row = first.get(name, absent)
        other = second.get(name, absent)
        text += "\t".join((name, *row, *(other if other != row else ("", "")))) + "\n"
    out.write_text(text)
    used = {by for table in (first, second) for _, by in table.values()}
    for title, table in ((guide, first), (newer, second)):
        counts = collections.Counter(cls for cls, _ in table.values())
        print("%s: %d names; %s" % (title, len(table), ", ".join("%s %d" % (c, counts[c]) for c in CLASSES)))
    if unused := set(rules) - used:
        print("rules that no name needs: %s" % ", ".join(sorted(unused)))


if __name__ == "__main__":
    main()
