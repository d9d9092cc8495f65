import torch
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 8, generator=g)
        self.y = (self.x[:, 0] * self.x[:, 1] > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def make_loaders(batch_size):
    train_set, val_set = Points(64, 0), Points(32, 1)
    train_loader = DataLoader(train_set, batch_size, True)
    val_loader = DataLoader(val_set, batch_size=16, shuffle=False)
    return train_loader, val_loader
