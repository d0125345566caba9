#include <cuda_fp16.h>

__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void grid_stride(const float* a, const float* b, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = a[i] * b[i] + a[i] / (1.0f + fabsf(b[i]));
}

__device__ __forceinline__ float gelu_of(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void gelu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = gelu_of(x[i]);
}

__global__ void vectorised(const float* x, float* y, int n, float slope) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * 4 + 3 < n) {
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x = v.x > 0 ? v.x : slope * v.x;
    v.y = v.y > 0 ? v.y : slope * v.y;
    v.z = v.z > 0 ? v.z : slope * v.z;
    v.w = v.w > 0 ? v.w : slope * v.w;
    reinterpret_cast<float4*>(y)[i] = v;
  } else {
    for (int j = i * 4; j < n; j++) y[j] = x[j] > 0 ? x[j] : slope * x[j];
  }
}

template <typename T, int STEPS> __global__ void polynomial(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T sum = 0, power = 1;
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    sum += power / T(k + 1);
    power *= x[i];
  }
  y[i] = sum;
}

__global__ void halves(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(__half2float(x[i]) * 1.5f + 0.25f);
}

__global__ void half_products(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hadd(__hmul(x[i], x[i]), x[i]);
}

__global__ void fused(const float* a, const float* b, const float* c, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a[i], b[i], c[i]);
}

__global__ void roundings(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 10.0f * x[i];
  y[i] = floorf(v) + 3.0f * ceilf(v) + 7.0f * truncf(v) + 11.0f * rintf(v) + float(int(v)) + float((unsigned char)int(fabsf(v)));
}

__global__ void transcendental(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = expf(v) + logf(1.0f + v * v) + sinf(v) * cosf(v) + erff(v) + powf(fabsf(v) + 0.5f, 1.5f) + log1pf(v * v);
}
