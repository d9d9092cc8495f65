"""One training step of a MindSpore network, in float32, bfloat16 or MindSpore's mixed precision O2 (float16 with a loss scaler)."""
import mindspore as ms
from mindspore import amp, mint, nn


def training_step(net, criterion, step, level):
    """train(x, y) gives the loss. `level`: fp32, bf16 or O2; `step`: the optimizer, made of the network's parameters."""
    scaler = amp.DynamicLossScaler(2 ** 10, 2, 50)
    if level == "bf16":
        net.to_float(ms.bfloat16)
        for _, cell in net.cells_and_names():  # MindSpore itself takes no bfloat16 in these of its layers, on a card neither
            if isinstance(cell, (mint.nn.MaxPool2d, nn.MaxPool2d, nn.BatchNorm2d)):
                cell.to_float(ms.float32)
    elif level == "O2":
        net = amp.auto_mixed_precision(net, "O2")

    def forward(x, y):
        value = criterion(net(x).astype(ms.float32), y)
        return scaler.scale(value) if level == "O2" else value

    gradient = ms.value_and_grad(forward, None, step.parameters)

    def train(x, y):
        value, gradients = gradient(x, y)
        if level == "O2":
            value, gradients = scaler.unscale(value), scaler.unscale(gradients)
            if amp.all_finite(gradients):
                step(gradients)
        else:
            step(gradients)
        return value

    return train
