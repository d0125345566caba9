#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void step(float* y, int row, int columns) {
  int c = threadIdx.x;
  if (c < columns) y[row * columns + c] *= y[(row - 1) * columns + c];
}

torch::Tensor forward(torch::Tensor x) {
  auto y = x.clone();
  for (int row = 1; row < y.size(0); ++row) step<<<1, 32>>>(y.data_ptr<float>(), row, y.size(1));
  return y;
}
