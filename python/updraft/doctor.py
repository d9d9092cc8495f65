"""updraft doctor: what each client will load, and what is wrong. Every problem says what to do."""

import difflib
import os
import re
import subprocess
import sys

from updraft import CANN_VERSION, __version__, _machine, _tree, home
from updraft._texts import chinese, t
from updraft.explain.modules import MODULES

# torch_npu's link-time needs, then what it and other clients open by name
NEEDED = ["libascendcl.so", "libhccl.so", "libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so"]
OPENED = ["libopapi.so", "libnnopbase.so"]
VARIABLES = ["DEVICES", "SOC", "MEMORY", "THREADS", "STRICT", "FIDELITY", "INLINE", "MAX_ISA", "TRACE", "DISABLE",
             "CANN_HOME", "CUDA_AS_NPU", "RUN_DIR", "LANG", "STEPPED_ASIDE", "TEST_LONG", "JOBS", "PYTHON"]
LOAD = "import ctypes, os, sys\nfor p in sys.argv[1:]: ctypes.CDLL(p, mode=os.RTLD_LOCAL | os.RTLD_NOW)"
FIRST_CLASH = (2, 10)  # of torch: its CUDA build and torch_npu are not for one process
IMPORT = "import torch, torch_npu; print(torch.npu.device_count(), torch.npu.get_device_name(0))"

TENSORFLOW = "2.15"  # what npu_device is for
TENSORFLOW_IMPORT = "import npu_device, npu_bridge.npu_init; print(npu_device.open().name())"


class Report:
    def __init__(self):
        self.problems = 0

    def ok(self, text):
        print("  ok    " + text)

    def note(self, text, advice=None):
        self._print("  note  ", text, advice)

    def bad(self, text, advice):
        self.problems += 1
        self._print("  BAD   ", text, advice)

    @staticmethod
    def _print(mark, text, advice):
        print(mark + text)
        if advice:
            print("        -> " + advice)


def _child(code, *args, timeout=120, **env):
    """(ok, last useful line) of a child interpreter; a crash is told by its signal."""
    try:
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=timeout,
                              env=dict(os.environ, **env), stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False, t("no answer in %d s", "%d 秒内没有响应") % timeout
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode < 0:
        return False, t("killed by signal %d", "被信号 %d 终止") % -done.returncode
    return done.returncode == 0, lines[-1] if lines else ""


def _version(package):
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version):
    """"2.7.1.post2+cpu" to "2.7.1"."""
    return ".".join(version.split("+")[0].split(".")[:3])


def _satisfies(version, relation, bound):
    """Of plain numbers, "==" or ">="."""
    have, want = ([int(n) for n in text.split(".") if n.isdigit()] for text in (version, bound))
    return have == want or (relation == ">=" and have > want)


def _text_of(package, name):
    """A file of an installed package, which is not imported; "" when there is none."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()
        except OSError:
            continue
    return ""


def _cuda_of_torch():
    """The CUDA that torch was built for, as "13.0", else None."""
    found = re.search(r"^cuda\b[^=]*= *['\"]([\d.]+)['\"]", _text_of("torch", "version.py"), re.MULTILINE)
    return found[1] if found else None


def _hooked():
    return any(getattr(finder, "__name__", "") == "UpdraftPreload" for finder in sys.meta_path)


def _hook_will_load():
    disabled = os.environ.get("UPDRAFT_DISABLE", "0") not in ("", "0")
    return _hooked() and not disabled and not _tree.foreign_cann(os.environ)


def resolve(soname):
    """The file that a Python client gets for a SONAME, else None."""
    ours = os.path.join(home(), "lib64", soname)
    if _hook_will_load() and os.path.exists(ours):
        return ours
    return resolve_by_loader(soname)


def resolve_by_loader(soname):
    """The file that the dynamic loader gives a C++ client."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        path = os.path.join(folder, soname)
        if folder and os.path.exists(path):
            return path
    for cache in ("/sbin/ldconfig", "ldconfig"):
        try:
            for line in subprocess.run([cache, "-p"], capture_output=True, text=True).stdout.splitlines():
                if line.split()[:1] == [soname]:
                    return line.split("=>")[-1].strip()
            break
        except OSError:
            continue
    return None


def check_tree(report):
    tree, libraries = home(), _tree.libraries()
    if not _tree.is_updraft(tree):
        report.bad(t("no libupdraft.so in %s/lib64", "%s/lib64 中没有 libupdraft.so") % tree,
                   t("reinstall the package, or point UPDRAFT_CANN_HOME to an installed tree",
                     "重新安装软件包，或让 UPDRAFT_CANN_HOME 指向已安装的目录"))
        return
    good, text = _child(LOAD, *libraries, timeout=60, UPDRAFT_DISABLE="1")
    if good:
        report.ok(t("%s loads, with %d libraries that clients name", "%s 可以加载，另有 %d 个供程序使用的库")
                  % (libraries[0], len(libraries) - 1))
    else:
        report.bad(t("libraries do not load: ", "库无法加载：") + text,
                   t("install what is named above (libgomp1, libstdc++6) or rebuild: ./dev setup",
                     "安装上面提到的库（libgomp1、libstdc++6），或重新构建：./dev setup"))
    for name, path in _tree.ascend_variables(tree).items():
        if not os.path.isdir(path):
            report.bad(t("%s is missing (%s)", "缺少 %s（%s）") % (path, name), t("reinstall the package", "重新安装软件包"))


def check_environment(report):
    foreign = _tree.foreign_cann(os.environ)
    if foreign:
        report.bad(t("%s=%s is another CANN: the hook steps aside", "%s=%s 是另一个 CANN：预加载钩子不生效") % foreign,
                   t("use `updraft run CMD`, or unset it and ASCEND_OPP_PATH", "使用 `updraft run 命令`，或取消该变量和 ASCEND_OPP_PATH"))
    opp = os.environ.get("ASCEND_OPP_PATH")
    if opp and not os.path.isdir(opp):
        report.bad(t("ASCEND_OPP_PATH=%s does not exist: torch_npu will refuse to import", "ASCEND_OPP_PATH=%s 不存在：torch_npu 无法导入") % opp,
                   "unset ASCEND_OPP_PATH")
    if os.environ.get("UPDRAFT_DISABLE", "0") not in ("", "0"):
        report.note(t("UPDRAFT_DISABLE is set: Python clients do not get the virtual NPU", "已设置 UPDRAFT_DISABLE：Python 程序不会使用虚拟 NPU"),
                    "unset UPDRAFT_DISABLE")
    if _hooked():
        report.ok(t("the preload hook is active in %s", "预加载钩子在 %s 中生效") % sys.executable)
    else:
        report.bad(t("the preload hook is not active in %s", "预加载钩子在 %s 中未生效") % sys.executable,
                   t("pip install updraft into this Python (python -S never loads it), or use: updraft run CMD",
                     "在此 Python 中安装 updraft（python -S 不会加载），或使用：updraft run 命令"))
    for name in sorted(os.environ):
        if name.startswith("UPDRAFT_") and name[8:] not in VARIABLES and not name.startswith(("UPDRAFT_TORCH_", "UPDRAFT_FUZZ_")):
            close = difflib.get_close_matches(name[8:], VARIABLES, 1)
            report.note(t("%s is not a variable of Updraft", "%s 不是 Updraft 的变量") % name,
                        t("did you mean UPDRAFT_%s?", "是否应为 UPDRAFT_%s？") % close[0] if close else None)
    for name, valid in (("UPDRAFT_DEVICES", lambda v: v.isdigit() and 1 <= int(v) <= 1024),
                        ("UPDRAFT_THREADS", lambda v: v.isdigit() and int(v) >= 1),
                        ("UPDRAFT_MEMORY", lambda v: bool(_machine.parse_size(v))),
                        ("UPDRAFT_SOC", lambda v: v.startswith("Ascend"))):
        value = os.environ.get(name)
        if value and not valid(value):
            report.bad(t("%s=%s is malformed", "%s=%s 格式不对") % (name, value), t("see `updraft run --help`", "参见 `updraft run --help`"))


def check_clients(report):
    for soname in NEEDED + OPENED:
        path = resolve(soname)
        if path is None:
            report.bad(t("torch_npu finds no %s", "torch_npu 找不到 %s") % soname,
                       t("run: updraft run CMD, or correct what is named above", "使用 updraft run 命令，或先解决上面的问题"))
        elif not _tree.same(os.path.dirname(path), os.path.join(home(), "lib64")):
            report.bad(t("%s comes from %s, not from Updraft", "%s 来自 %s，而不是 Updraft") % (soname, path),
                       t("take that folder out of LD_LIBRARY_PATH, or use: updraft run CMD", "从 LD_LIBRARY_PATH 去掉该目录，或使用：updraft run 命令"))
        else:
            report.ok("%-24s %s" % (soname, path))
    path = resolve_by_loader("libascendcl.so")
    if path is None:
        report.note(t("C++ programs started from this shell find no libascendcl.so", "在此终端启动的 C++ 程序找不到 libascendcl.so"),
                    'eval "$(updraft env)"')
    else:
        report.ok(t("C++ programs load %s", "C++ 程序加载 %s") % path)


def check_torch(report, quick):
    torch, npu = _version("torch"), _version("torch-npu")
    if torch is None or npu is None:
        missing = " ".join(n for n, v in (("torch", torch), ("torch-npu", npu)) if v is None)
        report.note(t("not installed in this Python: ", "此 Python 中未安装：") + missing,
                    "pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu; pip install torch-npu==2.13.0")
        return
    if _numbers(torch) == _numbers(npu):
        report.ok(t("torch %s and torch-npu %s match", "torch %s 与 torch-npu %s 匹配") % (torch, npu))
    else:
        report.bad(t("torch %s and torch-npu %s do not match", "torch %s 与 torch-npu %s 不匹配") % (torch, npu),
                   "pip install torch==%s --index-url https://download.pytorch.org/whl/cpu" % _numbers(npu))
    if cuda_build_aborts(report, torch) or quick:
        return
    good, text = _child(IMPORT, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    if good:
        count, name = text.split(" ", 1) if " " in text else (text, "?")
        report.ok(t("torch_npu imports: %s devices, %s", "torch_npu 可以导入：%s 个设备，%s") % (count, name))
    else:
        report.bad(t("torch_npu does not import: ", "torch_npu 无法导入：") + text,
                   t("correct what is named above; until then TORCH_DEVICE_BACKEND_AUTOLOAD=0 lets `import torch` work without it",
                     "先解决上面的问题；在此之前设置 TORCH_DEVICE_BACKEND_AUTOLOAD=0 可让 `import torch` 单独工作"))
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        report.note(t("TORCH_DEVICE_BACKEND_AUTOLOAD=0: `import torch` alone gives no npu", "TORCH_DEVICE_BACKEND_AUTOLOAD=0：仅 `import torch` 时没有 npu"),
                    t("unset it, or add `import torch_npu`", "取消该变量，或添加 `import torch_npu`"))


def check_tensorflow(report, quick):
    """Nothing is said where there is no TensorFlow: torch is what most people have."""
    name = next((n for n in ("tensorflow-cpu", "tensorflow") if _version(n)), None)
    if name is None:
        return
    version = _version(name)
    if not version.startswith(TENSORFLOW + "."):
        report.bad(t("npu_device and npu_bridge are for TensorFlow %s, this is %s %s",
                     "npu_device 与 npu_bridge 适用于 TensorFlow %s，当前为 %s %s") % (TENSORFLOW, name, version),
                   "pip install tensorflow-cpu==2.15.1")
        return
    report.ok("%s %s" % (name, version))
    for package in ("npu_device", "npu_bridge", "hccl"):
        found = _place_of(package)
        tree = _tree.package_path(home(), package)[0]
        if found and not _tree.same(os.path.dirname(found), tree):
            report.bad(t("%s comes from %s, not from Updraft", "%s 来自 %s，而不是 Updraft") % (package, found),
                       t("take that folder out of PYTHONPATH, or uninstall the package", "从 PYTHONPATH 去掉该目录，或卸载该包"))
        elif not found and not os.path.isdir(os.path.join(tree, package)):
            report.bad(t("there is no %s in %s", "%s 不在 %s 中") % (package, tree), t("install Updraft again", "重新安装 Updraft"))
        elif not found and not _hook_will_load():
            report.bad(t("`import %s` finds nothing: the preload hook is not there", "`import %s` 找不到：预加载钩子不存在") % package,
                       t("run: updraft run CMD, or correct what is named above", "使用 updraft run 命令，或先解决上面的问题"))
    if quick:
        return
    good, text = _child(TENSORFLOW_IMPORT, TF_CPP_MIN_LOG_LEVEL="3")
    if good:
        report.ok(t("npu_device opens %s", "npu_device 可以打开 %s") % text)
    else:
        report.bad(t("npu_device does not open: ", "npu_device 无法打开：") + text, t("correct what is named above", "先解决上面的问题"))


def _place_of(package):
    """The package's folder as sys.path has it."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(package)
    folders = spec.submodule_search_locations if spec and spec.loader else None
    return next(iter(folders), None) if folders else None


# The plugin's reason stands somewhere in the text of the refusal, or of a warning before it.
IMPORT_MINDSPORE = """
import os, re, sys, tempfile
os.chdir(tempfile.mkdtemp())
try:
    import mindspore as ms
    ms.set_device('Ascend', 0)
    ms.runtime.synchronize()
    print(ms.hal.device_count('Ascend'), ms.hal.get_device_name(0))
except BaseException as error:
    text = '%s: %s' % (type(error).__name__, error)
    reason = re.search(r'[^\\n]*(undefined symbol|cannot open shared object|No such file)[^\\n]*', text)
    sys.stderr.write('\\n' + (reason[0] if reason else text.strip().splitlines()[0])[:400] + '\\n')
    sys.stderr.flush()
    os._exit(1)
"""
MINDSPORE = "2.10.0"  # as tested
MINDSPORE_PYTHONS = ((3, 9), (3, 12))


def check_mindspore(report, quick):
    version = _version("mindspore")
    if version is None:
        return
    if _numbers(version) == MINDSPORE:
        report.ok("mindspore %s" % version)
    else:
        report.note(t("mindspore %s; tested is %s", "mindspore %s；经过测试的版本是 %s") % (version, MINDSPORE), "pip install mindspore==" + MINDSPORE)
    python = sys.version_info[:2]
    if not MINDSPORE_PYTHONS[0] <= python <= MINDSPORE_PYTHONS[1]:
        report.bad(t("mindspore has no build for Python %d.%d", "mindspore 没有适用于 Python %d.%d 的版本") % python,
                   t("use Python 3.9 to 3.12", "请使用 Python 3.9 至 3.12"))
    numpy = _version("numpy")
    if numpy and not numpy.startswith(("0.", "1.")):
        report.bad(t("numpy %s: mindspore %s is built for numpy 1 and does not import", "numpy %s：mindspore %s 针对 numpy 1 构建，无法导入")
                   % (numpy, version), "pip install 'numpy<2'")
        return
    if quick:
        return
    good, text = _child(IMPORT_MINDSPORE, GLOG_v="4")
    if good:
        report.ok(t("mindspore finds Ascend: %s devices, %s", "mindspore 可以使用 Ascend：%s 个设备，%s") % tuple(text.split(" ", 1)))
    else:
        report.bad(t("mindspore has no device Ascend: ", "mindspore 没有 Ascend 设备：") + text,
                   t("correct what is named above; GLOG_v=2 shows what its plugin says", "先解决上面的问题；GLOG_v=2 可查看其插件的信息"))


def cuda_build_aborts(report, torch):
    """From 2.10 on, CUDA's part of torch and torch_npu both register a setting of the allocator; c10 ends the process."""
    cuda = _cuda_of_torch()
    if cuda is None or tuple(int(n) for n in re.findall(r"\d+", torch)[:2]) < FIRST_CLASH:
        return False
    report.bad(t("torch %s is built for CUDA %s: `import torch_npu` aborts (\"Duplicated key 'pinned_reserve_segment_size_mb' …\"), "
                 "since torch's CUDA part and torch_npu register the same setting",
                 "torch %s 是 CUDA %s 版本：`import torch_npu` 会异常终止（“Duplicated key 'pinned_reserve_segment_size_mb' …”），"
                 "因为 torch 的 CUDA 部分与 torch_npu 注册了同一设置") % (torch, cuda),
               "pip install --force-reinstall --no-deps torch==%s --index-url https://download.pytorch.org/whl/cpu" % _numbers(torch))
    return True


# What beside torch holds libraries linked with torch's: how an import of a build for CUDA ends where torch has no CUDA.
COMPANIONS = {"torchvision": "operator torchvision::nms does not exist", "torchaudio": "Could not load this library: …/_torchaudio.abi3.so"}


def companion_of(package, torch):
    """The release of torchvision or torchaudio for a torch "2.MINOR.PATCH" (torchaudio's releases end with 2.11.0)."""
    minor, patch = (torch.split(".") + ["0", "0"])[1:3]
    if package == "torchvision":
        return "0.%d.%s" % (int(minor) + 15, patch)
    return "2.%s.%s" % (minor, patch) if int(minor) <= 11 else "2.11.0"


def check_companions(report):
    """Many packages import torchvision or torchaudio where there is one; pip finds builds for CUDA, which need torch's."""
    from importlib import metadata

    torch = _version("torch")
    for package, error in COMPANIONS.items():
        if torch is None or not torch.startswith("2.") or _version(package) is None:
            continue
        built = re.search(r"__version__ = ['\"]([^'\"]+)['\"]", _text_of(package, "version.py"))
        built = built[1] if built else _version(package)
        needs = re.search(r"^torch\b[ (]*([=>]=) *([\d.]+)", "\n".join(metadata.requires(package) or ()), re.MULTILINE)
        if "+cu" in built and _cuda_of_torch() is None:
            text = t("%s %s is built for CUDA and torch %s is not: `import %s` fails (\"%s\"), and so do packages that import it, as "
                     "transformers and Lightning do",
                     "%s %s 是 CUDA 版本，而 torch %s 不是：`import %s` 会失败（“%s”），导入它的软件包（如 transformers 和 Lightning）也会失败"
                     ) % (package, built, torch, package, error)
        elif needs and not _satisfies(_numbers(torch), *needs.groups()):
            text = t("%s %s needs torch%s%s and this is torch %s: `import %s` may fail", "%s %s 需要 torch%s%s，而此处是 torch %s：`import %s` 可能失败"
                     ) % (package, built, *needs.groups(), torch, package)
        else:
            report.ok(t("%s %s fits torch %s", "%s %s 与 torch %s 匹配") % (package, built, torch))
            continue
        report.bad(text, t("pip install --force-reinstall --no-deps %s==%s --index-url https://download.pytorch.org/whl/cpu, or: pip uninstall %s",
                           "pip install --force-reinstall --no-deps %s==%s --index-url https://download.pytorch.org/whl/cpu，或：pip uninstall %s"
                           ) % (package, companion_of(package, _numbers(torch)), package))


def check_machine(report):
    level, extras = _machine.isa()
    if level:
        report.ok(t("CPU: %s", "CPU：%s") % " ".join([level] + extras))
    else:
        report.bad(t("this CPU is older than x86-64-v2", "此 CPU 低于 x86-64-v2"), t("use a CPU with SSE4.2", "请使用支持 SSE4.2 的 CPU"))
    memory = _machine.machine_memory()
    text = t("memory: %.1f GiB, %.1f GiB a device", "内存：%.1f GiB，每个设备 %.1f GiB") % (memory / 2**30, _machine.device_memory() / 2**30)
    if memory < 2 << 30:
        report.note(text, t("training needs more: raise the container's limit", "训练需要更多内存：请提高容器限制"))
    elif _machine.device_memory() > memory:
        report.note(text, t("UPDRAFT_MEMORY is more than the machine has", "UPDRAFT_MEMORY 超过了机器内存"))
    else:
        report.ok(text)
    try:
        os.close(os.memfd_create("updraft-doctor"))
        report.ok(t("memfd_create works (/dev/shm is not used)", "memfd_create 可用（不使用 /dev/shm）"))
    except (OSError, AttributeError) as error:
        report.bad("memfd_create: %s" % error, t("allow the memfd_create system call in the container's profile", "在容器配置中允许 memfd_create 系统调用"))
    settings = ["%s=%s" % (n, os.environ[n]) for n in sorted(os.environ) if n.startswith(("OMP_", "GOMP_", "KMP_"))]
    cores = len(os.sched_getaffinity(0))
    report.ok(t("%d cores; OpenMP settings: %s", "%d 个核；OpenMP 设置：%s") % (cores, " ".join(settings) or t("none", "无")))
    if os.environ.get("OMP_NUM_THREADS") == "1" and cores > 1 and "UPDRAFT_THREADS" not in os.environ:
        report.note(t("OMP_NUM_THREADS=1 does not limit the virtual NPU", "OMP_NUM_THREADS=1 不限制虚拟 NPU"), t("UPDRAFT_THREADS does", "请用 UPDRAFT_THREADS"))
    if "iomp5" in os.environ.get("LD_PRELOAD", ""):
        report.note(t("LD_PRELOAD brings a second OpenMP runtime", "LD_PRELOAD 带来了第二个 OpenMP 运行时"), "unset LD_PRELOAD")


def _log_root():
    for name, below in (("ASCEND_PROCESS_LOG_PATH", ""), ("ASCEND_WORK_PATH", "log"), ("HOME", "ascend/log")):
        if os.environ.get(name):
            return os.path.join(os.environ[name], below).rstrip("/")
    return None


def _writable(path):
    """A folder, or one that can be made."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path or ".") and os.access(path or ".", os.W_OK | os.X_OK)


def check_log(report):
    root = _log_root()
    if root and _writable(root):
        report.ok(t("log: errors of a run go to %s; updraft explain %s reads them", "日志：运行中的错误写入 %s；updraft explain %s 可解读") % (root, root))
    else:
        report.note(t("log: %s cannot be written", "日志：%s 不可写") % (root or "~"), t("set ASCEND_PROCESS_LOG_PATH", "请设置 ASCEND_PROCESS_LOG_PATH"))
    print("        " + t("a line begins with [ERROR] MODULE, and the module says where to look:", "每行以 [ERROR] 模块 开头，模块说明从何处查起："))
    for m in MODULES:
        print("        %-22s %s" % (", ".join(m.names), m.about_zh if chinese() else m.about))
        print("          -> " + (m.advice_zh if chinese() else m.advice))
    print("        " + t("another sort of failure: versions that do not fit, which stand above", "其他故障：版本不匹配，见上文"))


def main(quick=False):
    report = Report()
    print("updraft %s, CANN %s, %s" % (__version__, CANN_VERSION, home()))
    check_tree(report)
    check_environment(report)
    check_clients(report)
    check_torch(report, quick)
    check_tensorflow(report, quick)
    check_companions(report)
    check_mindspore(report, quick)
    check_machine(report)
    check_log(report)
    if report.problems:
        print(t("%d problem(s) found", "发现 %d 个问题") % report.problems)
    else:
        print(t("no problem found", "没有发现问题"))
    return 1 if report.problems else 0
