"""Prints the public names of an installed TensorFlow: name, kind, where it is defined, whether it is deprecated.

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
DEPRECATED = re.compile(r"\bTHIS FUNCTION IS DEPRECATED\b|\(deprecated\)|^ *Deprecated[.:]|\.\. *deprecated|Warning: THIS", re.M)


def kind_of(thing):
    if inspect.ismodule(thing):
        return "module"
    if inspect.isclass(thing):
        return "class"
    return "function" if callable(thing) else "value"


def walk(root):
    found, seen, queue = {}, set(), collections.deque([("tf", root)])
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
                found[full] = ("module", home, "")
                queue.append((full, thing))
                continue
            text = getattr(thing, "__doc__", None) if callable(thing) else None
            home = str(getattr(thing, "__module__", "") or "")
            gone = "deprecated" if isinstance(text, str) and DEPRECATED.search(text) else ""
            found[full] = (kind_of(thing), home, gone)
    return found


def main():
    import tensorflow as tf
    print("# names of tensorflow %s" % tf.__version__)
    for name, facts in sorted(walk(tf).items()):
        print("\t".join((name, *facts)))
    sys.stdout.flush()
    os._exit(0)  # the interpreter's end is slow


if __name__ == "__main__":
    main()
