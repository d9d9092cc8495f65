import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from accelerate import Accelerator  # noqa: E402

accelerator = Accelerator()
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
data = torch.utils.data.TensorDataset(torch.randn(32, 8), torch.randn(32, 2))
model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data, batch_size=8))
for _ in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
