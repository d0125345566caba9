#include <torch/extension.h>
#include <cuda_runtime.h>

struct Line {
  float slope = 2.0f;
  float shift;
  int count;
};

__device__ __forceinline__ float limited(float v) { return fminf(fmaxf(v, -0.5f), 0.5f); }

__global__ void line(const float* x, float* y, Line by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < by.count) y[i] = limited(x[i] * by.slope + by.shift);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  Line by;
  by.shift = -1.0f;
  by.count = x.numel();
  line<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), by);
  return y;
}
