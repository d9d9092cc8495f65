"""Makes migrate/support/data/tf_api.tsv: TensorFlow's public names, each in a class of the guide, by data/tf_rules.tsv.

usage: tf_api.py NAMES [OUT]        NAMES is what tf_names.py printed in an environment with tensorflow-cpu 2.15.1
"""

import collections
import pathlib
import sys

DATA = pathlib.Path(__file__).parents[2] / "migrate/support/data"
CLASSES = ["supported", "tool_api", "tool_train", "no_harmless", "no_avoid", "deprecated", "none", "analysing"]
HEAD = """\
# TensorFlow's public API by class (tf_rules.tsv says which and why); made by tools/migrate_facts/tf_api.py from the
# %s. rule: the row of tf_rules.tsv; "wheel" where TensorFlow itself says so; empty where nobody knows.
name\tclass\trule
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


def classify(names, rules):
    """names: {name: (kind, deprecated, canonical name)}; gives {name: (class, rule)}."""
    groups = collections.defaultdict(list)
    for name, (_, _, canonical) in names.items():
        groups[canonical or name].append(name)
    result = {}
    for group in groups.values():
        # an exact rule for any alias serves all of them; aliases are too many to be listed
        exact = sorted(name for name in group if name in rules)
        for name in group:
            kind, gone, _ = names[name]
            rule = name if name in rules else exact[0] if exact else match(rules, name)
            # that a whole family makes no operator does not hide what TensorFlow says of one of it
            if rule and not (gone and rule.endswith(".*") and rules[rule] == "none"):
                result[name] = (rules[rule], rule)
            elif gone:
                result[name] = ("deprecated", "wheel")
            elif kind in ("module", "value"):
                result[name] = ("none", "wheel")
            else:
                result[name] = ("analysing", "")
    return result


def main():
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else DATA / "tf_api.tsv"
    names = {}
    for line in lines[1:]:
        name, kind, gone, canonical = line.split("\t")
        # operators' raw forms are the same in compat.v1; the look-up knows it
        if not name.startswith(("tf.compat.v1.raw_ops.", "tf.compat.v1.compat")):
            names[name] = (kind, gone, canonical)
    rules = read_rules()
    for pattern in rules:  # what no wheel has, yet scripts name: Horovod, tf.contrib
        if pattern.startswith(("horovod.", "tf.contrib")):
            names[pattern.removesuffix(".*")] = ("function", "", "")
    result = classify(names, rules)
    text = HEAD % lines[0].lstrip("# ")
    out.write_text(text + "".join("%s\t%s\t%s\n" % (name, *result[name]) for name in sorted(result)))
    unused = set(rules) - {rule for _, rule in result.values()}
    counts = collections.Counter(cls for cls, _ in result.values())
    print("%s: %d names; %s" % (out, len(result), ", ".join("%s %d" % (c, counts[c]) for c in CLASSES)))
    if unused:
        print("rules that no name needs: %s" % ", ".join(sorted(unused)))


if __name__ == "__main__":
    main()
