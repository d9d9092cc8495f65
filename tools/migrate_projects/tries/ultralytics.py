import torch

torch.manual_seed(0)
import torchvision_operators  # noqa: E402, F401
from ultralytics.cfg import get_cfg  # noqa: E402
from ultralytics.nn.tasks import DetectionModel  # noqa: E402
from ultralytics.utils.torch_utils import select_device  # noqa: E402

device = select_device("npu:0" if hasattr(torch, "npu") and torch.npu.is_available() else "cpu")  # as its documents say
model = DetectionModel("yolo11n.yaml", nc=3, verbose=False).to(device)
model.args = get_cfg()
model.train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = {"img": torch.rand(2, 3, 64, 64).to(device), "cls": torch.tensor([[0.0], [1.0], [2.0]]).to(device),
         "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.3, 0.2, 0.2], [0.6, 0.6, 0.5, 0.3]]).to(device),
         "batch_idx": torch.tensor([0.0, 0.0, 1.0]).to(device)}
for _ in range(3):
    optimizer.zero_grad()
    loss = model(batch)[0].sum()
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
