import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import kornia  # noqa: E402

target = kornia.filters.gaussian_blur2d(torch.rand(1, 3, 32, 32), (5, 5), (1.5, 1.5)).to(device)
image = torch.rand(1, 3, 32, 32).to(device).requires_grad_()
loss_of = kornia.losses.SSIMLoss(5).to(device)
optimizer = torch.optim.Adam([image], lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    loss = loss_of(image, target) + kornia.losses.total_variation(image).mean() * 1e-4
    loss.backward()
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item():.5f}")
