"""MobileNetV3-Large (Howard et al. 2019, table 1), written out: torchvision's wheel does not import beside a CPU torch."""
from torch import nn

# kernel, expanded channels, output channels, squeeze and excite, activation, stride
ROWS = [(3, 16, 16, False, nn.ReLU, 1), (3, 64, 24, False, nn.ReLU, 2), (3, 72, 24, False, nn.ReLU, 1), (5, 72, 40, True, nn.ReLU, 2),
        (5, 120, 40, True, nn.ReLU, 1), (5, 120, 40, True, nn.ReLU, 1), (3, 240, 80, False, nn.Hardswish, 2),
        (3, 200, 80, False, nn.Hardswish, 1), (3, 184, 80, False, nn.Hardswish, 1), (3, 184, 80, False, nn.Hardswish, 1),
        (3, 480, 112, True, nn.Hardswish, 1), (3, 672, 112, True, nn.Hardswish, 1), (5, 672, 160, True, nn.Hardswish, 2),
        (5, 960, 160, True, nn.Hardswish, 1), (5, 960, 160, True, nn.Hardswish, 1)]


def layer(cin, cout, size, stride=1, groups=1, activation=None):
    made = [nn.Conv2d(cin, cout, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(cout, eps=0.001)]
    return [*made, activation()] if activation else made


class Excite(nn.Module):
    """Channels weighted by what their means say."""

    def __init__(self, channels):
        super().__init__()
        inner = (channels // 4 + 7) // 8 * 8
        self.weights = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), nn.ReLU(), nn.Conv2d(inner, channels, 1),
                                     nn.Hardsigmoid())

    def forward(self, x):
        return x * self.weights(x)


class Block(nn.Module):
    def __init__(self, cin, size, wide, cout, excites, activation, stride):
        super().__init__()
        layers = layer(cin, wide, 1, activation=activation) if wide != cin else []
        layers += layer(wide, wide, size, stride, wide, activation)
        layers += [Excite(wide)] if excites else []
        self.body = nn.Sequential(*layers, *layer(wide, cout, 1))
        self.keeps = stride == 1 and cin == cout

    def forward(self, x):
        return x + self.body(x) if self.keeps else self.body(x)


def mobilenet_v3_large(classes=1000):
    blocks, cin = [], 16
    for size, wide, cout, excites, activation, stride in ROWS:
        blocks.append(Block(cin, size, wide, cout, excites, activation, stride))
        cin = cout
    model = nn.Sequential(*layer(3, 16, 3, 2, activation=nn.Hardswish), *blocks, *layer(160, 960, 1, activation=nn.Hardswish),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(960, 1280), nn.Hardswish(), nn.Linear(1280, classes))
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out")
    return model
