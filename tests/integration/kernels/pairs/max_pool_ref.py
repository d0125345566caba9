import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return nn.functional.max_pool2d(x, 2)


def get_inputs():
    return [torch.randn(2, 3, 8, 6)]


def get_init_inputs():
    return []
