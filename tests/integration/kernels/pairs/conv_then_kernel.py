import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void gate(float* x, const float* scale, int inner, int channels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 1.0f / (1.0f + expf(-x[i] * scale[i / inner % channels]));
}
void gate_(torch::Tensor x, torch::Tensor scale) {
  int n = x.numel();
  int inner = x.size(2) * x.size(3);
  gate<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), scale.data_ptr<float>(), inner, x.size(1), n);
}
"""
built = load_inline(
    name="own_conv_then_kernel",
    cpp_sources="void gate_(torch::Tensor x, torch::Tensor scale);",
    cuda_sources=SOURCE,
    functions=["gate_"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.scale = nn.Parameter(torch.randn(4, 1, 1))

    def forward(self, x):
        y = self.conv(x).contiguous()
        built.gate_(y, self.scale)
        return y
