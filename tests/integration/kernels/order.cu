__global__ void histogram(const int* x, int* y, int n) {
  __shared__ int counts[16];
  if (threadIdx.x < 16) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[x[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&y[threadIdx.x], counts[threadIdx.x]);
}

__global__ void scatter_add(const float* x, const int* where, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&y[where[i]], x[i]);
}

__device__ void atomic_max(float* place, float value) {
  int* bits = (int*)place;
  int old = *bits;
  while (__int_as_float(old) < value) {
    int seen = atomicCAS(bits, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
}

__global__ void max_by_swap(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(&y[i % 4], x[i]);
}

__global__ void last_block(const float* x, float* partial, float* y, unsigned* ticket, int n) {
  __shared__ float held[64];
  __shared__ bool is_last;
  int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  held[t] = sum;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (t < s) held[t] += held[t + s];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = held[0];
    __threadfence();
    is_last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && t == 0) {
    float all = 0;
    for (int b = 0; b < gridDim.x; b++) all += partial[b];
    y[0] = all;
  }
}

__global__ void integers(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], d = (i % 7) - 3;
  if (d == 0) d = 5;
  unsigned u = (unsigned)v;
  long long wide = (long long)v * 1000003LL + i;
  y[i] = v / d + v % d + (v >> 3) + (int)(u >> 5) + (v << (i % 9)) + (int)(wide / 17) + (int)(wide % 1009) +
         __mulhi(v, 77777777) + (int)__brev(u) + (v ^ (i * 31)) + min(v, i) + max(v, -i) + (short)v + (unsigned char)v;
}

__global__ void doubles(const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 1.25 + 1.0 / (2.0 + fabs(x[i])) - sqrt(fabs(x[i])) + (double)(float)x[i];
}

__global__ void diverging(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  int steps = 0;
  while (v > 0.01f && steps < 50) {
    v = steps % 2 ? v * 0.5f : v - 0.1f * v * v;
    steps++;
    if (steps % 5 == 0 && v < 0.2f) continue;
    v *= 0.97f;
  }
  switch (i % 5) {
    case 0: v += 1.0f; break;
    case 1: v *= 3.0f; break;
    case 2: v = -v; break;
    case 3: v = v * v; break;
    default: v = 0.5f;
  }
  y[i] = v + steps;
}
