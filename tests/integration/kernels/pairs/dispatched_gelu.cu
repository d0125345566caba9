#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename scalar_t>
__global__ void gelu(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * scalar_t(0.5) * (scalar_t(1) + erf(x[i] * scalar_t(0.70710678118654752440)));
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gelu", ([&] {
    gelu<scalar_t><<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  }));
  return y;
}
