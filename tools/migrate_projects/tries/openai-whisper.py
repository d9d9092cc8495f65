import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import whisper.audio  # noqa: E402
from whisper.model import ModelDimensions, Whisper  # noqa: E402

model = Whisper(ModelDimensions(80, 32, 16, 2, 1, 64, 16, 16, 2, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
mel, tokens = torch.randn(2, 80, 64).to(device), torch.randint(0, 64, (2, 9)).to(device)
for _ in range(5):
    optimizer.zero_grad()
    logits = model(mel, tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
