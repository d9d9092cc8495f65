def f(torch):
    return torch.cuda.is_available()
