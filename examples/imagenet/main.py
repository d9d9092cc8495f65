#!/usr/bin/env python3
"""Trains a ResNet on ImageNet: an ordinary CUDA script for one GPU, all GPUs of a machine, or a cluster.

    python main.py DATA --gpu 0                                                      one GPU
    python main.py DATA --multiprocessing-distributed --world-size 1 --rank 0 \\
                        --dist-url tcp://127.0.0.1:29500 --dist-backend nccl         all GPUs (world-size counts machines)
    torchrun --nproc-per-node=2 main.py DATA                                         one process for each GPU

DATA has the folders train/ and val/ with a folder for each class; --dummy makes pictures up instead. It knows nothing of
NPUs: `updraft run --cuda-as-npu python main.py …` runs it there.
"""
import argparse
import os
import random
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from images import Dummy, Folder
from resnet import ARCHITECTURES


def arguments():
    parser = argparse.ArgumentParser(description="ImageNet training")
    parser.add_argument("data", nargs="?", help="folder with train/ and val/")
    parser.add_argument("-a", "--arch", default="resnet18", choices=sorted(ARCHITECTURES))
    parser.add_argument("-j", "--workers", default=4, type=int, help="processes that load pictures, of all GPUs together")
    parser.add_argument("--epochs", default=90, type=int)
    parser.add_argument("-b", "--batch-size", default=256, type=int, help="pictures in a step, of all GPUs together")
    parser.add_argument("--lr", default=0.1, type=float)
    parser.add_argument("--momentum", default=0.9, type=float)
    parser.add_argument("--wd", "--weight-decay", default=1e-4, type=float, dest="weight_decay")
    parser.add_argument("-p", "--print-freq", default=10, type=int)
    parser.add_argument("--resume", default="", metavar="FILE", help="checkpoint to go on from")
    parser.add_argument("-e", "--evaluate", action="store_true", help="only validate")
    parser.add_argument("--world-size", default=-1, type=int, help="machines (or processes, without --multiprocessing-distributed)")
    parser.add_argument("--rank", default=-1, type=int, help="of this machine (or process)")
    parser.add_argument("--dist-url", default="env://", help="where the processes meet: tcp://HOST:PORT, or env:// under torchrun")
    parser.add_argument("--dist-backend", default="nccl")
    parser.add_argument("--seed", default=None, type=int)
    parser.add_argument("--gpu", default=None, type=int)
    parser.add_argument("--multiprocessing-distributed", action="store_true", help="start a process for each GPU of this machine")
    parser.add_argument("--gpus", default=None, type=int, help="use only so many GPUs of this machine")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--out", default=".", help="folder of checkpoint.pth.tar")
    parser.add_argument("--dummy", action="store_true", help="made-up pictures")
    parser.add_argument("--pictures", default=1281167, type=int, help="number of made-up pictures")
    parser.add_argument("--classes", default=1000, type=int)
    parser.add_argument("--image-size", default=224, type=int)
    args = parser.parse_args()
    if not args.dummy and not args.data:
        parser.error("name the folder of the pictures, or --dummy")
    return args


def main():
    args = arguments()
    if args.dist_url == "env://" and "WORLD_SIZE" in os.environ and args.world_size == -1:
        args.world_size = int(os.environ["WORLD_SIZE"])
    args.distributed = args.world_size > 1 or args.multiprocessing_distributed
    gpus = args.gpus or torch.cuda.device_count() or 1
    if args.multiprocessing_distributed:
        args.world_size *= gpus
        mp.spawn(work, nprocs=gpus, args=(gpus, args))
    else:
        work(args.gpu, gpus, args)


def work(gpu, gpus, args):
    if args.seed is not None:  # here, since spawned processes begin anew
        random.seed(args.seed)
        torch.manual_seed(args.seed)
    if args.distributed:
        if args.dist_url == "env://" and args.rank == -1:
            args.rank = int(os.environ["RANK"])
            gpu = int(os.environ.get("LOCAL_RANK", args.rank % gpus))
        if args.multiprocessing_distributed:
            args.rank = args.rank * gpus + gpu
    else:
        args.rank, args.world_size = 0, 1
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", gpu or 0)
        torch.cuda.set_device(device)
    if args.distributed:
        dist.init_process_group(backend=args.dist_backend, init_method=args.dist_url, world_size=args.world_size, rank=args.rank)
        args.batch_size = max(1, args.batch_size // args.world_size)
        args.workers = (args.workers + gpus - 1) // gpus
    name = torch.cuda.get_device_name(device) if device.type != "cpu" else "CPU"
    print("rank %d of %d, device: %s (%s)" % (args.rank, args.world_size, device, name), flush=True)

    model = ARCHITECTURES[args.arch](args.classes).to(device)
    if args.distributed:
        model = DistributedDataParallel(model, device_ids=None if device.type == "cpu" else [device])
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    scaler = torch.amp.GradScaler(enabled=args.amp and device.type != "cpu")
    first, best = 0, 0.0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        (model.module if args.distributed else model).load_state_dict(state["state_dict"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first, best = state["epoch"], state["best_acc1"]
        print("=> %s: goes on after epoch %d" % (args.resume, first), flush=True)

    if args.dummy:
        train_set = Dummy(args.pictures, args.classes, args.image_size, seed=0)
        val_set = Dummy(max(args.pictures // 25, args.classes), args.classes, args.image_size, seed=10 ** 9)
    else:
        train_set = Folder(os.path.join(args.data, "train"), args.image_size, mirror=True)
        val_set = Folder(os.path.join(args.data, "val"), args.image_size, mirror=False)
    sampler = DistributedSampler(train_set) if args.distributed else None
    val_sampler = DistributedSampler(val_set, shuffle=False) if args.distributed else None
    options = dict(batch_size=args.batch_size, num_workers=args.workers, pin_memory=device.type != "cpu")
    train_loader = DataLoader(train_set, shuffle=sampler is None, sampler=sampler, drop_last=len(train_set) > args.batch_size, **options)
    val_loader = DataLoader(val_set, sampler=val_sampler, **options)

    if args.evaluate:
        validate(val_loader, model, criterion, device, args)
    for epoch in range(first, 0 if args.evaluate else args.epochs):
        if sampler:
            sampler.set_epoch(epoch)
        train(train_loader, model, criterion, optimizer, scaler, epoch, device, args)
        acc1 = validate(val_loader, model, criterion, device, args)
        scheduler.step()
        best = max(best, acc1)
        if args.rank == 0:
            torch.save({"epoch": epoch + 1, "arch": args.arch, "best_acc1": best, "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(), "state_dict": (model.module if args.distributed else model).state_dict()},
                       os.path.join(args.out, "checkpoint.pth.tar"))
    if args.distributed:
        agree(model, args)
        dist.destroy_process_group()


def train(loader, model, criterion, optimizer, scaler, epoch, device, args):
    model.train()
    start = time.perf_counter()
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.amp.autocast(device.type, enabled=scaler.is_enabled()):
            output = model(images)
            loss = criterion(output, labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % args.print_freq == 0 or step + 1 == len(loader):
            acc1 = (output.argmax(1) == labels).float().mean().item() * 100
            print("Epoch: [%d][%3d/%d]  Time %.3f  Loss %.4e  Acc@1 %6.2f  (rank %d)" % (
                epoch, step + 1, len(loader), (time.perf_counter() - start) / (step + 1), loss.item(), acc1, args.rank), flush=True)


def validate(loader, model, criterion, device, args):
    """Accuracy over all ranks, in percent."""
    model.eval()
    totals = torch.zeros(3, device=device)  # right, loss, pictures
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            output = model(images)
            totals += torch.stack([(output.argmax(1) == labels).sum().float(), criterion(output, labels) * len(labels),
                                   torch.tensor(float(len(labels)), device=device)])
    if args.distributed:
        dist.all_reduce(totals)
    right, loss, pictures = totals.tolist()
    if args.rank == 0:
        print(" *  Acc@1 %.3f  Loss %.4f  of %d pictures" % (100 * right / pictures, loss / pictures, pictures), flush=True)
    return 100 * right / pictures


def agree(model, args):
    """All ranks have trained the same model, to the bit."""
    low = torch.cat([p.detach().float().flatten() for p in model.parameters()])
    high = low.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    if args.rank == 0:
        print("parameters of %d ranks %s" % (args.world_size, "agree" if torch.equal(low, high) else "DIFFER"), flush=True)


if __name__ == "__main__":
    main()
