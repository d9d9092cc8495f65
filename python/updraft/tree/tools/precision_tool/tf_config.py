"""What a training script calls to have its run written to precision_data/.

    import npu_device
    import precision_tool.tf_config as npu_tf_config
    npu_tf_config.npu_device_dump_config(npu_device, action="dump")     # before npu_device.open()

Actions: overflow (operators that overflow), dump (tensors and graphs), fusion_off, fusion_switch (lib/config/fusion_switch.cfg); several by "|".
A PyTorch script has torch_dump_config(action).
"""

import json
import os

from precision_tool.lib import places
from precision_tool.lib.config import config

_CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "config")
ACTIONS = ("dump", "overflow", "fusion_off", "fusion_switch")


def _actions(action):
    """The set of actions; without one, what PRECISION_TOOL_DUMP and PRECISION_TOOL_OVERFLOW ask for."""
    if action is None:
        action = "|".join(name for name, variable in (("dump", "PRECISION_TOOL_DUMP"), ("overflow", "PRECISION_TOOL_OVERFLOW"))
                          if os.environ.get(variable) == "True")
    wanted = set(filter(None, (a.strip() for a in action.split("|"))))
    if wanted - set(ACTIONS):
        raise ValueError("action is %r, want %s, or several of them with | between" % (action, ", ".join(ACTIONS)))
    if {"dump", "overflow"} <= wanted:
        raise ValueError("action is %r: a run is either dumped or watched for overflow, do one after the other" % action)
    if {"fusion_off", "fusion_switch"} <= wanted:
        raise ValueError("action is %r: fusion_off and fusion_switch are both files of switches, take one" % action)
    return wanted


def _graphs():
    """Variables that make the compiler write its graphs; before the device is opened."""
    folder = places.npu("debug_0", "graph")
    os.makedirs(folder, exist_ok=True)
    os.environ.update(DUMP_GE_GRAPH=str(config.DUMP_GE_GRAPH_VALUE), DUMP_GRAPH_LEVEL=str(config.DUMP_GRAPH_LEVEL_VALUE), DUMP_GRAPH_PATH=folder,
                      NPU_DUMP_GRAPH="true")


def _made(folder):
    os.makedirs(folder, exist_ok=True)
    return folder


def _switches(wanted):
    return os.path.join(_CONFIG, "fusion_off.cfg" if "fusion_off" in wanted else "fusion_switch.cfg") if wanted & {"fusion_off", "fusion_switch"} else None


def npu_device_dump_config(npu_device, action=None):
    """Sets npu_device.global_options(). Options of dump_config that the script has set itself are refused: one of the two decides."""
    wanted = _actions(action)
    options = npu_device.global_options()
    dump = options.dump_config
    if wanted & {"dump", "overflow"} and (dump.enable_dump or dump.enable_dump_debug):
        raise ValueError("global_options().dump_config is set already: leave it to precision_tool, or do not call npu_device_dump_config")
    if "overflow" in wanted:
        dump.dump_path = _made(places.overflow_dump())
        dump.dump_debug_mode = "all"
        dump.enable_dump_debug = True
    if "dump" in wanted:
        dump.dump_path = _made(places.npu("debug_0", "dump"))
        if config.TF_DUMP_STEP:
            dump.dump_step = config.TF_DUMP_STEP
        dump.dump_mode = "all"
        dump.enable_dump = True
        _graphs()
    if _switches(wanted):
        options.fusion_switch_file = _switches(wanted)
    return npu_device


def session_dump_config(session_config=None, action=None):
    """The configuration of a Session (tf.compat.v1) with NpuOptimizer's switches set."""
    import tensorflow as tf

    session_config = session_config or tf.compat.v1.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    rewriters = session_config.graph_options.rewrite_options
    rewriters.remapping = rewriters.OFF
    rewriters.memory_optimization = rewriters.OFF
    optimizer = next((o for o in rewriters.custom_optimizers if o.name == "NpuOptimizer"), None)
    if optimizer is None:
        optimizer = rewriters.custom_optimizers.add()
        optimizer.name = "NpuOptimizer"
        optimizer.parameter_map["use_off_line"].b = True
    update_custom_op(optimizer, action)
    return session_config


def update_custom_op(custom_op, action=None):
    """The same of a NpuOptimizer that the script has made."""
    wanted = _actions(action)
    text = lambda name, value: setattr(custom_op.parameter_map[name], "s", value.encode())
    if wanted & {"dump", "overflow"} and any(n in custom_op.parameter_map for n in ("enable_dump", "enable_dump_debug")):
        raise ValueError("parameter_map has enable_dump or enable_dump_debug already: leave it to precision_tool, or do not call it")
    if "overflow" in wanted:
        text("dump_path", _made(places.overflow_dump()))
        text("dump_debug_mode", "all")
        custom_op.parameter_map["enable_dump_debug"].b = True
    if "dump" in wanted:
        text("dump_path", _made(places.npu("debug_0", "dump")))
        if config.TF_DUMP_STEP:
            text("dump_step", config.TF_DUMP_STEP)
        text("dump_mode", "all")
        custom_op.parameter_map["enable_dump"].b = True
        _graphs()
    if _switches(wanted):
        text("fusion_switch_file", _switches(wanted))
    return custom_op


def sess_dump(action="dump"):
    return session_dump_config(action=action)


def estimator_dump_config(action=None):
    """The dump_config of NPURunConfig."""
    from npu_bridge.npu_init import DumpConfig

    wanted = _actions(action)
    if "overflow" in wanted:
        return DumpConfig(enable_dump_debug=True, dump_path=_made(places.overflow_dump()), dump_debug_mode="all")
    if "dump" in wanted:
        _graphs()
        return DumpConfig(enable_dump=True, dump_path=_made(places.npu("debug_0", "dump")), dump_step=config.TF_DUMP_STEP or None, dump_mode="all")
    return None


def estimator_dump():
    return estimator_dump_config("dump")


def torch_dump_config(action=None):
    """For PyTorch: starts the dump of operators and of compiled graphs. Returns a function that ends it; the end of the program does so, too."""
    import atexit

    import torch_npu

    wanted = _actions(action)
    if wanted & {"fusion_off", "fusion_switch"}:
        raise ValueError("action is %r: graphs of PyTorch take their switches by TorchAir's config.fusion_config" % action)
    if not wanted:
        return lambda: None
    if "overflow" in wanted:
        entry = {"dump_path": _made(places.overflow_dump()), "dump_debug": "on"}
    else:
        entry = {"dump_path": _made(places.npu("debug_0", "dump")), "dump_mode": "all", "dump_op_switch": "on", "dump_list": [{}]}
        if config.TF_DUMP_STEP:
            entry["dump_step"] = config.TF_DUMP_STEP
        _graphs()
    path = os.path.join(places.temp(), "dump.json")
    with open(path, "w") as file:
        json.dump({"dump": entry}, file)
    torch_npu.npu.init_dump()
    torch_npu.npu.set_dump(path)
    ended = []

    def end():
        if not ended:
            ended.append(True)
            torch_npu.npu.synchronize()  # what was called may still be in torch_npu's queue
            torch_npu.npu.finalize_dump()

    atexit.register(end)
    return end
