// The names that ATen gives to the half types; after cuda_fp16.h and cuda_bf16.h.
namespace c10 {
typedef __half Half;
typedef __nv_bfloat16 BFloat16;
}
namespace at {
typedef __half Half;
typedef __nv_bfloat16 BFloat16;
template <bool B> struct __sym_acc<__half, B> { typedef float type; };
template <bool B> struct __sym_acc<__nv_bfloat16, B> { typedef float type; };
}
