#include <torch/extension.h>
#include <cuda_runtime.h>

__constant__ float taps[3];

__global__ void weighted(const float* x, float* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) y[i] = x[i] * taps[0] + x[i] * taps[1] + x[i] * taps[2];
}

torch::Tensor forward(torch::Tensor x) {
  float host[3] = {1.0f, 3.0f};
  host[2] = 5;
  cudaMemcpyToSymbol(taps, host, sizeof(host));
  auto y = torch::empty_like(x);
  weighted<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
