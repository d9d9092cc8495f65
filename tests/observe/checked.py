"""A training whose parts the environment plants faults into: what test_check.py records."""

import os
import sys

import torch
import torch.utils.data as data


def planted(name):
    return name in os.environ.get("PLANTED", "").split(",")


class Images(data.Dataset):
    def __init__(self, folder):
        self.values = torch.load(os.path.join(folder, "images.pt"))
        with open(os.path.join(folder, "labels.txt")) as file:
            self.labels = [int(x) for x in file.read().split()]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        scale = 1.5 if planted("preprocessing") else 1.0
        return self.values[i] * scale, self.labels[i]


def main(folder, device):
    if not planted("unseeded"):
        torch.manual_seed(7)
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if device == "npu":
        import torch_npu  # noqa: F401

        torch.npu.set_device(rank)
    if world > 1:
        torch.distributed.init_process_group("hccl" if device == "npu" else "gloo")
    images = Images(folder)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    if planted("weights"):
        torch.nn.init.zeros_(model[0].weight)
    model = model.to(device)
    if world > 1 and not planted("alone"):
        model = torch.nn.parallel.DistributedDataParallel(model)
    batch = 8 if planted("batch") else 16
    generator = torch.Generator().manual_seed(3)
    sampler = data.DistributedSampler(images) if world > 1 and not planted("unshared") else None
    order = dict(shuffle=not planted("order"), generator=generator) if sampler is None else dict(sampler=sampler)
    loader = data.DataLoader(images, batch_size=batch, drop_last=True, num_workers=2 if planted("workers") else 0, **order)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3 if planted("decay") else 1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, gamma=0.5 if planted("schedule") else 0.1)
    half = torch.float16 if planted("float16") or planted("scale") or planted("growth") or planted("overflow") else None
    scaler_class = torch.npu.amp.GradScaler if device == "npu" else lambda **k: torch.amp.GradScaler("cpu", **k)
    scaler = scaler_class(init_scale=2.0**8, growth_interval=1000 if planted("growth") else 2000) if half and not planted("unscaled") else None
    step = 0
    for epoch in range(3):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            with torch.autocast(device, dtype=half or torch.bfloat16, enabled=half is not None):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            if planted("overflow") and step % 7 == 6:
                loss = loss * float("inf")
            optimizer.zero_grad()
            if scaler:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
            schedule.step()
            step += 1
        print("epoch %d loss %.5f" % (epoch, loss.item()), flush=True)
    if planted("fails"):
        sys.exit(3)
    if world > 1:
        torch.distributed.destroy_process_group()


main(*sys.argv[1:])
