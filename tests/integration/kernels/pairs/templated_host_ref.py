import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.flip(x, [1])


def get_inputs():
    return [torch.rand(4, 30)]


def get_init_inputs():
    return []
