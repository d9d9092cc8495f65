import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import torchvision_operators  # noqa: E402, F401
from effdet import DetBenchTrain, EfficientDet, get_efficientdet_config  # noqa: E402

config = get_efficientdet_config("tf_efficientdet_lite0")
config.update(dict(image_size=(128, 128), num_classes=3, fpn_cell_repeats=1, box_class_repeats=1, fpn_channels=16, drop_path_rate=0.0))
model = DetBenchTrain(EfficientDet(config, pretrained_backbone=False), config).to(device).train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
images = torch.rand(2, 3, 128, 128).to(device)
target = {"bbox": torch.tensor([[[8.0, 8, 90, 90], [0, 0, 0, 0]], [[4, 10, 60, 120], [30, 30, 110, 100]]]).to(device),
          "cls": torch.tensor([[1.0, -1], [2, 3]]).to(device)}
for module in model.modules():
    if isinstance(module, torch.nn.BatchNorm2d):
        module.eval()  # statistics of one pixel of two images would let rounding decide the loss, also in float64
for _ in range(3):
    optimizer.zero_grad()
    loss = model(images, target)["loss"]
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
