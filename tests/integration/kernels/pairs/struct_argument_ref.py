import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.clamp(x * 2 - 1, -0.5, 0.5)


def get_inputs():
    return [torch.rand(50)]


def get_init_inputs():
    return []
