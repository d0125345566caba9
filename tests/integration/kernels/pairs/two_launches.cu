#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void squares(const float* x, float* part, int n) {
  __shared__ float held[64];
  float sum = 0.0f;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i] * x[i];
  held[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (threadIdx.x < s) held[threadIdx.x] += held[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) part[blockIdx.x] = held[0];
}

__global__ void divide(const float* x, const float* part, float* y, int parts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int p = 0; p < parts; ++p) sum += part[p];
  if (i < n) y[i] = x[i] / sqrtf(sum);
}

torch::Tensor forward(torch::Tensor x) {
  x = x.contiguous();
  auto y = torch::empty_like(x);
  int n = x.numel(), parts = 3;
  auto part = torch::empty({parts}, x.options());
  squares<<<parts, 64>>>(x.data_ptr<float>(), part.data_ptr<float>(), n);
  cudaError_t err = cudaGetLastError();
  if (err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err));
  divide<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), part.data_ptr<float>(), y.data_ptr<float>(), parts, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
