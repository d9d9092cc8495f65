"""Folders of pictures, one folder a class; and pictures made up on the fly."""
import os

import torch
from torch.nn import functional as F
from torch.utils.data import Dataset

MEAN, DEVIATION = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1), torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class Folder(Dataset):
    """folder/class/picture.jpg; the shorter side becomes `size` and the middle is cut out, mirrored at random for training."""

    def __init__(self, folder, size, mirror):
        classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
        self.items = [(os.path.join(folder, name, file), label) for label, name in enumerate(classes)
                      for file in sorted(os.listdir(os.path.join(folder, name)))]
        self.size, self.mirror = size, mirror

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        import numpy
        from PIL import Image
        path, label = self.items[index]
        with Image.open(path) as picture:
            image = torch.from_numpy(numpy.array(picture.convert("RGB"))).permute(2, 0, 1).float() / 255
        scale = self.size / min(image.shape[1:])
        image = F.interpolate(image[None], scale_factor=scale, mode="bilinear", antialias=True, recompute_scale_factor=True)[0]
        top, left = (max(0, side - self.size) // 2 for side in image.shape[1:])
        image = F.interpolate(image[None, :, top:top + self.size, left:left + self.size], size=(self.size, self.size))[0]
        if self.mirror and torch.rand(()) < 0.5:
            image = image.flip(2)
        return (image - MEAN) / DEVIATION, label


class Dummy(Dataset):
    """Noise over a pattern that belongs to the class: picture `index` is the same in every process and at every time."""

    def __init__(self, pictures, classes, size, seed):
        self.pictures, self.classes, self.size, self.seed = pictures, classes, size, seed
        patterns = torch.randn(classes, 3, 4, 4, generator=torch.Generator().manual_seed(1))
        self.patterns = F.interpolate(patterns, size=(size, size), mode="bilinear")

    def __len__(self):
        return self.pictures

    def __getitem__(self, index):
        if index >= self.pictures:
            raise IndexError(index)
        label = index % self.classes
        noise = torch.randn(3, self.size, self.size, generator=torch.Generator().manual_seed(self.seed + index))
        return self.patterns[label] + 0.5 * noise, label
