"""Makes migrate/support/data/torch_alias.tsv: other names of the objects that torch_api.tsv lists.

Support lists name a class where it is defined or where it is public; scripts use either. Asks an installed torch.

usage: torch_alias.py [OUT]
"""

import importlib
import pathlib
import pkgutil
import sys
import types
import warnings

warnings.simplefilter("ignore")
DATA = pathlib.Path(__file__).parents[2] / "migrate/support/data"
# private modules and those that need what is not installed
LEFT_OUT = ("torch.testing._", "torch._", "torch.include", "torch.bin", "torch.utils.benchmark.examples", "torch.ao.pruning")


def names(path):
    return [line.split("\t")[0] for line in path.read_text().splitlines()
            if not line.startswith("#") and not line.startswith("api\t")]


def modules(torch):
    yield "torch", torch
    for found in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda _: None):
        if found.name.startswith(LEFT_OUT) or any(part.startswith("_") for part in found.name.split(".")):
            continue
        try:
            yield found.name, importlib.import_module(found.name)
        except Exception:
            continue


def resolve(torch, name):
    thing = torch
    for part in name.split(".")[1:]:
        try:
            thing = getattr(thing, part, None)
        except Exception:  # a property that asks for a GPU
            return None
    return thing


def aliases():
    """{another name: the name in torch_api.tsv}"""
    import torch
    listed = set(names(DATA / "torch_api.tsv"))
    loaded = dict(modules(torch))
    by_object = {}
    for name in sorted(listed):
        thing = resolve(torch, name)
        if isinstance(thing, type) or callable(thing) and isinstance(thing, (types.FunctionType, types.BuiltinFunctionType)):
            by_object.setdefault(id(thing), name)
    result = {}
    for module_name, module in loaded.items():
        for attribute, thing in sorted(vars(module).items()):
            full = module_name + "." + attribute
            owner = by_object.get(id(thing))
            if not owner or full in listed or attribute.startswith("_") or owner.split(".")[-1] != attribute:
                continue
            # where it is defined, or offered to others; not where a module merely imports it for itself
            if (getattr(thing, "__module__", None) == module_name or attribute in getattr(module, "__all__", ())
                    or hasattr(module, "__path__")):
                result[full] = owner
    return result


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DATA / "torch_alias.tsv"
    import torch
    found = aliases()
    head = ("# Other names of APIs in torch_api.tsv; made by tools/migrate_facts/torch_alias.py with torch %s.\n"
            "alias\tapi\n" % torch.__version__.split("+")[0])
    out.write_text(head + "".join("%s\t%s\n" % pair for pair in sorted(found.items())))
    print("%s: %d names" % (out, len(found)))


if __name__ == "__main__":
    main()
