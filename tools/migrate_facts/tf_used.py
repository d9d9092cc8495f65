"""Counts the names of TensorFlow that a package's sources use, by parts of it: what tests/migrate/uses holds.

Reads the sources by itself, not by the migration tool, whose counts a test compares with these: an import binds a name, and each
chain of attributes from that name is a use. What functions bind anew is not looked for.

usage: tf_used.py WHEEL FOLDER... > NAMES.tsv
       pip download --no-deps tf-models-official==2.6.0
       tf_used.py tf_models_official-2.6.0-py2.py3-none-any.whl official/vision official/nlp
"""

import ast
import collections
import sys
import warnings
import zipfile

FRAMEWORK = "tensorflow"


def bound(tree):
    """{name in the source: dotted name} of all imports of the framework."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == FRAMEWORK:
                    names[alias.asname or FRAMEWORK] = alias.name if alias.asname else FRAMEWORK
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module and node.module.split(".")[0] == FRAMEWORK:
            for alias in node.names:
                names[alias.asname or alias.name] = node.module + "." + alias.name
    return names


def dotted(node):
    """["tf", "io", "gfile"] of tf.io.gfile; nothing for what begins otherwise than with a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def uses(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    names = bound(tree)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}  # a part of a longer name
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, (ast.Attribute, ast.Name)) or not isinstance(node.ctx, ast.Load):
            continue
        parts = dotted(node)
        if parts and parts[0] in names:
            name = ".".join((names[parts[0]], *parts[1:]))
            if "." in name:
                yield name.replace(FRAMEWORK, "tf", 1)


def main():
    wheel, *folders = sys.argv[1:]
    counts = {folder: collections.Counter() for folder in folders}
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            for folder in folders:
                if path.startswith(folder + "/") and path.endswith(".py"):
                    counts[folder].update(uses(archive.read(path)))
    print("# Uses of TensorFlow in %s; made by tools/migrate_facts/tf_used.py." % wheel.rpartition("/")[2])
    print("\t".join(("name", *folders)))
    for name in sorted(set().union(*counts.values()), key=str.encode):
        print("\t".join((name, *(str(counts[folder][name]) for folder in folders))))


if __name__ == "__main__":
    main()
