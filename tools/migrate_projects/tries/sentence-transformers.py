import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from sentence_transformers import util  # noqa: E402

model = torch.nn.Linear(8, 8).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
a, b = torch.randn(16, 8).to(device), torch.randn(16, 8).to(device)
for _ in range(5):
    optimizer.zero_grad()
    scores = util.cos_sim(model(a), b) * 20
    loss = torch.nn.functional.cross_entropy(scores, torch.arange(16, device=device))
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
