import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import torchvision_operators  # noqa: E402, F401
import segmentation_models_pytorch as smp  # noqa: E402

model = smp.Unet("resnet18", encoder_weights=None, classes=3).to(device)
loss_of = smp.losses.DiceLoss("multiclass")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
x, y = torch.randn(2, 3, 64, 64).to(device), torch.randint(0, 3, (2, 64, 64)).to(device)
for _ in range(3):
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
