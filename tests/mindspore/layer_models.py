"""Models of mindspore.nn's own layers, losses and optimizers, which MindSpore's CPU device has as well."""
import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True), nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool, self.relu, self.flatten = nn.MaxPool2d(2, 2), nn.ReLU(), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120, activation="relu"), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc3(self.relu(self.fc2(self.fc1(self.flatten(x)))))


class Block(nn.Cell):
    def __init__(self, inputs, width, outputs, stride, bottleneck):
        super().__init__()
        sizes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck else [
            (inputs, width, 3, stride), (width, outputs, 3, 1)]
        cells = []
        for i, (a, b, kernel, step) in enumerate(sizes):
            # "same" with stride 2: one more row of zeros below than above
            cells += [nn.Conv2d(a, b, kernel, step, pad_mode="same"), nn.BatchNorm2d(b)]
            if i + 1 < len(sizes):
                cells.append(nn.ReLU())
        self.branch = nn.SequentialCell(cells)
        self.short = nn.SequentialCell([nn.Conv2d(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)]) \
            if inputs != outputs or stride != 1 else nn.Identity()

    def construct(self, x):
        return ops.relu(self.branch(x) + self.short(x))


class ResNet(nn.Cell):
    def __init__(self, layers, bottleneck):
        super().__init__()
        blocks, inputs = [], 64
        for stage, count in enumerate(layers):
            outputs = (64 << stage) * (4 if bottleneck else 1)
            for i in range(count):
                blocks.append(Block(inputs, 64 << stage, outputs, 2 if stage and i == 0 else 1, bottleneck))
                inputs = outputs
        self.conv, self.bn = nn.Conv2d(3, 64, 7, 2, pad_mode="same"), nn.BatchNorm2d(64)
        self.pool, self.blocks = nn.MaxPool2d(3, 2, pad_mode="same"), nn.SequentialCell(blocks)
        self.mean, self.fc = ops.ReduceMean(), nn.Dense(inputs, 10)

    def construct(self, x):
        x = self.blocks(self.pool(ops.relu(self.bn(self.conv(x)))))
        return self.fc(self.mean(x, (2, 3)))


class Bert(nn.Cell):
    def __init__(self, words=200, size=64, length=16):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(words, size), nn.Embedding(length, size), nn.LayerNorm((size,))
        layer = nn.TransformerEncoderLayer(size, 4, 4 * size, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.pool, self.fc, self.at = nn.Dense(size, size), nn.Dense(size, 10), Tensor(np.arange(length), ms.int32)

    def construct(self, ids):
        x = self.layers(self.norm(self.words(ids) + self.places(self.at)))
        return self.fc(ops.tanh(self.pool(x[:, 0])))


class Gpt(nn.Cell):
    def __init__(self, words=100, size=64, length=16):
        super().__init__()
        self.words, self.at = nn.Embedding(words, size), Tensor(np.arange(length), ms.int32)
        self.places, self.hidden = nn.Embedding(length, size), Tensor(np.triu(np.ones((length, length)), 1) > 0)
        self.attentions = nn.CellList([nn.MultiheadAttention(size, 4, batch_first=True) for _ in range(2)])
        self.ups, self.downs = (nn.CellList([nn.Dense(a, b) for _ in range(2)]) for a, b in ((size, 4 * size), (4 * size, size)))
        self.norms = nn.CellList([nn.LayerNorm((size,)) for _ in range(5)])
        self.head = nn.Dense(size, words, has_bias=False)

    def construct(self, ids):
        x = self.words(ids) + self.places(self.at)
        for i in range(2):
            y = self.norms[2 * i](x)
            x = x + self.attentions[i](y, y, y, attn_mask=self.hidden, need_weights=False)[0]
            x = x + self.downs[i](ops.gelu(self.ups[i](self.norms[2 * i + 1](x))))
        return self.head(self.norms[4](x)).reshape((-1, 100))


class Vit(nn.Cell):
    def __init__(self, size=64):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, size, 8, 8, pad_mode="valid"), Parameter(Tensor(np.zeros((1, 17, size), np.float32)), name="places")
        self.first = Parameter(Tensor(np.zeros((1, 1, size), np.float32)), name="first")
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(size, 4, 4 * size, dropout=0.0, batch_first=True), 2)
        self.fc = nn.Dense(size, 10)

    def construct(self, x):
        x = self.patches(x).reshape((8, 64, 16)).transpose((0, 2, 1))
        x = ops.concat((ops.tile(self.first, (8, 1, 1)), x), 1) + self.places
        return self.fc(self.layers(x)[:, 0])


class Lstm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(8, 32, batch_first=True), nn.Dense(32, 10)

    def construct(self, x):
        y, _ = self.lstm(x)
        return self.fc(y[:, -1])


MODELS = {"lenet": LeNet, "resnet18": lambda: ResNet((2, 2, 2, 2), False), "resnet50": lambda: ResNet((3, 4, 6, 3), True),
          "bert": Bert, "gpt": Gpt, "vit": Vit, "lstm": Lstm}
# "gentle" is for deep networks on few images, where differences of rounding grow tenfold with each step of the usual size.
OPTIMIZERS = {"momentum": lambda p: nn.Momentum(p, 0.002, 0.9), "gentle": lambda p: nn.Momentum(p, 0.0002, 0.9), "adam": lambda p: nn.Adam(p, 1e-3), "slow": lambda p: nn.Adam(p, 1e-4),
              "decay": lambda p: nn.AdamWeightDecay(p, 1e-3), "sgd": lambda p: nn.SGD(p, 0.01, momentum=0.9),
              "rmsprop": lambda p: nn.RMSProp(p, 1e-3), "lamb": lambda p: nn.Lamb(p, 1e-2)}
LOSSES = {"cross": nn.CrossEntropyLoss, "sparse": lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")}
