#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv(const float* x, const float* w, const float* b, float* y, int C, int H, int W, int O, int R, int S,
                     int stride, int padding, int P, int Q, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int q = i % Q, p = i / Q % P, o = i / (Q * P) % O, n = i / (Q * P * O);
  float sum = b ? b[o] : 0.0f;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r)
      for (int s = 0; s < S; ++s) {
        int h = p * stride - padding + r, v = q * stride - padding + s;
        if (h >= 0 && h < H && v >= 0 && v < W) sum += x[((n * C + c) * H + h) * W + v] * w[((o * C + c) * R + r) * S + s];
      }
  y[i] = sum;
}

static int out_size(int in, int kernel, int stride, int padding) { return (in + 2 * padding - kernel) / stride + 1; }

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  const int stride = 2, padding = 1;
  int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
  int O = weight.size(0), R = weight.size(2), S = weight.size(3);
  int P = out_size(H, R, stride, padding), Q = out_size(W, S, stride, padding);
  auto y = torch::empty({N, O, P, Q}, x.options());
  int total = y.numel();
  conv<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                     bias.defined() ? bias.data_ptr<float>() : nullptr, y.data_ptr<float>(), C, H, W, O,
                                     R, S, stride, padding, P, Q, total);
  return y;
}
