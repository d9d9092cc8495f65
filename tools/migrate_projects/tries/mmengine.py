import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from mmengine.model import BaseModel  # noqa: E402
from mmengine.runner import Runner  # noqa: E402

seen = []


class Net(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)

    def forward(self, x, y, mode):
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        seen.append(loss.detach())
        return {"loss": loss}


data = torch.utils.data.TensorDataset(torch.randn(32, 8), torch.randn(32, 2))
runner = Runner(model=Net(), work_dir="work", train_cfg=dict(by_epoch=True, max_epochs=2),
                train_dataloader=torch.utils.data.DataLoader(data, batch_size=8),
                optim_wrapper=dict(optimizer=dict(type="AdamW", lr=0.05)))
runner.train()
print("RESULT", seen[-1].device.type, f"{seen[-1].item():.5f}")
