"""One setting of TorchAir's CompilerConfig: a compiled model gives the eager results, or is refused with a reason. A process each,
because TorchAir lets nobody initialise the engine twice with other values.

usage: python -m tests.graph.torchair_options NAME VALUE      prints the largest difference, or the reason
"""

import json
import sys
import tempfile

import torch
import torch_npu  # noqa: F401
import torchair

PASSES_OFF = {"Switch": {"GraphFusion": {"ALL": "off"}}}


def main(name, value):
    config = torchair.CompilerConfig()
    if name == "fusion_config.fusion_switch_file":
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(PASSES_OFF, file)
        value = file.name
    if name == "dump_config.enable_dump":
        config.dump_config.dump_path = tempfile.mkdtemp()
    *groups, last = name.split(".")
    group = config
    for part in groups:
        group = getattr(group, part)
    setattr(group, last, {"True": True, "False": False}.get(value, int(value) if value.isdigit() and last == "static_model_ops_lower_limit" else value))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)).npu()
    x = torch.randn(3, 4).npu()
    fast = torch.compile(model, backend=torchair.get_npu_backend(compiler_config=config), dynamic=False)
    with torch.no_grad():
        difference = max((fast(x) - model(x)).abs().max().item() for _ in range(2))
    print("@@" + json.dumps({"difference": difference}))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        print("@@" + json.dumps({"error": "%s: %s" % (type(error).__name__, error)}))
