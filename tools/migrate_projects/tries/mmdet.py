import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import mmcv_operators  # noqa: E402, F401
from mmdet.registry import MODELS  # noqa: E402
from mmdet.structures import DetDataSample  # noqa: E402
from mmdet.utils import register_all_modules  # noqa: E402
from mmengine.structures import InstanceData  # noqa: E402

register_all_modules()
model = MODELS.build(dict(
    type="YOLOX", data_preprocessor=dict(type="DetDataPreprocessor", pad_size_divisor=32),
    backbone=dict(type="CSPDarknet", deepen_factor=0.33, widen_factor=0.125),
    neck=dict(type="YOLOXPAFPN", in_channels=[32, 64, 128], out_channels=32, num_csp_blocks=1),
    bbox_head=dict(type="YOLOXHead", num_classes=3, in_channels=32, feat_channels=32),
    train_cfg=dict(assigner=dict(type="SimOTAAssigner", center_radius=2.5)), test_cfg=dict(score_thr=0.01)))
model = model.to(device).train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
samples = []
for boxes, labels in [([[4.0, 4, 40, 40]], [0]), ([[10.0, 8, 50, 44], [30, 30, 60, 60]], [1, 2])]:
    sample = DetDataSample(metainfo=dict(img_shape=(64, 64), batch_input_shape=(64, 64), pad_shape=(64, 64), scale_factor=(1, 1)))
    sample.gt_instances = InstanceData(bboxes=torch.tensor(boxes), labels=torch.tensor(labels))
    samples.append(sample.to(device))
inputs = torch.rand(2, 3, 64, 64).to(device)
for _ in range(3):
    optimizer.zero_grad()
    loss, _ = model.parse_losses(model.loss(inputs, samples))
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
