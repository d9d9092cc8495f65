import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import torchvision_operators  # noqa: E402, F401
import timm  # noqa: E402
from timm.loss import LabelSmoothingCrossEntropy  # noqa: E402
from timm.optim import create_optimizer_v2  # noqa: E402

model = timm.create_model("resnet10t", num_classes=4).to(device)
optimizer = create_optimizer_v2(model, opt="adamw", lr=0.001)
loss_of = LabelSmoothingCrossEntropy(0.1)
x, y = torch.randn(8, 3, 64, 64).to(device), torch.arange(8).remainder(4).to(device)
for _ in range(4):
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
