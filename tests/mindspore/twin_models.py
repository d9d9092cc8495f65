"""Models in the words that torch.nn and mindspore.mint.nn have in common, made of either: PyTorch's CPU says what is right."""


def models(api):
    """A function for each model by its name; `api` is torch_side or mint_side (sides.py)."""
    nn, F, ops, Module = api.nn, api.F, api.ops, api.Module

    class LeNet(Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
            self.pool = nn.MaxPool2d(2, 2)
            self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

        def construct(self, x):
            x = self.pool(F.relu(self.conv1(x)))
            x = self.pool(F.relu(self.conv2(x)))
            x = ops.flatten(x, 1)
            return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    class Block(Module):
        def __init__(self, inputs, width, outputs, stride, bottleneck):
            super().__init__()
            self.bottleneck = bottleneck
            self.conv1 = nn.Conv2d(inputs, width, 1 if bottleneck else 3, 1 if bottleneck else stride, 0 if bottleneck else 1,
                                   bias=False)
            self.conv2 = nn.Conv2d(width, width, 3, stride if bottleneck else 1, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, outputs, 1, bias=False) if bottleneck else nn.Identity()
            self.bn3 = nn.BatchNorm2d(outputs) if bottleneck else nn.Identity()
            self.same = inputs == outputs and stride == 1
            self.short = nn.Identity() if self.same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.short_bn = nn.Identity() if self.same else nn.BatchNorm2d(outputs)

        def construct(self, x):
            y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            if self.bottleneck:
                y = self.bn3(self.conv3(F.relu(y)))
            return F.relu(y + self.short_bn(self.short(x)))

    class ResNet(Module):
        def __init__(self, layers, bottleneck):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
            self.pool = nn.MaxPool2d(3, 2, 1)
            blocks, inputs = [], 64
            for stage, count in enumerate(layers):
                width = 64 << stage
                outputs = width * 4 if bottleneck else width
                for i in range(count):
                    blocks.append(Block(inputs, width, outputs, 2 if stage and i == 0 else 1, bottleneck))
                    inputs = outputs
            self.blocks = api.sequence(blocks)
            self.fc = nn.Linear(inputs, 10)

        def construct(self, x):
            x = self.pool(F.relu(self.bn(self.conv(x))))
            x = self.blocks(x)
            return self.fc(ops.mean(x, (2, 3)))

    class Attention(Module):
        def __init__(self, size, heads, causal):
            super().__init__()
            self.heads, self.causal, self.scale = heads, causal, (size // heads) ** -0.5
            self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

        def construct(self, x):
            n, length, size = x.shape
            parts = self.qkv(x).reshape((n, length, 3, self.heads, size // self.heads))
            q = ops.transpose(parts[:, :, 0], 1, 2)
            k = ops.transpose(parts[:, :, 1], 1, 2)
            v = ops.transpose(parts[:, :, 2], 1, 2)
            scores = ops.matmul(q, ops.transpose(k, 2, 3)) * self.scale
            if self.causal:
                hidden = ops.triu(ops.ones_like(scores), 1)
                scores = scores - hidden * 10000.0
            y = ops.matmul(F.softmax(scores, -1), v)
            return self.out(ops.transpose(y, 1, 2).reshape((n, length, size)))

    class Layer(Module):
        def __init__(self, size, heads, causal=False, before=False):
            super().__init__()
            self.before = before
            self.attention = Attention(size, heads, causal)
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

        def construct(self, x):
            if self.before:
                x = x + self.attention(self.norm1(x))
                return x + self.down(F.gelu(self.up(self.norm2(x))))
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.down(F.gelu(self.up(x))))

    class Bert(Module):
        def __init__(self, vocabulary=200, size=64, length=16):
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, size), nn.Embedding(length, size)
            self.norm = nn.LayerNorm(size)
            self.layers = api.sequence([Layer(size, 4), Layer(size, 4)])
            self.pool, self.fc = nn.Linear(size, size), nn.Linear(size, 10)

        def construct(self, ids):
            at = ops.arange(0, ids.shape[1])
            x = self.layers(self.norm(self.words(ids) + self.places(at)))
            return self.fc(ops.tanh(self.pool(x[:, 0])))

    class Gpt(Module):
        def __init__(self, vocabulary=100, size=64, length=16):
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, size), nn.Embedding(length, size)
            self.layers = api.sequence([Layer(size, 4, True, True), Layer(size, 4, True, True)])
            self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, vocabulary, bias=False)

        def construct(self, ids):
            at = ops.arange(0, ids.shape[1])
            x = self.norm(self.layers(self.words(ids) + self.places(at)))
            return self.head(x).reshape((-1, 100))

    class Vit(Module):
        def __init__(self, size=64):
            super().__init__()
            self.patches = nn.Conv2d(3, size, 8, 8)
            self.places = nn.Embedding(16, size)
            self.layers = api.sequence([Layer(size, 4, False, True), Layer(size, 4, False, True)])
            self.norm, self.fc = nn.LayerNorm(size), nn.Linear(size, 10)

        def construct(self, x):
            x = ops.transpose(ops.flatten(self.patches(x), 2), 1, 2)
            x = x + self.places(ops.arange(0, 16))
            return self.fc(ops.mean(self.norm(self.layers(x)), 1))

    class Lstm(Module):
        def __init__(self, inputs=8, size=32):
            super().__init__()
            self.size = size
            self.x, self.h, self.fc = nn.Linear(inputs, 4 * size), nn.Linear(size, 4 * size), nn.Linear(size, 10)

        def construct(self, x):
            h = ops.zeros_like(self.x(x[:, 0])[:, 0:self.size])
            c = ops.zeros_like(h)
            for t in range(6):
                gates = self.x(x[:, t]) + self.h(h)
                i = ops.sigmoid(gates[:, 0:self.size])
                f = ops.sigmoid(gates[:, self.size:2 * self.size])
                o = ops.sigmoid(gates[:, 2 * self.size:3 * self.size])
                c = f * c + i * ops.tanh(gates[:, 3 * self.size:])
                h = o * ops.tanh(c)
            return self.fc(h)

    return {"lenet": LeNet, "resnet18": lambda: ResNet((2, 2, 2, 2), False), "resnet50": lambda: ResNet((3, 4, 6, 3), True),
            "bert": Bert, "gpt": Gpt, "vit": Vit, "lstm": Lstm}
