#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void softmax(const float* x, float* y, int n) {
  extern __shared__ float held[];
  const float* row = x + blockIdx.x * n;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, row[i]);
  held[threadIdx.x] = top;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) held[threadIdx.x] = fmaxf(held[threadIdx.x], held[threadIdx.x + s]);
    __syncthreads();
  }
  top = held[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - top);
  held[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) held[threadIdx.x] += held[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = expf(row[i] - top) / held[0];
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int threads = 1;
  while (threads < x.size(1) && threads < 1024) threads *= 2;
  size_t bytes = threads * sizeof(float);
  softmax<<<x.size(0), threads, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
