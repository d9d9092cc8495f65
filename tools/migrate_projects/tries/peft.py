import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from peft import LoraConfig, get_peft_model  # noqa: E402

base = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
model = get_peft_model(base, LoraConfig(r=4, target_modules=["0", "2"])).to(device)
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.05)
x, y = torch.randn(32, 8).to(device), torch.randn(32, 2).to(device)
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
