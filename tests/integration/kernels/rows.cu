__global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float held[128];
  int row = blockIdx.x, t = threadIdx.x;
  const float* in = x + row * columns;
  float top = -INFINITY;
  for (int i = t; i < columns; i += blockDim.x) top = fmaxf(top, in[i]);
  held[t] = top;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) held[t] = fmaxf(held[t], held[t + s]);
    __syncthreads();
  }
  top = held[0];
  __syncthreads();
  float sum = 0;
  for (int i = t; i < columns; i += blockDim.x) sum += expf(in[i] - top);
  held[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) held[t] += held[t + s];
    __syncthreads();
  }
  for (int i = t; i < columns; i += blockDim.x) y[row * columns + i] = expf(in[i] - top) / held[0];
}

__device__ float warp_sum(float v) {
  for (int by = 16; by > 0; by >>= 1) v += __shfl_down_sync(0xffffffffu, v, by);
  return v;
}

__global__ void row_sums(const float* x, float* y, int columns) {
  __shared__ float parts[32];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  float sum = 0;
  for (int i = t; i < columns; i += blockDim.x) sum += x[blockIdx.x * columns + i];
  sum = warp_sum(sum);
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? parts[lane] : 0.0f;
    sum = warp_sum(sum);
    if (lane == 0) y[blockIdx.x] = sum;
  }
}

__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y, int columns, float eps) {
  extern __shared__ float held[];
  int t = threadIdx.x;
  const float* in = x + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = t; i < columns; i += blockDim.x) {
    sum += in[i];
    squares += in[i] * in[i];
  }
  held[t] = sum;
  held[t + blockDim.x] = squares;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) {
      held[t] += held[t + s];
      held[t + blockDim.x] += held[t + s + blockDim.x];
    }
    __syncthreads();
  }
  float mean = held[0] / columns;
  float scale = rsqrtf(held[blockDim.x] / columns - mean * mean + eps);
  for (int i = t; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (in[i] - mean) * scale * gamma[i] + beta[i];
}

__global__ void butterfly(const float* x, float* y) {
  float v = x[blockIdx.x * 32 + threadIdx.x];
  for (int by = 1; by < 32; by <<= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, by)) * 0.5f + v;
  y[blockIdx.x * 32 + threadIdx.x] = v;
}

__global__ void scan(const float* x, float* y) {
  int lane = threadIdx.x;
  float v = x[blockIdx.x * 32 + lane];
  for (int by = 1; by < 32; by <<= 1) {
    float other = __shfl_up_sync(0xffffffffu, v, by);
    if (lane >= by) v += other;
  }
  y[blockIdx.x * 32 + lane] = v + __shfl_sync(0xffffffffu, v, 3, 8);
}

__global__ void votes(const float* x, int* y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  unsigned ballot = __ballot_sync(0xffffffffu, x[i] > 0.3f);
  y[i] = __popc(ballot) + 100 * __any_sync(0xffffffffu, x[i] > 2.0f) + 1000 * __all_sync(0xffffffffu, x[i] < 3.0f) +
         __clz(int(ballot)) * 7;
}

__global__ void largest_index(const float* x, int* y, int columns) {
  __shared__ float values[64];
  __shared__ int places[64];
  int t = threadIdx.x;
  float best = -INFINITY;
  int place = 0;
  for (int i = t; i < columns; i += blockDim.x)
    if (x[blockIdx.x * columns + i] > best) {
      best = x[blockIdx.x * columns + i];
      place = i;
    }
  values[t] = best;
  places[t] = place;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (t < s && values[t + s] > values[t]) {
      values[t] = values[t + s];
      places[t] = places[t + s];
    }
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = places[0];
}
