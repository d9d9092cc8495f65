"""Prints the public names of an installed TensorFlow: name, kind, whether it is deprecated, the shortest name of the object.

Run it with the Python of an environment that has tensorflow-cpu 2.15.1 (Python 3.11); tf_api.py reads what it prints.
Only TensorFlow's API modules are walked. tf.compat.v2 is left out: its names are those of tf.

usage: tf_names.py > NAMES.tsv
"""

import collections
import inspect
import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
API = ("tensorflow._api.", "tensorflow.compat", "keras.api.", "tensorflow_estimator.python.estimator.api", "tensorboard.summary")
DEPRECATED = re.compile(r"THIS (FUNCTION|CLASS|MODULE) IS DEPRECATED|\A[^\n]*\(deprecated\)|^ *Deprecated: (?!SOME ARG)", re.M)


def kind_of(thing):
    if inspect.ismodule(thing):
        return "module"
    if inspect.isclass(thing):
        return "class"
    return "function" if callable(thing) else "value"


def walk(root):
    found, seen, objects, queue = {}, set(), {}, collections.deque([("tf", root)])
    while queue:
        name, module = queue.popleft()
        if id(module) in seen and name.count(".") > 6:
            continue
        seen.add(id(module))
        for attribute in sorted(dir(module)):
            if attribute.startswith("_"):
                continue
            try:
                thing = getattr(module, attribute)
            except Exception:  # a lazy module that needs what is not installed
                continue
            full = name + "." + attribute
            if inspect.ismodule(thing):
                home = thing.__name__
                if not home.startswith(API) or ".compat." in full[len("tf.compat.v1"):] or full.startswith("tf.compat.v2"):
                    continue
                found[full] = ("module", "", "")
                queue.append((full, thing))
                continue
            text = getattr(thing, "__doc__", None) if callable(thing) else None
            gone = "deprecated" if isinstance(text, str) and DEPRECATED.search(text) else ""
            found[full] = (kind_of(thing), gone, objects.setdefault(id(thing), []) if shared(thing) else [full])
            found[full][2].append(full)
    # of the names of one object the shortest, outside compat.v1 if there is one
    order = lambda name: (name.startswith("tf.compat"), "experimental" in name, len(name), name)  # noqa: E731
    return {name: (kind, gone, min(all_names, key=order) if all_names else "") for name, (kind, gone, all_names) in found.items()}


def shared(thing):
    """Whether one object under two names is one API: not so for numbers, texts and the like."""
    return callable(thing) or type(thing).__name__ == "DType"


def main():
    import tensorflow as tf
    print("# names of tensorflow %s" % tf.__version__)
    for name, facts in sorted(walk(tf).items()):
        print("\t".join((name, *facts)))
    sys.stdout.flush()
    os._exit(0)  # the interpreter's end is slow


if __name__ == "__main__":
    main()
