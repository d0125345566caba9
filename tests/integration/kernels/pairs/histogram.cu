#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void histogram(const int64_t* x, unsigned long long* counts, int n, int bins) {
  extern __shared__ unsigned int own[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], (unsigned long long)own[b]);
}

torch::Tensor forward(torch::Tensor x) {
  const int bins = 10;
  auto counts = torch::zeros({bins}, torch::TensorOptions().dtype(torch::kInt64).device(x.device()));
  histogram<<<2, 64, bins * sizeof(unsigned int)>>>(
      x.data_ptr<int64_t>(), reinterpret_cast<unsigned long long*>(counts.data_ptr<int64_t>()), x.numel(), bins);
  return counts;
}
