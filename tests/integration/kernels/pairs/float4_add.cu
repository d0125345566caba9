#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add4(const float4* a, const float4* b, float4* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 u = a[i], v = b[i];
  c[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

__global__ void add1(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty_like(a);
  int n = a.numel();
  if (n % 4 == 0 && a.is_contiguous() && b.is_contiguous()) {
    n /= 4;
    dim3 block(32), grid((n + block.x - 1) / block.x);
    add4<<<grid, block>>>(reinterpret_cast<const float4*>(a.data_ptr<float>()),
                          (const float4*)b.data_ptr<float>(), reinterpret_cast<float4*>(c.data_ptr<float>()), n);
  } else {
    add1<<<(n + 31) / 32, 32>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
  }
  return c;
}
