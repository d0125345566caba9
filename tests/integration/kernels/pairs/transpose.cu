#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[16][17];
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
  __syncthreads();
  c = blockIdx.y * 16 + threadIdx.x;
  r = blockIdx.x * 16 + threadIdx.y;
  if (r < columns && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

torch::Tensor forward(torch::Tensor x) {
  int rows = x.size(0), columns = x.size(1);
  auto y = torch::empty({columns, rows}, x.options());
  const dim3 block = {16, 16, 1};
  const dim3 grid{(unsigned)((columns + 15) / 16), (unsigned)((rows + 15) / 16)};
  transpose<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
  return y;
}
