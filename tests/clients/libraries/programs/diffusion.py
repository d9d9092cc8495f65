"""diffusers: a U-Net is trained, three samplers draw by it; a conditional U-Net and an autoencoder, forward and backward."""
from begin import DEVICE, give, numbers, torch

if DEVICE == "cpu":  # it asks for torch_npu's fused operators where that is installed, whatever the device of a tensor
    import diffusers.utils.import_utils
    diffusers.utils.import_utils._torch_npu_available = False
from diffusers import (AutoencoderKL, DDIMScheduler, DDPMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler,  # noqa: E402
                       UNet2DConditionModel, UNet2DModel)


def normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


torch.manual_seed(0)
net = UNet2DModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                  up_block_types=("AttnUpBlock2D", "UpBlock2D")).to(DEVICE)
noise_of, optimizer, losses = DDPMScheduler(1000), torch.optim.AdamW(net.parameters(), 1e-3), []
for step in range(3):
    images, noise = normal(2 * step, 4, 3, 16, 16), normal(2 * step + 1, 4, 3, 16, 16)
    times = torch.tensor([10, 200, 500, 900], device=DEVICE)
    loss = torch.nn.functional.mse_loss(net(noise_of.add_noise(images, noise, times), times).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())

drawn = {}
for Scheduler in (DDIMScheduler, EulerDiscreteScheduler, DPMSolverMultistepScheduler):
    scheduler = Scheduler(num_train_timesteps=1000)
    scheduler.set_timesteps(4, device=DEVICE)
    image = normal(9, 1, 3, 16, 16) * scheduler.init_noise_sigma
    with torch.no_grad():
        for t in scheduler.timesteps:
            image = scheduler.step(net(scheduler.scale_model_input(image, t), t).sample, t, image).prev_sample
    drawn[Scheduler.__name__] = numbers(image)

torch.manual_seed(0)
conditional = UNet2DConditionModel(
    sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")).to(DEVICE)
coder = AutoencoderKL(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                      latent_channels=4).to(DEVICE)
latent = conditional(normal(5, 2, 4, 16, 16), torch.tensor([3, 500], device=DEVICE), encoder_hidden_states=normal(6, 2, 7, 32)).sample
image = coder.decode(latent).sample
coder.encode(image).latent_dist.mode().square().mean().backward()
give(losses=losses, **drawn, latent=numbers(latent), image=numbers(image), gradient=numbers(conditional.conv_in.weight.grad))
