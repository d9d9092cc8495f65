"""Small models of the families that people train, written out here: torchvision's wheel does not import beside a CPU torch."""
import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(cin, cout, size, stride=1):
    return [nn.Conv2d(cin, cout, size, stride, size // 2, bias=False), nn.BatchNorm2d(cout)]


class Block(nn.Module):
    """Residual block: two 3x3 convolutions, or a bottleneck of 1x1, 3x3, 1x1."""

    def __init__(self, cin, width, stride, bottleneck):
        super().__init__()
        cout = width * 4 if bottleneck else width
        if bottleneck:
            layers = [*conv_bn(cin, width, 1), nn.ReLU(inplace=True), *conv_bn(width, width, 3, stride), nn.ReLU(inplace=True), *conv_bn(width, cout, 1)]
        else:
            layers = [*conv_bn(cin, width, 3, stride), nn.ReLU(inplace=True), *conv_bn(width, width, 3)]
        self.body = nn.Sequential(*layers)
        self.shortcut = nn.Sequential(*conv_bn(cin, cout, 1, stride)) if stride != 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, depths, bottleneck, classes=10):
        super().__init__()
        self.stem = nn.Sequential(*conv_bn(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, cin = [], 64
        for stage, depth in enumerate(depths):
            for n in range(depth):
                blocks.append(Block(cin, 64 << stage, 2 if stage and not n else 1, bottleneck))
                cin = (64 << stage) * (4 if bottleneck else 1)
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(cin, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            # Residual branches begin small (cf. zero-init residual): otherwise fifty layers with batch norm over few pixels
            # amplify the last bit by 1e5 within five steps, and even the CPU with one thread leaves the CPU with two.
            if isinstance(m, Block):
                nn.init.constant_(m.body[-1].weight, 0.1)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def resnet18():
    return ResNet((2, 2, 2, 2), False)


def resnet50():
    return ResNet((3, 4, 6, 3), True)


class Attention(nn.Module):
    def __init__(self, width, heads, causal, dropout=0.0):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, dropout_p=self.dropout if self.training else 0.0)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Layer(nn.Module):
    """Pre-norm transformer layer."""

    def __init__(self, width, heads, causal, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal, dropout)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """GPT-2-like decoder with tied embeddings."""

    def __init__(self, vocabulary=211, length=32, width=64, heads=4, layers=3, dropout=0.0):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*[Layer(width, heads, True, dropout) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)
        self.head.weight = self.token.weight

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.layers(x)))


class ViT(nn.Module):
    def __init__(self, image=32, patch=8, width=64, heads=4, layers=3, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width) * 0.02)
        self.layers = nn.Sequential(*[Layer(width, heads, False) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.layers(x))[:, 0])


class LSTMClassifier(nn.Module):
    def __init__(self, vocabulary=101, width=32, hidden=48, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0][:, -1])


class UNet(nn.Module):
    """Two levels: max pooling down, transposed convolution and bilinear interpolation up, concatenated skips, group norm."""

    def __init__(self, width=16, classes=3):
        super().__init__()
        double = lambda cin, cout: nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU(),
                                                 nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU())
        self.down1, self.down2, self.middle = double(3, width), double(width, 2 * width), double(2 * width, 4 * width)
        self.raise2, self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), double(4 * width, 2 * width)
        self.raise1, self.up1 = nn.Conv2d(2 * width, width, 1), double(2 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.up2(torch.cat([self.raise2(c), b], 1))
        a = self.up1(torch.cat([self.raise1(F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)), a], 1))
        return self.head(a)


def bert():
    from transformers import BertConfig, BertForSequenceClassification
    return BertForSequenceClassification(BertConfig(vocab_size=211, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128,
                                                    max_position_embeddings=64, num_labels=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(vocab_size=211, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                                        intermediate_size=160, max_position_embeddings=64))
