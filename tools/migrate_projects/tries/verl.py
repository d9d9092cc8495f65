import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from tensordict import TensorDict  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.trainer.ppo import core_algos  # noqa: E402
from verl.utils.device import get_device_name  # noqa: E402
from verl.utils.torch_functional import logprobs_from_logits, masked_mean  # noqa: E402

device = torch.device(get_device_name())
model = torch.nn.Sequential(torch.nn.Embedding(16, 8), torch.nn.Linear(8, 16)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
batch = DataProto(batch=TensorDict({"ids": torch.randint(0, 16, (4, 6)), "responses": torch.randint(0, 16, (4, 6)),
                                    "scores": torch.randn(4, 6), "mask": torch.ones(4, 6)}, batch_size=4)).to(device)
ids, responses, mask = batch.batch["ids"], batch.batch["responses"], batch.batch["mask"]
with torch.no_grad():
    old = logprobs_from_logits(model(ids), responses)
advantages, _ = core_algos.compute_gae_advantage_return(batch.batch["scores"], torch.zeros_like(old), mask, 1.0, 0.95)
for _ in range(4):
    optimizer.zero_grad()
    new = logprobs_from_logits(model(ids), responses)
    loss = -masked_mean(torch.exp(new - old).clamp(0.8, 1.2) * advantages, mask)
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
