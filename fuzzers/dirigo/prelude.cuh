// What kernels take from C and C++ headers: fixed-width types, limits, a few templates of std.
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long long uintptr_t;
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#endif
#ifndef CUDART_INF_F
#define CUDART_INF_F INFINITY
#define CUDART_NAN_F NAN
#define CUDART_PI_F 3.141592654f
#endif
#ifndef INT_MAX
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define INT64_MAX LLONG_MAX
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define CUDA_KERNEL_LOOP(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP(i, n)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(n)
#define __builtin_prefetch(...) ((void)0)

template <typename T> struct __sym_limits;
#define __SYM_LIMITS(T, LEAST, MOST, SMALL, STEP)                  \
  template <> struct __sym_limits<T> {                             \
    static __device__ constexpr T lowest() { return LEAST; }       \
    static __device__ constexpr T max() { return MOST; }           \
    static __device__ constexpr T min() { return SMALL; }          \
    static __device__ constexpr T epsilon() { return STEP; }       \
    static __device__ T infinity() { return static_cast<T>(INFINITY); }         \
    static __device__ T quiet_NaN() { return static_cast<T>(NAN); }             \
  };
__SYM_LIMITS(float, -FLT_MAX, FLT_MAX, FLT_MIN, FLT_EPSILON)
__SYM_LIMITS(double, -DBL_MAX, DBL_MAX, DBL_MIN, DBL_EPSILON)
__SYM_LIMITS(int, INT_MIN, INT_MAX, INT_MIN, 0)
__SYM_LIMITS(unsigned, 0, UINT_MAX, 0, 0)
__SYM_LIMITS(long, LLONG_MIN, LLONG_MAX, LLONG_MIN, 0)
__SYM_LIMITS(long long, LLONG_MIN, LLONG_MAX, LLONG_MIN, 0)

namespace std {
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
typedef unsigned long size_t;
template <typename T> struct numeric_limits : __sym_limits<T> {};
template <typename T> __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <typename T> __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <typename T> __device__ void swap(T& a, T& b) { T c = a; a = b; b = c; }
template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { typedef T type; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <typename A, typename B> struct is_same { static constexpr bool value = false; };
template <typename A> struct is_same<A, A> { static constexpr bool value = true; };
template <typename A, typename B> constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, typename X, typename Y> struct conditional { typedef X type; };
template <typename X, typename Y> struct conditional<false, X, Y> { typedef Y type; };
template <bool B, typename X, typename Y> using conditional_t = typename conditional<B, X, Y>::type;
using ::fabs;
using ::fabsf;
using ::abs;
using ::sqrt;
using ::sqrtf;
using ::floor;
using ::ceil;
using ::trunc;
using ::fmax;
using ::fmin;
using ::isnan;
using ::isinf;
using ::isfinite;
using ::fma;
using ::rsqrt;
using ::fmaxf;
using ::fminf;
using ::floorf;
using ::ceilf;
using ::copysign;
}

// What kernels take from ATen: accessors of strided tensors and the type of an accumulator.
namespace c10 {}
namespace at {
template <typename T, bool> struct __sym_acc { typedef T type; };
template <typename T, bool B> using acc_type = typename __sym_acc<T, B>::type;
template <typename T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
template <typename T> struct DefaultPtrTraits { typedef T* PtrType; };
template <typename T, int N, typename I> struct __sym_view {
  T* data_;
  const I* sizes_;
  const I* strides_;
  __device__ __sym_view<T, N - 1, I> operator[](I i) const {
    return {data_ + i * strides_[0], sizes_ + 1, strides_ + 1};
  }
  __device__ I size(int d) const { return sizes_[d]; }
};
template <typename T, typename I> struct __sym_view<T, 1, I> {
  T* data_;
  const I* sizes_;
  const I* strides_;
  __device__ T& operator[](I i) const { return data_[i * strides_[0]]; }
  __device__ I size(int d) const { return sizes_[d]; }
};
template <typename T, int N, template <typename> class P = DefaultPtrTraits, typename I = int64_t>
struct GenericPackedTensorAccessor {
  T* data_;
  I sizes_[N];
  I strides_[N];
  __device__ decltype(auto) operator[](I i) const { return __sym_view<T, N, I>{data_, sizes_, strides_}[i]; }
  __device__ I size(int d) const { return sizes_[d]; }
  __device__ I stride(int d) const { return strides_[d]; }
  __device__ T* data() const { return data_; }
};
template <typename T, int N, template <typename> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, P, int32_t>;
template <typename T, int N, template <typename> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, P, int64_t>;
template <typename T, int N, template <typename> class P = DefaultPtrTraits, typename I = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, P, I>;
}
namespace torch = at;
template <typename T> __device__ T gpuAtomicAdd(T* p, T v) { return atomicAdd(p, v); }
