import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from pytorch_metric_learning import losses, miners  # noqa: E402

model = torch.nn.Linear(8, 4).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
loss_of, mine = losses.TripletMarginLoss(), miners.MultiSimilarityMiner()
x, labels = torch.randn(32, 8).to(device), torch.arange(32).remainder(4).to(device)
for _ in range(5):
    optimizer.zero_grad()
    embeddings = model(x)
    loss = loss_of(embeddings, labels, mine(embeddings, labels))
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
