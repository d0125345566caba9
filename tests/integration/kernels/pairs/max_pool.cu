#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void pool(const float* x, float* y, int H, int W) {
  int q = threadIdx.x, p = threadIdx.y, plane = blockIdx.z;
  int Q = W / 2, P = H / 2;
  if (q >= Q || p >= P) return;
  float top = -FLT_MAX;
  for (int r = 0; r < 2; ++r)
    for (int s = 0; s < 2; ++s) top = max(top, x[(plane * H + 2 * p + r) * W + 2 * q + s]);
  y[(plane * P + p) * Q + q] = top;
}

std::vector<int64_t> pooled(const torch::Tensor& x, int by) {
  std::vector<int64_t> sizes;
  for (int d = 0; d < x.dim(); d++) sizes.push_back(d < 2 ? x.size(d) : x.size(d) / by);
  return sizes;
}

torch::Tensor forward(torch::Tensor x) {
  auto sizes = pooled(x, 2);
  auto y = torch::empty(sizes, x.options());
  dim3 grid(1, 1, sizes[0] * sizes[1]);
  pool<<<grid, dim3(8, 8)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3));
  return y;
}
