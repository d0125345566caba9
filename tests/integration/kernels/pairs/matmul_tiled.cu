#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 8

__global__ void matmul(const float* A, const float* B, float* C, int M, int K, int N) {
  __shared__ float a[TILE][TILE], b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
    int k = t * TILE + threadIdx.x;
    a[threadIdx.y][threadIdx.x] = row < M && k < K ? A[row * K + k] : 0.0f;
    k = t * TILE + threadIdx.y;
    b[threadIdx.y][threadIdx.x] = k < K && column < N ? B[k * N + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && column < N) C[row * N + column] = sum;
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
  const auto M = A.size(0), K = A.size(1), N = B.size(1);
  TORCH_CHECK(B.size(0) == K, "inner sizes ", K, " and ", B.size(0));
  auto C = torch::zeros({M, N}, A.options());
  dim3 threads(TILE, TILE);
  dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  matmul<<<blocks, threads>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K, N);
  return C;
}
