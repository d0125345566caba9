#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale(const float* x, float* y, float s, int64_t n) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * s;
}

at::Tensor forward(at::Tensor x, double s) {
  at::Tensor y = at::empty(x.sizes(), x.options());
  int blocks = std::min<int64_t>(2, (x.numel() + 31) / 32);
  scale<<<blocks, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(s), x.numel());
  return y;
}
