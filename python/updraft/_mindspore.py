"""What MindSpore is told when it has been imported: threads for its graphs, and what its mode O1 is here."""
import os

from updraft._texts import t


def give_threads():
    """MindSpore gives 18 % of the cores to the threads that order a graph's work. Where that is one thread, which it is up to
    11 cores, graphs with branches do not compile, and some that update parameters in place crash. Scripts may still choose."""
    cores = os.cpu_count() or 1
    if min(cores, 30) * 0.18 >= 2 or cores < 2:
        return
    from mindspore._c_expression import MSContext, ms_ctx_param

    context = MSContext.get_instance()
    if context.get_param(ms_ctx_param.inter_op_parallel_num) == 0:
        context.set_param(ms_ctx_param.inter_op_parallel_num, 2)


def tell_of_o1(say):
    """`say` tells the first time that a script asks for O1. Its fused kernels are code for the AI core, so _tree.for_mindspore()
    keeps MindSpore from making them."""
    from mindspore import context, graph

    told = []

    def asked(level):
        if level == "O1" and not told:
            told.append(True)
            say(t("MindSpore's jit_level O1 computes what O0 does here: its fused kernels are code for the AI core (MS_DEV_GRAPH_KERNEL_FLAGS=--opt_level=0)",
                  "MindSpore 的 jit_level O1 在此与 O0 相同：其融合算子是 AI Core 代码（MS_DEV_GRAPH_KERNEL_FLAGS=--opt_level=0）"))

    def watched(inner, level_of):
        def call(self, *args, **kwargs):
            result = inner(self, *args, **kwargs)
            asked(level_of(self))
            return result
        return call

    config, setters = graph.jit_config.JitConfig, context._Context.setters
    config.__init__ = watched(config.__init__, lambda made: made.jit_config_dict.get("jit_level"))
    setters["jit_config"] = watched(setters["jit_config"], lambda whole: (whole.jit_config or {}).get("jit_level"))
