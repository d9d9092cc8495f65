"""Cases of recurrent layers as ONNX describes them, against its formulas in float64, and against PyTorch where both have them."""
import numpy as np
import torch

FUNCTIONS = {
    "Tanh": lambda v, a, b: np.tanh(v),
    "Sigmoid": lambda v, a, b: 1 / (1 + np.exp(-v)),
    "Relu": lambda v, a, b: np.where(v > 0, v, 0 * v),
    "Softsign": lambda v, a, b: v / (1 + np.abs(v)),
    "Softplus": lambda v, a, b: np.logaddexp(v, 0),
    "LeakyRelu": lambda v, a, b: np.where(v >= 0, v, a * v),
    "ThresholdedRelu": lambda v, a, b: np.where(v > a, v, 0),
    "Elu": lambda v, a, b: np.where(v >= 0, v, a * (np.exp(v) - 1)),
    "HardSigmoid": lambda v, a, b: np.clip(a * v + b, 0, 1),
    "Affine": lambda v, a, b: a * v + b,
    "ScaledTanh": lambda v, a, b: a * np.tanh(b * v),
}
ALPHAS = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "Elu": 1.0, "HardSigmoid": 0.2, "Affine": 1.0, "ScaledTanh": 1.0}
BETAS = {"HardSigmoid": 0.5, "Affine": 0.0, "ScaledTanh": 1.0}


def functions(names, alpha, beta):
    alpha, beta, made = list(alpha), list(beta), []
    for name in names:
        a = (alpha.pop(0) if alpha else ALPHAS[name]) if name in ALPHAS else None
        b = (beta.pop(0) if beta else BETAS[name]) if name in BETAS else None
        made.append(lambda v, f=FUNCTIONS[name], a=a, b=b: f(v, a, b))
    return made


def layer(kind, x, w, r, b=None, lengths=None, h=None, c=None, p=None, *, hidden_size, activations=(), activation_alpha=(), activation_beta=(),
          clip=-1.0, direction="forward", input_forget=0, linear_before_reset=0):
    """One sequence after the other, one step after the other."""
    x, w, r, b, h, c, p = (None if v is None else v.double().numpy() for v in (x, w, r, b, h, c, p))
    steps, batch, _ = x.shape
    n, count = hidden_size, w.shape[0]
    usual = {"CommonLSTM": ["Sigmoid", "Tanh", "Tanh"], "CommonGRU": ["Sigmoid", "Tanh"], "CommonRNN": ["Tanh"]}[kind]
    all_functions = functions(list(activations) or usual * count, activation_alpha, activation_beta)
    y, last, cells = np.zeros((steps, count, batch, n)), np.zeros((count, batch, n)), np.zeros((count, batch, n))
    limited = (lambda v: np.clip(v, -clip, clip)) if clip > 0 else lambda v: v
    for d in range(count):
        f = all_functions[d * len(usual):]
        wb, rb = (b[d, :len(b[d]) // 2], b[d, len(b[d]) // 2:]) if b is not None else (np.zeros(w.shape[1]),) * 2
        for s in range(batch):
            state = h[d, s] if h is not None else np.zeros(n)
            cell = c[d, s] if c is not None else np.zeros(n)
            times = list(range(int(lengths[s]) if lengths is not None else steps))
            for t in reversed(times) if direction == "reverse" or d == 1 else times:
                inside, old = w[d] @ x[t, s] + wb, r[d] @ state + rb
                part = lambda v, k: v[k * n:(k + 1) * n]  # noqa: E731
                if kind == "CommonRNN":
                    state = f[0](limited(inside + old))
                elif kind == "CommonGRU":
                    z, reset = (f[0](limited(part(inside, k) + part(old, k))) for k in (0, 1))
                    if linear_before_reset:
                        fresh = part(inside, 2) + reset * part(old, 2)
                    else:
                        fresh = part(inside, 2) + part(r[d], 2) @ (reset * state) + part(rb, 2)
                    state = (1 - z) * f[1](limited(fresh)) + z * state
                else:
                    i, o, forget, fresh = (part(inside + old, k) for k in range(4))
                    hole = [part(p[d], k) for k in range(3)] if p is not None else [np.zeros(n)] * 3
                    i = f[0](limited(i + hole[0] * cell))
                    forget = 1 - i if input_forget else f[0](limited(forget + hole[2] * cell))
                    cell = forget * cell + i * f[1](limited(fresh))
                    state = f[0](limited(o + hole[1] * cell)) * f[2](cell)
                y[t, d, s] = state
            last[d, s], cells[d, s] = state, cell
    return [torch.from_numpy(v) for v in ([y, last, cells] if kind == "CommonLSTM" else [y, last])]


def add_cases(case, r):
    def one(kind, steps=4, batch=3, inputs=5, n=6, both=False, dtype=torch.float32, bias=True, lengths=None, states=True, holes=False, tolerance=1e-5, **attributes):
        count, gates = 1 + both, {"CommonLSTM": 4, "CommonGRU": 3, "CommonRNN": 1}[kind]
        tensors = [r(steps, batch, inputs), r(count, gates * n, inputs), r(count, gates * n, n) * 0.5, r(count, 2 * gates * n) if bias else None,
                   None if lengths is None else torch.tensor(lengths, dtype=torch.int32), r(count, batch, n) if states else None]
        if kind == "CommonLSTM":
            tensors += [r(count, batch, n) * 0.7 if states else None, r(count, 3 * n) if holes else None]
        tensors = [v if v is None or not v.is_floating_point() else v.to(dtype) for v in tensors]
        attributes["hidden_size"] = n
        case(kind, *tensors, tolerance=tolerance, want=lambda *v, a=dict(attributes), k=kind: layer(k, *v, **a), **attributes)

    for kind in ("CommonLSTM", "CommonGRU", "CommonRNN"):
        one(kind)
        one(kind, bias=False, states=False, direction="reverse")
        one(kind, both=True, direction="bidirectional", lengths=[4, 0, 2])
        one(kind, lengths=[1, 4, 3], direction="reverse")
        one(kind, clip=0.4)
        one(kind, dtype=torch.float16, tolerance=5e-3)
        one(kind, batch=1, steps=1, inputs=1, n=1)
        one(kind, batch=0), one(kind, steps=0)
        one(kind, batch=40, inputs=70, n=64, tolerance=1e-4)
    for gate in FUNCTIONS:
        one("CommonRNN", activations=[gate])
        one("CommonLSTM", activations=["Sigmoid", gate, "Tanh"])
        one("CommonGRU", activations=[gate if gate in ("HardSigmoid", "Softsign") else "Sigmoid", gate])
    one("CommonLSTM", holes=True), one("CommonLSTM", holes=True, input_forget=1, lengths=[2, 4, 3]), one("CommonLSTM", input_forget=1, clip=1.5)
    one("CommonLSTM", both=True, direction="bidirectional", activations=["HardSigmoid", "ScaledTanh", "Affine", "HardSigmoid", "LeakyRelu", "Elu"],
        activation_alpha=[0.3, 1.2, 0.9, 0.25, 0.1, 0.7], activation_beta=[0.4, 0.8, 0.1, 0.6])
    for before in (0, 1):
        one("CommonGRU", linear_before_reset=before, clip=0.8, lengths=[3, 1, 4])
        one("CommonGRU", both=True, direction="bidirectional", linear_before_reset=before)
    torch_layers(case, r)


def torch_layers(case, r):
    """Plain layers: torch's gates are i f c o and r z n, ONNX's i o f c and z r n."""
    x, h, c, n = r(5, 2, 3), r(2, 2, 4), r(2, 2, 4), 4

    def turned(v, order):
        return torch.cat([v[k * n:(k + 1) * n] for k in order])
    for kind, module, order in (("CommonLSTM", torch.nn.LSTM, (0, 3, 1, 2)), ("CommonGRU", torch.nn.GRU, (1, 0, 2)), ("CommonRNN", torch.nn.RNN, (0,))):
        torch.manual_seed(3)
        net = module(3, n, bidirectional=True)
        weights = [[turned(getattr(net, f"{name}_l0{side}").detach(), order) for side in ("", "_reverse")] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        w, u, b, bh = (torch.stack(v) for v in weights)
        inputs = [x, w, u, torch.cat([b, bh], 1), None, h] + ([c, None] if kind == "CommonLSTM" else [])

        def want(x, *_, net=net, kind=kind):
            with torch.no_grad():
                y, last = net(x, (h, c) if kind == "CommonLSTM" else h)
            return [y.reshape(5, 2, 2, n).transpose(1, 2), *(last if kind == "CommonLSTM" else [last])]
        case(kind, *inputs, want=want, hidden_size=n, direction="bidirectional", tolerance=1e-5, **({"linear_before_reset": 1} if kind == "CommonGRU" else {}))
