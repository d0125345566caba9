#include <torch/extension.h>
#include <cuda_runtime.h>

template <int BLOCK>
__global__ void row_sum(const float* x, float* y, int columns) {
  __shared__ float held[BLOCK];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += BLOCK) sum += x[blockIdx.x * columns + c];
  held[threadIdx.x] = sum;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) held[threadIdx.x] += held[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = held[0];
}

torch::Tensor forward(torch::Tensor x) {
  auto sizes = x.sizes().vec();
  sizes[1] = 1;
  auto y = torch::empty(sizes, x.options());
  row_sum<64><<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(-1));
  return y;
}
