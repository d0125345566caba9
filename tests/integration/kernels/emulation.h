// CUDA on the CPU, for checking the interpreter: every thread of a block is a fiber, a barrier yields until all
// threads that live have come. Nothing here is shared with the interpreter: the kernel is g++'s.
#pragma once
#include <ucontext.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

struct dim3 { unsigned x = 1, y = 1, z = 1; };
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }

#define __global__
#define __device__
#define __constant__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static
#define INF_F __builtin_inff()

namespace emulated {
struct Fiber {
  ucontext_t context;
  dim3 thread;
  bool done;
};
inline dim3 grid, block, block_index;
inline std::vector<Fiber> fibers;
inline std::vector<char> dynamic_shared;
inline ucontext_t main_context;
inline int current, waiting, generation, living;
inline int warp_waiting[64], warp_generation[64], warp_living[64];
inline unsigned long long warp_slot[64][32];
inline void (*body)();

inline void yield() { swapcontext(&fibers[current].context, &main_context); }
inline void release() { waiting = 0; generation++; }
inline void release_warp(int warp) { warp_waiting[warp] = 0; warp_generation[warp]++; }

inline void barrier() {
  int mine = generation;
  if (++waiting == living) release();
  while (generation == mine) yield();
}
inline void warp_barrier() {
  int warp = current / 32, mine = warp_generation[warp];
  if (++warp_waiting[warp] == warp_living[warp]) release_warp(warp);
  while (warp_generation[warp] == mine) yield();
}
inline void trampoline() {
  body();
  int warp = current / 32;
  fibers[current].done = true;
  living--;
  warp_living[warp]--;
  if (living && waiting == living) release();
  if (warp_living[warp] && warp_waiting[warp] == warp_living[warp]) release_warp(warp);
  swapcontext(&fibers[current].context, &main_context);
}
inline void run_block() {
  static std::vector<std::vector<char>> stacks;
  int count = block.x * block.y * block.z;
  stacks.resize(count);
  fibers.resize(count);
  living = count;
  waiting = 0;
  for (int w = 0; w < 64; w++) {
    warp_waiting[w] = 0;
    warp_living[w] = count > w * 32 ? (count - w * 32 < 32 ? count - w * 32 : 32) : 0;
  }
  for (int i = 0; i < count; i++) {
    stacks[i].resize(1 << 16);
    Fiber& fiber = fibers[i];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks[i].data();
    fiber.context.uc_stack.ss_size = stacks[i].size();
    fiber.context.uc_link = &main_context;
    fiber.thread = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
    fiber.done = false;
    makecontext(&fiber.context, trampoline, 0);
  }
  while (living)
    for (current = 0; current < count; current++)
      if (!fibers[current].done) swapcontext(&main_context, &fibers[current].context);
}
template <typename T> T exchanged(T value, int source) {
  int warp = current / 32, lane = current % 32;
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  warp_slot[warp][lane] = bits;
  warp_barrier();
  bits = warp_slot[warp][source];
  warp_barrier();
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  static void (*held)(A...);
  static void** given;
  held = kernel;
  given = arguments;
  body = [] { held(*(std::decay_t<A>*)given[I]...); };
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        block_index = {x, y, z};
        run_block();
      }
}
template <typename... A> void launch(void (*kernel)(A...), const unsigned* shape, void** arguments) {
  grid = {shape[0], shape[1], shape[2]};
  block = {shape[3], shape[4], shape[5]};
  dynamic_shared.assign(shape[6] + 64, 0);
  call(kernel, arguments, std::index_sequence_for<A...>{});
}
inline void* dynamic() { return (void*)(((uintptr_t)dynamic_shared.data() + 15) & ~(uintptr_t)15); }
}  // namespace emulated

#define threadIdx (emulated::fibers[emulated::current].thread)
#define blockIdx (emulated::block_index)
#define blockDim (emulated::block)
#define gridDim (emulated::grid)
constexpr int warpSize = 32;

inline void __syncthreads() { emulated::barrier(); }
inline void __syncwarp(unsigned = ~0u) { emulated::warp_barrier(); }
inline void __threadfence() {}
template <typename T> T __shfl_sync(unsigned, T v, int lane, int width = 32) {
  int own = emulated::current % 32;
  return emulated::exchanged(v, (own / width) * width + lane % width);
}
template <typename T> T __shfl_down_sync(unsigned, T v, int by, int width = 32) {
  int own = emulated::current % 32;
  return emulated::exchanged(v, own % width + by < width ? own + by : own);
}
template <typename T> T __shfl_up_sync(unsigned, T v, int by, int width = 32) {
  int own = emulated::current % 32;
  return emulated::exchanged(v, own % width - by >= 0 ? own - by : own);
}
template <typename T> T __shfl_xor_sync(unsigned, T v, int by, int width = 32) {
  int own = emulated::current % 32;
  return emulated::exchanged(v, (own ^ by) / width <= own / width ? own ^ by : own);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned out = 0;
  for (int lane = 0; lane < 32; lane++)
    out |= unsigned(emulated::exchanged(predicate != 0 ? 1 : 0, lane)) << lane;
  return out;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == ~0u; }

template <typename T> T atomicAdd(T* p, T v) { T old = *p; *p = old + v; return old; }
template <typename T> T atomicMax(T* p, T v) { T old = *p; *p = old < v ? v : old; return old; }
template <typename T> T atomicMin(T* p, T v) { T old = *p; *p = v < old ? v : old; return old; }
template <typename T> T atomicExch(T* p, T v) { T old = *p; *p = v; return old; }
template <typename T> T atomicCAS(T* p, T c, T v) { T old = *p; if (old == c) *p = v; return old; }
inline unsigned atomicInc(unsigned* p, unsigned top) { unsigned old = *p; *p = old >= top ? 0 : old + 1; return old; }

inline int __float_as_int(float v) { int o; std::memcpy(&o, &v, 4); return o; }
inline float __int_as_float(int v) { float o; std::memcpy(&o, &v, 4); return o; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
inline unsigned __brev(unsigned v) { unsigned o = 0; for (int i = 0; i < 32; i++) o |= (v >> i & 1u) << (31 - i); return o; }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
template <typename T> T max(T a, T b) { return a < b ? b : a; }
template <typename T> T min(T a, T b) { return b < a ? b : a; }
inline float rsqrtf(float x) { return float(1 / std::sqrt((double)x)); }
inline float __frcp_rn(float x) { return 1.0f / x; }

// Rounded once from float64: g++'s own float functions differ from any other library's in the last place.
#define ONCE(name) inline float once_##name(float x) { return float(std::name((double)x)); }
ONCE(exp) ONCE(log) ONCE(tanh) ONCE(erf) ONCE(sin) ONCE(cos) ONCE(log1p)
#define expf once_exp
#define __expf once_exp
#define logf once_log
#define tanhf once_tanh
#define erff once_erf
#define sinf once_sin
#define cosf once_cos
#define log1pf once_log1p
inline float once_pow(float x, float y) { return float(std::pow((double)x, (double)y)); }
#define powf once_pow

typedef _Float16 __half;
inline float __half2float(__half h) { return float(h); }
inline __half __float2half(float f) { return __half(f); }
inline __half __hadd(__half a, __half b) { return __half(float(a) + float(b)); }
inline __half __hmul(__half a, __half b) { return __half(float(a) * float(b)); }
