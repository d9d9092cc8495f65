"""torch.compile with the wheel's npu backend against our own eager operators: the same model in one process, in turn.

    ./dev bench graph --compiled [--models calls-10,calls-10-idle,resnet50,resnet50-frozen,llama-step,bert-train,bert-train-fp32] [--rounds 5] [--threads 1]

resnet50-frozen is compiled with frozen_parameter=True. bert-train is a step under autocast (BFLOAT16), as it is trained on a card, whose products are of
half types; bert-train-fp32 is one without. calls-10-idle is calls-10 with a backend that computes nothing: what torch.compile
itself takes for a call.
"""
import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.nn import functional as F


class Chain(nn.Module):
    """Ten small operators: what is measured is what a call costs."""

    def forward(self, x, y):
        for _ in range(5):
            x = torch.relu(x) + y
        return x


class Rotated(nn.Module):
    """A decoder's layer as LLaMA has it, for one token and a cache of the tokens before."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.behind = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    @staticmethod
    def turn(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, x, cos, sin, keys, values, mask):
        n, t, width = x.shape
        h = self.before(x)
        q, k, v = (f(h).view(n, t, self.heads, width // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        keys = torch.cat((keys, self.turn(k, cos, sin)), 2)
        values = torch.cat((values, v), 2)
        scores = self.turn(q, cos, sin) @ keys.transpose(2, 3) * (width // self.heads) ** -0.5 + mask
        x = x + self.o((torch.softmax(scores, -1) @ values).transpose(1, 2).reshape(n, t, width))
        h = self.behind(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), keys, values


class Decoder(nn.Module):
    def __init__(self, width=512, heads=8, layers=8, words=32000):
        super().__init__()
        self.embedding, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.layers = nn.ModuleList(Rotated(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)

    def forward(self, token, cos, sin, mask, *cache):
        x, kept = self.embedding(token), []
        for i, layer in enumerate(self.layers):
            x, *new = layer(x, cos, sin, cache[2 * i], cache[2 * i + 1], mask)
            kept += new
        return self.head(self.norm(x)), *kept


def chain():
    return Chain(), (torch.randn(4, 8), torch.randn(4, 8))


def resnet50():
    from tests.clients.training import models
    return models.resnet50(), (torch.randn(1, 3, 224, 224),)


def llama_step(before=127):
    cache = [torch.randn(1, 8, before, 64) for _ in range(16)]
    return Decoder(), (torch.randint(32000, (1, 1)), torch.randn(1, 1, 1, 64), torch.randn(1, 1, 1, 64), torch.zeros(1, 1, 1, before + 1), *cache)


def bert_train():
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(num_labels=4, attn_implementation="eager", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return BertForSequenceClassification(config), (torch.randint(30000, (4, 128)), torch.randint(4, (4,)))


MODELS = {"calls-10": (chain, 200), "calls-10-idle": (chain, 200), "resnet50": (resnet50, 1), "resnet50-frozen": (resnet50, 1), "llama-step": (llama_step, 5),
          "bert-train": (bert_train, 1), "bert-train-fp32": (bert_train, 1)}


def idle(results):
    """A backend whose graphs give these tensors without computing anything."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    return aot_autograd(fw_compiler=lambda graph, inputs: make_boxed_func(lambda *given: results))


def backend(frozen):
    import torchair
    config = torchair.CompilerConfig()
    config.experimental_config.frozen_parameter = frozen
    return torchair.get_npu_backend(compiler_config=config)


def sides(name):
    """The compiled step and the eager one: a call of each runs it `times` times, and gives its result when asked for."""
    torch.manual_seed(0)
    build, times = MODELS[name]
    model, inputs = build()
    model, inputs = model.npu(), [x.npu() for x in inputs]
    train = name.startswith("bert-train")
    autocast = torch.autocast("npu", dtype=torch.bfloat16, enabled=name == "bert-train")
    model.train(train)

    def stepper(f):
        if train:
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)  # both sides train one model

            def once():
                optimizer.zero_grad(set_to_none=True)
                with autocast:
                    loss = f(input_ids=inputs[0], labels=inputs[1]).loss
                loss.backward()
                optimizer.step()
                return loss
        else:
            def once():
                out = f(*inputs)
                return out[0] if isinstance(out, tuple) else out

        def step(value=False):
            with torch.set_grad_enabled(train):  # around all calls: it takes 1 to 2 us itself, which are not the graph's
                for _ in range(times):
                    out = once()
            torch.npu.synchronize()
            return out.detach().float().cpu() if value else None
        return step

    if name.endswith("idle"):
        with torch.no_grad():
            chosen = idle([model(*inputs)])
    else:
        chosen = backend(name.endswith("frozen"))
    fast = torch.compile(model, backend=chosen, dynamic=False)
    return stepper(fast), stepper(model), times


def measure(names, rounds):
    """{name: row}: milliseconds of one step."""
    import time

    from bench.measure import interleave
    rows = {}
    for name in names:
        fast, eager, times = sides(name)
        a, b = fast(True), eager(True)
        error = ((a - b).abs().max() / b.abs().max()).item()
        assert error < 1e-3, (name, error)

        def timed(step):
            start = time.perf_counter()
            step()
            return (time.perf_counter() - start) / times
        rows[name] = interleave(lambda: timed(fast), lambda: timed(eager), rounds)
        print(name, f"error {error:.1e}", rows[name], flush=True)
        torch._dynamo.reset()
    return rows
