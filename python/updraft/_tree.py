"""Which tree, which variables, which libraries: shared by the hook, the CLI and doctor. Imports nothing but os."""

import os

from updraft import home

PRIVATE = "libupdraft.so"
# Python packages that lie in the tree, and where. The hook finds them when sys.path has none of that name. CANN's own are
# also on set_env.sh's PYTHONPATH; what others may have installed is not, because PYTHONPATH goes before site-packages.
PACKAGES = {"acl": ("python", "site-packages"), "hccl": ("python", "site-packages"), "apex": ("python", "fallback"),
            "tfdbg_ascend": ("python", "site-packages"),
            "npu_device": ("tfplugin", "latest", "python", "site-packages"), "npu_bridge": ("tfplugin", "latest", "python", "site-packages"),
            "te": ("python", "site-packages"), "tbe": ("python", "site-packages")}


def is_updraft(tree):
    return os.path.exists(os.path.join(tree, "lib64", PRIVATE))


def same(a, b):
    return os.path.realpath(a) == os.path.realpath(b)


def ascend_variables(tree):
    """Variables by which CANN's clients find the tree."""
    return {
        "ASCEND_HOME_PATH": tree,
        "ASCEND_TOOLKIT_HOME": tree,
        "ASCEND_OPP_PATH": os.path.join(tree, "opp"),
        "ASCEND_AICPU_PATH": tree,
    }


def search_paths(tree):
    """Lists of folders that shells and C++ clients need in front."""
    return {
        # torch_npu takes the first msprof, and wants it to lie in a folder named tools
        "PATH": [os.path.join(tree, "tools", "profiler", "bin"), os.path.join(tree, "bin")],
        "LD_LIBRARY_PATH": [os.path.join(tree, "lib64")],
        "PYTHONPATH": [os.path.join(tree, "python", "site-packages")],
    }


def for_mindspore(tree, env):
    """(variable, value) that MindSpore wants to see when it is imported and that `env` lacks. It looks for these words, and warns
    each time. The third says what graph mode O1 compiles: nothing, as O0, because its kernels are code for the AI core."""
    wanted = {"PYTHONPATH": os.path.join(tree, "opp", "built-in", "op_impl", "ai_core", "tbe"),
              "LD_LIBRARY_PATH": os.path.join(tree, "lib64")}
    words = {"PYTHONPATH": "opp/built-in/op_impl/ai_core/tbe", "LD_LIBRARY_PATH": "/lib64"}
    for name, folder in wanted.items():
        old = env.get(name, "")
        if words[name] not in old:
            yield name, old + os.pathsep + folder if old else folder
    if not env.get("MS_DEV_GRAPH_KERNEL_FLAGS"):
        yield "MS_DEV_GRAPH_KERNEL_FLAGS", "--opt_level=0"


def package_path(tree, name):
    """The list of folders in which the tree's package is."""
    return [os.path.join(tree, *PACKAGES[name])]


def foreign_cann(env):
    """(variable, value) of a real CANN that is configured, else None. Another Updraft tree is not one."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        value = env.get(name)
        if value and not same(value, home()) and not is_updraft(value):
            return name, value
    return None


def fill(env):
    """Sets the ASCEND_* variables that are unset, or that were left by another Updraft tree."""
    tree = home()
    left_by = env.get("ASCEND_HOME_PATH") or env.get("ASCEND_TOOLKIT_HOME")
    stale = os.path.join(left_by, "") if left_by and not same(left_by, tree) and is_updraft(left_by) else None
    for name, value in ascend_variables(tree).items():
        old = env.get(name)
        if not old or (stale and os.path.join(old, "").startswith(stale)):
            env[name] = value


def add_tools(env):
    """Puts msprof, which torch_npu calls after a profile, behind all that is on PATH already."""
    folder = search_paths(home())["PATH"][0]
    path = env.get("PATH", os.defpath)
    if folder not in path.split(os.pathsep):
        env["PATH"] = path + os.pathsep + folder


def libraries(tree=None):
    """Paths in the order of loading: libupdraft.so, then every library that clients name."""
    folder = os.path.join(tree or home(), "lib64")
    try:
        names = sorted(n for n in os.listdir(folder) if n.startswith("lib") and n.endswith(".so"))
    except OSError:
        return []
    facades = [n for n in names if not n.startswith("libupdraft")]
    return [os.path.join(folder, n) for n in ([PRIVATE] if PRIVATE in names else []) + facades]
