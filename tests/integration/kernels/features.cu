__constant__ float weights[4] = {0.5f, -1.25f, 2.0f, 0.125f};
__device__ const int places[3] = {2, 0, 1};

__device__ __noinline__ float horner(const float* w, float x, int degree) {
  float sum = 0;
  for (int k = degree; k >= 0; k--) sum = sum * x + w[k];
  return sum;
}

__global__ void called(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = horner(weights, x[i], 3) - horner(weights + 1, x[i] + 1.0f, 2);
}

struct Pair {
  float a;
  int b;
};

__device__ __noinline__ Pair split(float x) { return {x * 0.5f, int(x * 10.0f)}; }

__global__ void structures(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Pair p = split(x[i]);
  y[i] = p.a + p.b + places[i % 3];
}

struct Shape {
  int rows, columns;
  float scale;
};

__global__ void by_value(const float* x, float* y, Shape shape) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < shape.rows * shape.columns) y[i % shape.columns * shape.rows + i / shape.columns] = shape.scale * x[i];
}

__global__ void either_space(const float* x, float* y, int n) {
  __shared__ float held[32];
  held[threadIdx.x] = 2.0f * x[threadIdx.x];
  __syncthreads();
  const float* from = threadIdx.x % 3 ? held : x;
  y[threadIdx.x] = from[(threadIdx.x + n) % 32];
}

__global__ void bytes(const unsigned char* x, unsigned char* y, short* z, int n) {
  __shared__ unsigned char held[64];
  int i = threadIdx.x;
  held[i] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) {
    y[i] = held[n - 1 - i] / 3;
    z[i] = (short)(held[i] * 5 - 400);
  }
}

__global__ void three_d(const float* x, float* y, int a, int b, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
      k = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < a && j < b && k < c) y[(i * b + j) * c + k] = x[(k * b + j) * a + i] + 100.0f * k;
}

__global__ void switched(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  switch (i % 9) {
    case 0: v = v + 1.0f; break;
    case 1: v = v * v - 3.0f; break;
    case 2: v = 1.0f / (v + 10.0f);
    case 3: v = v - 7.0f; break;
    case 4: v = sqrtf(fabsf(v)); break;
    case 5: y[i] = 9.0f; return;
    case 6: v = v * 4.0f; break;
    case 7: v = -v; break;
    default: v = 0.0f;
  }
  y[i] = v;
}
