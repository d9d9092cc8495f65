"""Prints the public names of a TensorFlow that this interpreter cannot run, as tf_names.py does for one that it can.

What a name stands for, and whether it is deprecated, is read from the sources of the wheels. tf.compat.v2 is left out: its
names are those of tf.

usage: tf_wheel_names.py VERSION FOLDER > NAMES.tsv
       FOLDER holds the wheels, packed or unpacked: pip download --no-deps --python-version 39 --only-binary :all: \\
         --platform manylinux2010_x86_64 tensorflow-cpu==2.6.5 keras==2.6.0 tensorflow-estimator==2.6.0
"""

import ast
import functools
import pathlib
import sys
import tempfile
import zipfile

# folder of the generated API, and the name that it has
ROOTS = [
    ("tensorflow/_api/v2", "tf"),
    ("keras/api/_v2/keras", "tf.keras"),
    ("keras/api/_v1/keras", "tf.compat.v1.keras"),
    ("tensorflow_estimator/python/estimator/api/_v2/estimator", "tf.estimator"),
    ("tensorflow_estimator/python/estimator/api/_v1/estimator", "tf.compat.v1.estimator"),
    ("keras/api/_v1/keras/__internal__/legacy/layers", "tf.compat.v1.layers"),
    ("keras/api/_v1/keras/__internal__/legacy/rnn_cell", "tf.compat.v1.nn.rnn_cell"),
]


def deprecated(node):
    """@deprecation.deprecated(…), @deprecated(…); an argument that is deprecated is another thing."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            function = decorator.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if name in ("deprecated", "deprecated_alias"):
                return True
    return False


@functools.lru_cache(maxsize=None)
def definitions(folder, module):
    """{name: (kind, deprecated)} or {name: ("import", module, name)} of a source of the wheel."""
    path = pathlib.Path(folder, *module.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    found = {}
    if not path.is_file():
        return found
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name not in found:
            found[node.name] = ("class" if isinstance(node, ast.ClassDef) else "function", deprecated(node))
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, ("import", node.module, alias.name))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):  # double = float64
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, ("import", module, node.value.id))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            function = node.value.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            for target in node.targets:
                if isinstance(target, ast.Name) and name in ("deprecated_alias", "tf_export"):
                    found.setdefault(target.id, ("function", name == "deprecated_alias"))
    return found


def origin(folder, module, name):
    """(kind, "deprecated" or "", where it is defined) of what `from module import name` gives."""
    for _ in range(8):
        known = definitions(folder, module).get(name)
        if not known:
            break
        if known[0] != "import":
            return known[0], "deprecated" if known[1] else "", module + "." + name
        module, name = known[1], known[2]
    # operators' modules are generated; what else is not found is a value (a dtype, a text)
    kind = "function" if ".gen_" in module or module.startswith("tensorflow.python.ops.gen") else "value"
    return kind, "", module + "." + name if kind == "function" or module.endswith("dtypes") else ""


def walk(folder):
    found = {}
    for place, root in ROOTS:
        for path in sorted(pathlib.Path(folder, place).rglob("__init__.py")):
            parts = path.parent.relative_to(pathlib.Path(folder, place)).parts
            prefix = ".".join((root, *parts))
            inner = prefix.removeprefix("tf.compat.v1")
            if any(part.startswith("_") for part in parts) or prefix.startswith("tf.compat.v2") or ".compat" in inner[1:] and parts:
                if prefix != "tf.compat" and prefix != "tf.compat.v1":
                    continue
            if prefix != "tf":
                found[prefix] = ("module", "", "")
            source = pathlib.Path(folder, "tensorflow/__init__.py") if prefix == "tf" else path
            for node in ast.walk(ast.parse(source.read_bytes())):
                if not isinstance(node, ast.ImportFrom) or node.level or not node.module or "_api" in node.module or ".api." in node.module:
                    continue
                for alias in node.names:
                    name = alias.asname or alias.name
                    if not name.startswith("_") and node.module != "tensorflow.python.tools" and node.module.split(".")[0] in (
                            "tensorflow", "keras", "tensorflow_estimator"):
                        found[prefix + "." + name] = origin(folder, node.module, alias.name)
    for name in ("audio", "histogram", "image", "scalar", "text"):  # tensorboard's, which tf.summary shows
        found["tf.summary." + name] = ("function", "", "tf.summary." + name)
    objects = {}
    for name, (_, _, where) in found.items():
        if where:
            objects.setdefault(where, []).append(name)
    order = lambda name: (name.startswith("tf.compat"), "experimental" in name, len(name), name)  # noqa: E731
    return {name: (kind, gone, min(objects[where], key=order) if where else "") for name, (kind, gone, where) in found.items()}


def main():
    version, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as unpacked:
        wheels = sorted(pathlib.Path(folder).glob("*.whl"))
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked, [name for name in archive.namelist() if name.endswith(".py")])
        found = walk(unpacked if wheels else folder)
    missing = [root for _, root in ROOTS if not any(name.startswith(root + ".") for name in found)]
    if missing:
        sys.exit("%s has nothing of %s: the wheels of tensorflow-cpu, keras and tensorflow-estimator are wanted" % (folder, ", ".join(missing)))
    print("# names of tensorflow %s" % version)
    for name, facts in sorted(found.items()):
        print("\t".join((name, *facts)))


if __name__ == "__main__":
    main()
