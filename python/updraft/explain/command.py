"""updraft explain."""

import os
import sys

from updraft._texts import chinese, t
from updraft.explain import codes, reading
from updraft.explain.modules import MODULES, module_of

MOST_LINES = 5


def add_parser(commands):
    parser = commands.add_parser("explain", help=t("say what an error code, a log or a run's output means", "解释错误码、日志或运行输出"))
    parser.add_argument("what", nargs="*", metavar=t("CODE|FILE", "错误码|文件"), help=t(
        "507015, EI0006, ERR01100; a plog, a folder of them, or saved output; - for standard input; nothing: the modules of the log",
        "507015、EI0006、ERR01100；plog 文件或其目录，或保存的输出；- 为标准输入；省略则列出日志模块"))
    parser.set_defaults(call=_explain)


def _say(row):
    print("%s  %s" % (row.code, row.name))
    print("  " + (row.meaning_zh if chinese() else row.meaning))
    print("  " + t("What to do: ", "处理办法：") + (row.advice_zh if chinese() else row.advice))


def _modules():
    for m in MODULES:
        print("%s  %s" % (", ".join(m.names), m.about_zh if chinese() else m.about))
        print("  " + (m.advice_zh if chinese() else m.advice))


def _text_of(path):
    if path == "-":
        return sys.stdin.read()
    if os.path.isdir(path):
        files = sorted(os.path.join(folder, f) for folder, _, names in os.walk(path) for f in names if f.endswith(".log"))
        return "".join(_text_of(f) for f in files)
    with open(path, errors="replace") as file:
        return file.read()


def _read(path):
    text = _text_of(path)
    errors = sorted((line for line in reading.lines_of(text) if line.level == "ERROR"), key=lambda line: line.time)
    if errors:
        first = errors[0]
        print(t("%d errors in the log, of %d processes. The first:", "日志中有 %d 条错误，来自 %d 个进程。第一条：") % (len(errors), len({e.process for e in errors})))
        print("  %s %s(%d,%s) %s" % (first.time, first.module, first.process, first.program, first.text))
        for name in dict.fromkeys(e.module for e in errors):
            of = [e for e in errors if e.module == name]
            module = module_of(name)
            about = (module.about_zh if chinese() else module.about) if module else t("a module that this list has not got", "列表中没有的模块")
            print("\n%s: %s (%d)" % (name, about, len(of)))
            if module:
                print("  " + (module.advice_zh if chinese() else module.advice))
            for e in of[:MOST_LINES]:
                print("  %s  %s" % (e.time, e.text.splitlines()[0] if e.text else ""))
            if len(of) > MOST_LINES:
                print("  " + t("… %d more", "… 另有 %d 条") % (len(of) - MOST_LINES))
    found = reading.codes_of(text)
    if found:
        print(("\n" if errors else "") + t("Codes in it, in their order:", "其中的错误码，按出现顺序："))
        for row in found:
            print()
            _say(row)
    if not errors and not found:
        print(t("%s has no error lines and no code that is known here", "%s 中没有错误行，也没有已知的错误码") % path)
    return 0


def _explain(args):
    if not args.what:
        _modules()
        return 0
    known, status = codes.table(), 0
    for n, what in enumerate(args.what):
        if n:
            print()
        # results of HCCL are small numbers: 1 to 25
        row = known.get(what.upper()) or codes.adapter(what.upper()) or known.get("HCCL " + what.removeprefix("HCCL_"))
        if row is None:
            row = next((r for r in known.values() if r.name == what.upper()), None)
        if row:
            _say(row)
        elif what == "-" or os.path.exists(what):
            try:
                _read(what)
            except OSError as error:
                print("updraft explain: %s: %s" % (what, error.strerror), file=sys.stderr)
                status = 2
        else:
            print(t("updraft explain: %s is neither a code that is known here nor a file; codes are like 507015, EI0006, ERR01100 or 9 (of HCCL)",
                    "updraft explain：%s 既不是已知错误码也不是文件；错误码形如 507015、EI0006、ERR01100 或 9（HCCL）") % what, file=sys.stderr)
            status = 2
    return status
