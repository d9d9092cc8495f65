"""updraft op: lists operators, shows one, runs one on arrays, or says what shapes it would give."""

import os
import re
import sys

from updraft import operators
from updraft._texts import chinese, t

SIZES = {"N": 4, "M": 6}  # of samples
_SIZE = r"-?\d*[NM]|-?\d+"
_TENSOR = re.compile(r"(\w+)\[((?:%s)(?:,(?:%s))*)?\](?::(.*))?" % (_SIZE, _SIZE))
_NUMBER = r"-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf)|nan"


class Usage(Exception):
    """What is wrong with the command line."""


def _integer(text):
    sign, digits, letter = re.fullmatch(r"(-?)(\d*)([NM]?)", text).groups()
    value = int(digits or 1) * SIZES.get(letter, 1)
    return -value if sign else value


def _number(text):
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(_SIZE, text):
        return _integer(text)
    if re.fullmatch(_NUMBER, text):
        return float(text)
    raise Usage(t("%s is no number", "%s 不是数字") % text)


def _array(dtype, dims, values, generator):
    """Values of a tensor: low..high at random, numbers one after the other, or none given."""
    import numpy

    kind = numpy.dtype("float32" if dtype == "bf16" else operators.TYPES[dtype][1])
    bounds = re.fullmatch(r"(%s)\.\.(%s)" % (_NUMBER, _NUMBER), values) if values else None
    if values and not bounds:
        numbers = [_number(v) for v in values.split(",")]
        count = int(numpy.prod(dims))
        if len(numbers) not in (1, count):
            raise Usage(t("%d values are given, want 1 or %d", "给出了 %d 个值，需要 1 个或 %d 个") % (len(numbers), count))
        array = numpy.resize(numpy.array(numbers), dims).astype(kind)
    elif kind.kind == "b":
        array = generator.random(dims) < 0.5
    elif kind.kind in "fc":
        low, high = map(float, bounds.groups()) if bounds else (0.1, 0.9)
        array = (generator.random(dims) * (high - low) + low).astype(kind)
    else:
        low, high = map(float, bounds.groups()) if bounds else (0, 4)
        array = generator.integers(int(low), max(int(high), int(low) + 1), dims).astype(kind)
    array = numpy.asarray(array)  # without dimensions it is a number
    return _to_bf16(array) if dtype == "bf16" else array


def _to_bf16(array):
    import numpy

    bits = numpy.ascontiguousarray(array, "float32").view("uint32").astype("uint64")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16").reshape(numpy.shape(array))


def _from_bf16(array):
    import numpy

    return (array.astype("uint32") << 16).view(numpy.float32).reshape(array.shape)


class Tensor:
    """The value of a tensor on the command line: a file, a type with a shape, `?` (an output that is asked for), null."""

    def __init__(self, text, parameter):
        self.text, self.file, self.dtype, self.dims, self.values = text, None, None, None, None
        self.asked, self.absent = text == "?", text == "null"
        if self.asked or self.absent:
            return
        match = _TENSOR.fullmatch(text.removesuffix("!"))
        if match and match[1] in operators.TYPES:
            self.dtype, self.values = match[1], match[3]
            self.dims = [_integer(n) for n in match[2].split(",")] if match[2] else []
            if self.values and self.values.endswith(".npy"):
                self.file, self.values = self.values, None
            return
        file, _, dtype = text.partition(".npy:")
        self.file = file + ".npy" if dtype else text
        if not self.file.endswith(".npy") or (dtype and dtype not in operators.TYPES):
            raise Usage(t("%s=%s is neither an .npy file nor a type with a shape such as f32[2,3] (types: %s)",
                          "%s=%s 既不是 .npy 文件，也不是 f32[2,3] 这样的类型与形状（类型：%s）")
                        % (parameter, text, " ".join(operators.TYPES)))
        self.dtype = dtype or None

    def load(self, generator):
        """The type and the array."""
        import numpy

        if self.dims is not None:
            if any(d < 0 for d in self.dims):
                raise Usage(t("%s has unknown sizes: add --infer", "%s 含未知大小：请加上 --infer") % self.text)
            return self.dtype, _array(self.dtype, self.dims, self.values, generator)
        try:
            array = numpy.load(self.file, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise Usage("%s: %s" % (self.file, error)) from None
        if self.dtype == "bf16" and array.dtype == numpy.float32:
            array = _to_bf16(array)
        kinds = {kind: name for name, (_, kind) in operators.TYPES.items() if name != "bf16"}
        dtype = self.dtype or kinds.get(array.dtype.name)
        if not dtype or operators.TYPES[dtype][1] != array.dtype.name:
            raise Usage(t("%s holds %s, which is not %s", "%s 的数据为 %s，不是 %s")
                        % (self.file, array.dtype.name, dtype or t("a type of operators", "算子支持的类型")))
        return dtype, numpy.ascontiguousarray(array).reshape(array.shape)

    def shape(self):
        """The type and the sizes."""
        import numpy

        if self.dims is not None:
            return self.dtype, self.dims
        dtype, array = self.load(numpy.random.default_rng(0))
        return dtype, list(array.shape)


def _split(text):
    """The items of a list: between semicolons."""
    return [] if text == "[]" else text.split(";")


def _value(parameter, text):
    """The value of a parameter that is no tensor."""
    kind, name = parameter["kind"], parameter["name"]
    try:
        if kind == "text":
            return text
        if kind == "texts":
            return text.split(",")
        if kind == "type":
            return operators.TYPES[text][0]
        if kind == "integer":
            return _integer(text)
        if kind == "number":
            return float(text)
        if kind == "bool":
            return {"true": True, "false": False}[text]
        if kind == "scalar":
            return _number(text)
        values = [] if text == "[]" else text.split(",")
        if kind == "integers":
            return [_integer(v) for v in values]
        if kind == "bools":
            return [int({"true": True, "false": False}[v]) for v in values]
        return [float(_number(v)) for v in values]
    except (KeyError, ValueError, AttributeError):
        raise Usage(t("%s=%s: want %s", "%s=%s：需要 %s") % (name, text, kind)) from None


class Invocation:
    """An operator with the values of a command line."""

    def __init__(self, name, texts, use_sample=False):
        self.info = operators.describe(name)
        self.parameters = {p["name"]: p for p in self.info["parameters"]}
        for given in texts:
            if given not in self.parameters:
                raise Usage(t("%s has no parameter %s; it has %s", "%s 没有参数 %s；它的参数有 %s")
                            % (name, given, ", ".join(self.parameters)))
        self.texts = dict(texts)
        if use_sample:
            sample = operators.sample(name)
            if sample is None:
                raise Usage(t("%s has no sample", "%s 没有样例") % name)
            for parameter, text in sample.items():
                output = self.parameters[parameter]["direction"] == "out"
                if output and text not in ("null", "[]"):
                    text = ";".join("?" for _ in _split(text))
                self.texts.setdefault(parameter, text)
        self._complete()

    def _complete(self):
        """Outputs that nobody named are asked for: a list as many times as the first list of inputs has tensors."""
        lists = [len(_split(self.texts[n])) for n, p in self.parameters.items()
                 if p["kind"] == "tensors" and p["direction"] != "out" and n in self.texts]
        for name, p in self.parameters.items():
            if name in self.texts or p["direction"] != "out" or p["optional"]:
                continue
            if p["kind"] == "tensor":
                self.texts[name] = "?"
            elif lists:
                self.texts[name] = ";".join("?" * lists[0]) or "[]"
            else:
                raise Usage(t("say how many tensors %s has: %s=?;?", "请说明 %s 有几个张量：%s=?;?") % (name, name))

    def _fill(self, call, infer):
        """Gives a call its values. Returns (parameter, index, memory or None, file) of everything that is written."""
        import numpy

        generator, written = numpy.random.default_rng(0), []
        for name, p in self.parameters.items():
            text = self.texts.get(name)
            if text is None or text == "null":
                continue
            if p["kind"] not in ("tensor", "tensors"):
                call.value(name, _value(p, text))
                continue
            items = [text] if p["kind"] == "tensor" else _split(text)
            if not items:
                call.empty(name)
            for index, item in enumerate(items):
                tensor, memory = Tensor(item, name), None
                output = p["direction"] == "out"
                if tensor.absent:
                    call.absent(name)
                elif output and (tensor.asked or tensor.dims is None):
                    call.ask(name)
                elif infer or output:
                    call.shape(name, *tensor.shape())
                else:
                    dtype, array = tensor.load(generator)
                    host = self.info["graph"] and p["direction"] == "in" and array.dtype.kind in "iu"
                    memory = call.tensor(name, dtype, array, host)
                if p["direction"] != "in" and not tensor.absent:
                    written.append((name, index, memory, tensor.file if output else None))
        return written

    def infer(self):
        """(label, type, sizes) of each output."""
        with operators.Call(self.info["name"]) as call:
            written = self._fill(call, True)
            call.infer()
            return [(_label(call, name, index), *call.sizes(name, index)) for name, index, _, _ in written]

    def run(self):
        """(label, type, array, file) of everything that the operator wrote."""
        with operators.Call(self.info["name"]) as call:
            written = self._fill(call, False)
            call.infer()
            placed = [(name, index, memory or call.place(name, index), file) for name, index, memory, file in written]
            call.run()
            return [(_label(call, name, index), *call.read(name, index, memory), file)
                    for name, index, memory, file in placed]


def _label(call, name, index):
    return name if call.count(name) == 1 else "%s.%d" % (name, index)


def _shape_text(dtype, sizes):
    """f32[2,3]; -1: not known; 0..6: the values decide."""
    def text(low, high):
        if low == high:
            return str(low)
        return "-1" if high < 0 else "%d..%d" % (low, high)
    return "%s[%s]" % (dtype, ",".join(text(*s) for s in sizes))


def _summary(info):
    return info["summary_zh"] if chinese() and info["summary_zh"] else info["summary"]


def _list(words, graph):
    found = 0
    for name in operators.names(graph):
        line = "%-44s %s" % (name, _summary(operators.describe(name)))
        if all(word.lower() in line.lower() for word in words):
            print(line.rstrip())
            found += 1
    if not found:
        print(t("no operator has %s in its name or summary", "没有名称或说明中含 %s 的算子") % " ".join(words), file=sys.stderr)
        return 1
    return 0


def _types_of(name, parameter):
    """What the products take as a tensor, those with the same types together."""
    products = {}
    for product, types in (operators.card(name) or {}).items():
        if isinstance(types, dict) and types.get(parameter):
            products.setdefault(" ".join(types[parameter]), []).append(product)
    return "; ".join("%s: %s" % (", ".join(who), types) for types, who in products.items())


def _show(name):
    info = operators.describe(name)
    print("%s  (%s)\n  %s\n" % (name, info["unit"] or "-", _summary(info)))
    rows = []
    for p in info["parameters"]:
        kind = p["kind"] + (t(", may be absent", "，可缺省") if p["optional"] else "")
        if "default" in p:
            kind += t(", default ", "，默认 ") + str(p["default"])
        rows.append((p["name"], p["direction"] if p["kind"] in ("tensor", "tensors") else "", kind, _types_of(name, p["name"])))
    widths = [max(len(row[i]) for row in rows) for i in range(3)] if rows else [0, 0, 0]
    for row in rows:
        print(("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[3]).rstrip())
    sample = operators.sample(name)
    if sample:
        directions = {p["name"]: p["direction"] for p in info["parameters"]}
        given = ["'%s=%s'" % item if re.search(r"[\[;]", item[1]) else "%s=%s" % item for item in sample.items()
                 if item[1] != "null" and directions[item[0]] != "out"]
        print("\n" + t("Sample (N is %(N)d, M is %(M)d):", "样例（N 为 %(N)d，M 为 %(M)d）：") % SIZES)
        print("  updraft op %s %s" % (name, " ".join(given)))
    return 0


def _print(results, save):
    import numpy

    for label, dtype, array, file in results:
        if save and not file:
            os.makedirs(save, exist_ok=True)
            file = os.path.join(save, label + ".npy")
        shape = _shape_text(dtype, [(n, n) for n in array.shape])
        if file:
            numpy.save(file, array)
            print("%s %s -> %s" % (label, shape, file))
        else:
            shown = _from_bf16(array) if dtype == "bf16" else array
            print("%s %s\n%s" % (label, shape, numpy.array2string(shown, threshold=200)))


def resolve(name, graph):
    """The operator of that name, with or without aclnn in front; None where there is none."""
    known = operators.names(graph)
    return next((n for n in (name, "aclnn" + name) if n in known), None)


def execute(args):
    texts = dict(a.split("=", 1) for a in args.values if "=" in a)
    words = [a for a in args.values if "=" not in a]
    name = resolve(words[0], args.graph) if len(words) == 1 else None
    if not name:
        if texts or args.infer or args.sample:
            if len(words) != 1:
                raise Usage(t("name one operator, e.g.  updraft op aclnnAbs self=a.npy",
                              "请给出一个算子，例如  updraft op aclnnAbs self=a.npy"))
            operators.Call(words[0])  # refuses, with the names that look like it
            raise Usage(t("%s is an operator of graphs: add --graph", "%s 是图算子：请加上 --graph") % words[0])
        return _list(words, args.graph)
    if not texts and not args.infer and not args.sample:
        return _show(name)
    invocation = Invocation(name, texts, args.sample)
    if args.infer:
        for label, dtype, sizes in invocation.infer():
            print("%s %s" % (label, _shape_text(dtype, sizes)))
    else:
        _print(invocation.run(), args.save)
    return 0


def main(args):
    try:
        return execute(args)
    except Usage as error:
        print("updraft op: %s" % error, file=sys.stderr)
        return 2
    except operators.Refused as error:
        print("updraft op: %s" % error, file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        print(t("updraft op: numpy is needed to run operators: pip install numpy",
                "updraft op：运行算子需要 numpy：pip install numpy"), file=sys.stderr)
        return 1


def add_parser(commands):
    op = commands.add_parser("op", help=t("list operators, show one, run one", "列出、查看、运行单个算子"), description=t(
        "updraft op [WORD …]: operators with these words. updraft op NAME: its parameters. updraft op NAME self=a.npy "
        "other=f32[2,3]:0..1 alpha=2 out=out.npy: runs it.",
        "updraft op [词 …]：名称或说明含这些词的算子。updraft op NAME：其参数。updraft op NAME self=a.npy "
        "other=f32[2,3]:0..1 alpha=2 out=out.npy：运行该算子。"))
    op.add_argument("values", nargs="*", metavar="NAME|PARAMETER=VALUE", help=t(
        "tensors: a.npy, a.npy:bf16, f32[2,3], f32[2,3]:0..1, f32[3]:1,2,3, null; lists: one;two; ?: an output to print",
        "张量：a.npy、a.npy:bf16、f32[2,3]、f32[2,3]:0..1、f32[3]:1,2,3、null；列表：甲;乙；?：需要打印的输出"))
    op.add_argument("--graph", action="store_true", help=t("operators that graphs name", "图中使用的算子"))
    op.add_argument("--infer", action="store_true", help=t(
        "only print shapes and types of the outputs; f32[-1,3]: the size is not known", "只打印输出的形状和类型；f32[-1,3] 表示大小未知"))
    op.add_argument("--sample", action="store_true", help=t(
        "what is not given is as in the operator's sample", "未给出的参数取算子样例中的值"))
    op.add_argument("--save", metavar="DIR", help=t("write every output to DIR/NAME.npy", "将每个输出写入 DIR/NAME.npy"))
    op.set_defaults(call=main)
