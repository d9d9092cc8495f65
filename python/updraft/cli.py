"""The updraft command."""

import argparse
import os
import shlex
import sys

from updraft import CANN_VERSION, __version__, _machine, _tree, home, op_command
from updraft._texts import t
from updraft.check import command as check_command
from updraft.explain import command as explain_command


def _front(folders, old):
    """Puts folders in front of a search path; an entry is never there twice. No empty entry (it means ".")."""
    rest = [p for p in (old or "").split(os.pathsep) if p and p not in folders]
    return os.pathsep.join(folders + rest)


def environment(env=None):
    """The variables that `run` and `env` set: ours win over a configured CANN because the user asked for us."""
    env = os.environ if env is None else env
    tree = home()
    result = dict(_tree.ascend_variables(tree), UPDRAFT_CANN_HOME=tree)
    for name, folders in _tree.search_paths(tree).items():
        result[name] = _front(folders, env.get(name))
    return result


def _devices(text):
    if text.isdigit() and 1 <= int(text) <= 1024:
        return text
    raise argparse.ArgumentTypeError(t("a number from 1 to 1024 is needed, not %r", "需要 1 到 1024 的整数，而不是 %r") % text)


def _threads(text):
    if text.isdigit() and int(text) >= 1:
        return text
    raise argparse.ArgumentTypeError(t("a positive number is needed, not %r", "需要正整数，而不是 %r") % text)


def _memory(text):
    if _machine.parse_size(text):
        return text
    raise argparse.ArgumentTypeError(t("a size such as 512M or 8G is needed, not %r", "需要 512M 或 8G 这样的大小，而不是 %r") % text)


def _soc(text):
    if text.startswith("Ascend"):
        return text
    raise argparse.ArgumentTypeError(t("a name such as Ascend910B2 is needed, not %r", "需要 Ascend910B2 这样的名称，而不是 %r") % text)


def _kinds(text):
    from updraft.sanitizer import command as sanitizer

    try:
        return sanitizer.kinds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error))


def _with_kinds(argv):
    """`run --sanitize CMD` as `run --sanitize=all CMD`: the word behind it is the command's, unless it names kinds as the help has them."""
    for i, word in enumerate(argv):
        if word == "--sanitize":
            return argv if _names_kinds(argv[i + 1:i + 2]) else argv[:i] + ["--sanitize=all"] + argv[i + 1:]
        if word == "--" or i and not word.startswith("-") and argv[i - 1] not in _WITH_VALUE:
            break
    return argv


def _names_kinds(words):
    try:
        return bool(words and _kinds(words[0]))
    except argparse.ArgumentTypeError:
        return False


_WITH_VALUE = ("--devices", "--soc", "--threads", "--memory", "--fidelity", "--report", "--record", "--data", "--sanitize-report",
               "--sanitize-ignore")


def _run(args):
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        print(t("updraft run: name a command, e.g.  updraft run python train.py",
                "updraft run：请给出命令，例如  updraft run python train.py"), file=sys.stderr)
        return 2
    if command[0].endswith(".py") and os.path.isfile(command[0]):
        command = [sys.executable] + command
    env = dict(os.environ, **environment())
    env.pop("UPDRAFT_DISABLE", None)
    for name in ("devices", "soc", "threads", "memory", "fidelity"):
        value = getattr(args, name)
        if value is not None:
            env["UPDRAFT_" + name.upper()] = value
    if args.strict:
        env["UPDRAFT_STRICT"] = "1"
    if args.cuda_as_npu:
        env["UPDRAFT_CUDA_AS_NPU"] = "1"
    if args.find_nan:
        # torch_npu then calls operators in the thread whose Python lines are wanted
        env.update(UPDRAFT_FIND_NAN="1", TASK_QUEUE_ENABLE="0")
    if not args.sanitize and (args.sanitize_report or args.sanitize_ignore):
        print(t("updraft run: --sanitize-report and --sanitize-ignore go with --sanitize", "updraft run：--sanitize-report 和 --sanitize-ignore 需要 --sanitize"),
              file=sys.stderr)
        return 2
    if args.record or args.data:
        from updraft.record import command as record

        if not args.record or args.report or args.sanitize:
            print(t("updraft run: --data goes with --record, and --record not with --report or --sanitize",
                    "updraft run：--data 需要 --record，--record 不能与 --report、--sanitize 同用"), file=sys.stderr)
            return 2
        return record.run(command, env, args.record, args.data)
    if args.sanitize and args.report:
        print(t("updraft run: --sanitize and --report are two runs: each changes what the other would see",
                "updraft run：--sanitize 与 --report 须分两次运行，二者互相影响"), file=sys.stderr)
        return 2
    if args.sanitize:
        from updraft.sanitizer import command as sanitizer

        return sanitizer.run(command, env, args.sanitize, args.sanitize_report, args.sanitize_ignore)
    if args.report:
        from updraft.readiness import command as readiness

        return readiness.run(command, env, args.report)
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        print("updraft run: %s: %s" % (command[0], error.strerror), file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def _env(args):
    for name, value in environment().items():
        print("export %s=%s" % (name, shlex.quote(value)))
    return 0


def _doctor(args):
    from updraft import doctor

    return doctor.main(quick=args.quick)


def _tool(name, argv):
    """Runs a program of the tree in place of this process."""
    program = os.path.join(home(), "bin", name)
    os.environ.setdefault("UPDRAFT_PYTHON", sys.executable)  # what --verify runs in
    try:
        os.execv(program, [name] + argv)
    except FileNotFoundError:
        print(t("updraft: there is no %s (after ./dev demo alone there are no tools): ./dev setup builds it, as pip install does",
                "updraft：没有 %s（仅运行 ./dev demo 不会构建工具）：请运行 ./dev setup 构建，或用 pip install 安装") % program, file=sys.stderr)
        return 127
    except OSError as error:
        print("updraft: %s: %s" % (program, error.strerror), file=sys.stderr)
        return 127


def _version(args):
    print("updraft %s, CANN %s, %s" % (__version__, CANN_VERSION, home()))
    return 0


def parser():
    top = argparse.ArgumentParser(prog="updraft", description=t(
        "A virtual NPU: CANN in software, under the official torch-npu wheels.",
        "虚拟 NPU：用软件实现的 CANN，配合官方 torch-npu 软件包运行。"))
    top.add_argument("--version", action="version", version="updraft " + __version__)
    commands = top.add_subparsers(dest="name", required=True, metavar=t("COMMAND", "命令"))

    run = commands.add_parser("run", help=t("run a command on the virtual NPU", "在虚拟 NPU 上运行命令"))
    run.add_argument("--devices", type=_devices, metavar="N", help=t("number of devices (default 8)", "设备数（默认 8）"))
    run.add_argument("--soc", type=_soc, metavar="NAME", help=t("product (default Ascend910B2)", "芯片型号（默认 Ascend910B2）"))
    run.add_argument("--threads", type=_threads, metavar="N", help=t("CPU threads of a device", "每个设备的 CPU 线程数"))
    run.add_argument("--memory", type=_memory, metavar="SIZE", help=t("memory of a device, e.g. 8G", "每个设备的内存，例如 8G"))
    run.add_argument("--strict", action="store_true", help=t(
        "host code that touches device memory crashes, as on a card", "主机代码访问设备内存时崩溃，与真卡一致"))
    run.add_argument("--fidelity", choices=["card"], help=t(
        "card: refuse what the chosen product would refuse", "card：拒绝所选型号不支持的操作"))
    run.add_argument("--cuda-as-npu", action="store_true", help=t(
        "run an unmodified CUDA script (torch_npu's transfer_to_npu)", "直接运行未修改的 CUDA 脚本（torch_npu 的 transfer_to_npu）"))
    run.add_argument("--find-nan", action="store_true", help=t(
        "stop at the first operator that makes NaN or Inf out of finite inputs", "在首个由有限输入产生 NaN 或 Inf 的算子处停止"))
    run.add_argument("--report", metavar="FILE.html", help=t(
        "write what a card would say of this run", "写出真卡会如何看待这次运行的报告"))
    run.add_argument("--record", metavar="FOLDER", help=t(
        "record what decides how the training goes, for updraft check", "记录影响训练结果的因素，供 updraft check 比较"))
    run.add_argument("--data", metavar="PATH", action="append", default=[], help=t(
        "with --record: the data set, of which every file is summed (may be repeated)", "与 --record 同用：数据集路径，逐个文件计算 md5（可重复）"))
    run.add_argument("--sanitize", type=_kinds, metavar="all|KINDS", help=t(
        "look for races of streams, use of freed or unwritten memory, out of bounds, leaks", "检查流竞争、已释放或未写入内存的使用、越界与泄漏"))
    run.add_argument("--sanitize-report", metavar="FILE", help=t(
        "what --sanitize found, as HTML (.html) or JSON", "将 --sanitize 的结果写为 HTML（.html）或 JSON"))
    run.add_argument("--sanitize-ignore", metavar="FILE", help=t(
        "lines KIND:PATTERN of what --sanitize does not report", "--sanitize 不报告的内容，每行 类别:模式"))
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD", help=t("the command", "要运行的命令"))
    run.set_defaults(call=_run)

    env = commands.add_parser("env", help=t('print exports: eval "$(updraft env)"', '打印环境变量：eval "$(updraft env)"'))
    env.set_defaults(call=_env)
    doctor = commands.add_parser("doctor", help=t("say what is wrong and what to do", "检查安装，指出问题和解决办法"))
    doctor.add_argument("--quick", action="store_true", help=t("do not import torch", "不导入 torch"))
    doctor.set_defaults(call=_doctor)
    commands.add_parser("info", help=t("devices and processes, as npu-smi info", "设备与进程，同 npu-smi info"))
    commands.add_parser("migrate", help=t("rewrite a GPU training project for the NPU", "将 GPU 训练工程迁移到 NPU"))
    commands.add_parser("compare", help=t("compare dumps of tensors, as msaccucmp does", "比对 dump 数据，同 msaccucmp"))
    commands.add_parser("analyse", help=t("say what of a project the NPU supports", "分析工程在 NPU 上的支持情况"))
    op_command.add_parser(commands)
    explain_command.add_parser(commands)
    check_command.add_parser(commands)
    version = commands.add_parser("version", help=t("print versions and the tree in use", "打印版本和所用目录"))
    version.set_defaults(call=_version)
    return top


def main(argv=None):
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["info"] and not {"-h", "--help"} & set(argv):  # argparse would take its options for its own
        from updraft import npu_smi

        return npu_smi.main(argv)
    if argv[:1] and argv[0] in ("migrate", "analyse", "analyze"):
        sys.stdout.flush()
        return _tool("updraft-migrate", argv)
    if argv[:1] == ["compare"]:  # updraft compare -m …, and updraft compare convert -d …
        commands = ("compare", "convert", "overflow", "file_compare")
        sys.stdout.flush()
        return _tool("msaccucmp", argv[1:] if argv[1:2] and argv[1] in commands + ("-h", "--help") else argv)
    if argv[:1] == ["run"]:
        argv = _with_kinds(argv)
    args = parser().parse_args(argv)
    try:
        status = args.call(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
