__global__ void no_barrier(const float* x, float* y, int columns) {
  __shared__ float held[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = t; i < columns; i += blockDim.x) sum += x[i];
  held[t] = sum;
  for (int s = 32; s > 0; s >>= 1) {
    if (t < s) held[t] += held[t + s];
    __syncthreads();
  }
  if (t == 0) y[0] = held[0];
}

__global__ void early_reuse(const float* x, float* y) {
  __shared__ float held[64];
  int t = threadIdx.x;
  for (int k = 0; k < 2; k++) {
    held[t] = x[k * 64 + t];
    __syncthreads();
    y[k * 64 + t] = held[63 - t];
  }
}

__global__ void no_bounds(const float* x, float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x] + 1.0f; }

__global__ void reads_past(const float* x, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = x[i] + x[i + 1];
}

__global__ void shared_overrun(const float* x, float* y) {
  __shared__ float held[33];
  held[threadIdx.x + 2] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = held[threadIdx.x + 1];
}

__global__ void unwritten_shared(const float* x, float* y, int n) {
  __shared__ float held[32];
  if (threadIdx.x < n) held[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = held[threadIdx.x];  // some of it
}

__global__ void crooked(const float* x, float* y) {
  float4 v = *reinterpret_cast<const float4*>(x + threadIdx.x * 4 + 1);
  y[threadIdx.x] = v.x + v.w;
}

__global__ void torn_barrier(const float* x, float* y) {
  __shared__ float held[64];
  held[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x % 2) {
    held[threadIdx.x] *= 2.0f;
    __syncthreads();
  } else {
    __syncthreads();
    held[threadIdx.x] += 1.0f;
  }
  y[threadIdx.x] = held[threadIdx.x];
}

__global__ void in_place(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0f;
}

__global__ void everybody(const float* x, float* y) { y[0] = x[threadIdx.x]; }

__global__ void last_one(const float* x, float* y) { atomicExch(y, x[blockIdx.x * blockDim.x + threadIdx.x]); }

__global__ void sum_of_all(const float* x, float* y) { atomicAdd(y, x[blockIdx.x * blockDim.x + threadIdx.x]); }

__global__ void for_ever(const float* x, float* y) {
  int i = 0;
  while (x[0] > -1.0f) y[i++ % 8] = 1.0f;
}

__global__ void clocked(float* y) { y[threadIdx.x] = float(clock()); }

__global__ void decided(const float* x, float* y) {
  int i = threadIdx.x;
  float v = x[i];
  if (v > 20.0f)
    y[i] = v;
  else
    y[i] = expf(v) * 2.0f;
}

__global__ void weighted(const float* x, const float* w, float* y, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; k++) sum += x[threadIdx.x * n + k] * w[k];
  y[threadIdx.x] = sum;
}
