import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void linear_relu(const float* x, const float* w, const float* b, float* y, int K, int N) {
  int n = threadIdx.x, m = blockIdx.x;
  float sum = b[n];
  for (int k = 0; k < K; ++k) sum += x[m * K + k] * w[n * K + k];
  y[m * N + n] = sum > 0.0f ? sum : 0.0f;
}
torch::Tensor linear_relu_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  auto y = torch::empty({x.size(0), w.size(0)}, x.options());
  linear_relu<<<x.size(0), w.size(0)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                        y.data_ptr<float>(), x.size(1), w.size(0));
  return y;
}
"""
built = load_inline(
    name="own_linear_relu",
    cpp_sources="torch::Tensor linear_relu_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=SOURCE,
    functions=["linear_relu_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, 7)

    def forward(self, x):
        return built.linear_relu_forward(x.contiguous(), self.linear.weight, self.linear.bias)
