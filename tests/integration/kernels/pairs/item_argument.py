import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void times(const float* x, float* y, float factor, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = x[i] * factor;
}
torch::Tensor times_(torch::Tensor x, float factor) {
  auto y = torch::empty_like(x);
  times<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), factor, x.numel());
  return y;
}
"""
built = load_inline(
    name="own_item_argument",
    cpp_sources="torch::Tensor times_(torch::Tensor x, float factor);",
    cuda_sources=SOURCE,
    functions=["times_"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return built.times_(x, self.factor.item())
