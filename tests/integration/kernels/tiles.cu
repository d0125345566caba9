#define TILE 8

__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
    int x = t * TILE + threadIdx.x, y = t * TILE + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0.0f;
    right[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

__global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
  __syncthreads();
  c = blockIdx.y * TILE + threadIdx.x;
  r = blockIdx.x * TILE + threadIdx.y;
  if (r < columns && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

__global__ void conv2d(const float* x, const float* w, const float* bias, float* y, int channels, int height, int width,
                       int filters, int size) {
  int ow = width - size + 1, oh = height - size + 1;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= filters * oh * ow) return;
  int c = i % ow, r = i / ow % oh, f = i / (ow * oh);
  float sum = bias[f];
  for (int ch = 0; ch < channels; ch++)
    for (int p = 0; p < size; p++)
      for (int q = 0; q < size; q++)
        sum += x[(ch * height + r + p) * width + c + q] * w[((f * channels + ch) * size + p) * size + q];
  y[i] = sum;
}

__global__ void max_pool(const float* x, float* y, int height, int width) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= width / 2 || r >= height / 2) return;
  float top = -3.4e38f;
  for (int p = -1; p <= 1; p++)
    for (int q = -1; q <= 1; q++) {
      int yy = 2 * r + p, xx = 2 * c + q;
      if (yy >= 0 && yy < height && xx >= 0 && xx < width) top = fmaxf(top, x[yy * width + xx]);
    }
  y[r * (width / 2) + c] = top;
}

__global__ void register_tile(const float* a, const float* b, float* c, int n) {
  float sums[2][4] = {};
  int row = (blockIdx.y * blockDim.y + threadIdx.y) * 2, column = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  for (int k = 0; k < n; k++) {
    float4 right = *reinterpret_cast<const float4*>(b + k * n + column);
    for (int i = 0; i < 2; i++) {
      float left = a[(row + i) * n + k];
      sums[i][0] += left * right.x;
      sums[i][1] += left * right.y;
      sums[i][2] += left * right.z;
      sums[i][3] += left * right.w;
    }
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) c[(row + i) * n + column + j] = sums[i][j];
}

__global__ void local_array(const float* x, float* y, int n) {
  float held[9];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < 9; k++) held[k] = x[(i + k) % n];
  for (int a = 0; a < 9; a++)
    for (int b = 0; b + 1 < 9 - a; b++)
      if (held[b] > held[b + 1]) {
        float swapped = held[b];
        held[b] = held[b + 1];
        held[b + 1] = swapped;
      }
  y[i] = held[4] + held[(i * 7) % 9];
}
