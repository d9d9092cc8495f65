import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import torchvision_operators  # noqa: E402, F401
from torchreid import losses, models, optim  # noqa: E402

model = models.build_model("osnet_x0_25", num_classes=4, loss="triplet", pretrained=False, use_gpu=torch.cuda.is_available())
if torch.cuda.is_available():
    model = model.cuda()
optimizer = optim.build_optimizer(model, optim="adam", lr=0.001)
softmax = losses.CrossEntropyLoss(4, use_gpu=torch.cuda.is_available(), label_smooth=True)
triplet = losses.TripletLoss()
x, y = torch.randn(8, 3, 64, 32).to(device), torch.arange(8).remainder(4).to(device)
for _ in range(3):
    optimizer.zero_grad()
    outputs, features = model(x)
    loss = softmax(outputs, y) + triplet(features, y)
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
