"""Makes migrate/support/data/torch_dispatch.tsv: for each function of torch that is an operator, where NPU tensors run it.

Asks the dispatcher with the official torch_npu loaded, so it is a fact of the wheels, whatever the support lists say:
npu: torch_npu has a kernel; composite: made of other operators; cpu: neither, so torch_npu copies to the CPU and back.

usage: torch_dispatch.py [OUT]
"""

import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
OUT = pathlib.Path(__file__).parents[2] / "migrate/support/data/torch_dispatch.tsv"
SPACES = {"torch": "", "torch.Tensor": "", "torch.nn.functional": "", "torch.special": "special_", "torch.linalg": "linalg_",
          "torch.fft": "fft_"}
NPU = "PrivateUse1"
# composites whose work is one operator, seen to fall back where that one does
INNER = {"cholesky_solve": "_cholesky_solve_helper", "det": "_linalg_det", "linalg_det": "_linalg_det", "logdet": "_linalg_slogdet",
         "slogdet": "_linalg_slogdet", "linalg_slogdet": "_linalg_slogdet", "logcumsumexp": "_logcumsumexp",
         "matrix_exp": "linalg_matrix_exp", "linalg_eigh": "_linalg_eigh", "linalg_eigvalsh": "_linalg_eigh",
         "linalg_eigvals": "_linalg_eigvals", "linalg_inv": "linalg_inv_ex", "inverse": "linalg_inv_ex",
         "linalg_ldl_factor": "linalg_ldl_factor_ex", "linalg_lu_factor": "linalg_lu_factor_ex", "linalg_solve": "_linalg_solve_ex",
         "linalg_solve_ex": "_linalg_solve_ex"}


def with_out(packet):
    return [o for o in packet.overloads() if any(a.is_out for a in getattr(packet, o)._schema.arguments)]


def made_of_out(torch, operator):
    """Of an operator whose common form only allocates and calls the form with out=; others are made of operators."""
    base = operator.rstrip("_") if hasattr(torch.ops.aten, operator.rstrip("_")) else operator
    if base.endswith("_copy"):
        return "composite"
    outs = ["aten::%s.%s" % (base, o) for o in with_out(getattr(torch.ops.aten, base))]
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if any(has(out, NPU) for out in outs):
        return "npu"
    return "cpu" if any(has(out, "CPU") for out in outs) else "composite"


def where(torch, operator):
    """The best of the overloads, since a call picks one by its arguments; scalars' overloads call those of tensors."""
    packet = getattr(torch.ops.aten, operator, None)
    if packet is None:
        return None
    kinds = set()
    outs = set(with_out(packet))
    for overload in packet.overloads():
        name = "aten::" + operator + ("" if overload == "default" else "." + overload)
        if overload in outs or "dimname" in overload.lower() or "names" in overload or not torch._C._dispatch_has_kernel(name):
            continue
        has = lambda key: torch._C._dispatch_has_kernel_for_dispatch_key(name, key)  # noqa: E731, B023
        if has(NPU):
            kinds.add("npu")
        elif has("CompositeImplicitAutograd"):
            kinds.add("composite")
        elif has("CompositeExplicitAutograd") or has("CompositeExplicitAutogradNonFunctional"):
            kinds.add(made_of_out(torch, operator))
        elif has("CPU"):
            kinds.add("cpu")
    return next((kind for kind in ("npu", "cpu", "composite") if kind in kinds), None)


def rows():
    import torch
    import torch_npu  # noqa: F401
    for space, prefix in SPACES.items():
        owner = torch
        for part in space.split(".")[1:]:
            owner = getattr(owner, part)
        for name in sorted(dir(owner)):
            if name.startswith("_") or not callable(getattr(owner, name, None)):
                continue
            if isinstance(getattr(owner, name), type):
                continue
            kind = where(torch, prefix + name)
            if kind == "composite" and prefix + name in INNER:
                kind = where(torch, INNER[prefix + name])
            if kind:
                yield space + "." + name, kind


def main():
    import torch
    import torch_npu
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    table = sorted(rows())
    head = ("# Where NPU tensors run a function of torch: npu (torch_npu has a kernel), composite (made of other operators), cpu (copied\n"
            "# there and back); made by tools/migrate_facts/torch_dispatch.py with torch %s and torch_npu %s.\n"
            "api\twhere\n" % (torch.__version__.split("+")[0], torch_npu.__version__))
    out.write_text(head + "".join("%s\t%s\n" % row for row in table))
    print("%s: %d functions" % (out, len(table)))


if __name__ == "__main__":
    main()
