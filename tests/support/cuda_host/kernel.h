/* CUDA C++ as the host's C++: what stands before the text of every kernel.

   One thread runs after the other. A kernel that strides over the grid (CuPy's CUPY_FOR) does all
   its work in one thread; where threads meet at a barrier, each is a fiber (device.c). */
#include <cassert>
#include <cfloat>
#include <climits>
#include <math.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#define __device__
#define __host__
#define __global__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __restrict__ __restrict
#define __launch_bounds__(...)

struct host_index {
    unsigned x, y, z;
};
static host_index threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

/* Where a kernel says "extern __shared__" (compiler.py). */
alignas(16) static char host_shared[232448];

extern "C" void host_barrier(void);
extern "C" void host_block(int count, void (*body)(int), void (*enter)(int));
#define __syncthreads() host_barrier()
#define __syncwarp(...) host_barrier()
#define __threadfence()

using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
static inline float rsqrt(float x) { return 1 / std::sqrt(x); }
static inline double rsqrt(double x) { return 1 / std::sqrt(x); }

template <class To, class From> static inline To host_bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline int __float_as_int(float x) { return host_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return host_bits<unsigned>(x); }
static inline float __int_as_float(int u) { return host_bits<float>(u); }
static inline float __uint_as_float(unsigned u) { return host_bits<float>(u); }
static inline long long __double_as_longlong(double x) { return host_bits<long long>(x); }
static inline double __longlong_as_double(long long u) { return host_bits<double>(u); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }

template <class T> static inline T host_exchange(T *p, T made) {
    T was = *p;
    *p = made;
    return was;
}
template <class T> static inline T atomicCAS(T *p, T old, T made) {
    return *p == old ? host_exchange(p, made) : *p;
}
template <class T> static inline T atomicExch(T *p, T made) { return host_exchange(p, made); }
#define HOST_ATOMIC_ADD(T, U) \
    static inline T atomicAdd(T *p, T v) { return host_exchange(p, (T)((U)*p + (U)v)); }
HOST_ATOMIC_ADD(int, unsigned)
HOST_ATOMIC_ADD(unsigned, unsigned)
HOST_ATOMIC_ADD(unsigned long long, unsigned long long)
HOST_ATOMIC_ADD(float, float)
HOST_ATOMIC_ADD(double, double)

/* host_run_NAME calls the kernel NAME for all its threads; HOST_ONE and HOST_FIBERS say how. */
template <class... A, size_t... I>
static void host_call(void (*f)(A...), void **p, std::index_sequence<I...>) {
    f(*(std::remove_cv_t<A> *)p[I]...);
}
template <class... A> static void host_call(void (*f)(A...), void **p) {
    host_call(f, p, std::index_sequence_for<A...>());
}
#define HOST_ONE(NAME, ...) \
    extern "C" void host_run_##NAME(const unsigned *g, const unsigned *b, void **p) { \
        blockDim = gridDim = {1, 1, 1}; \
        host_call(__VA_ARGS__, p); \
    }
static void **host_parameters;
static inline void host_enter(int t) {
    threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
}
#define HOST_FIBERS(NAME, ...) \
    static void host_thread_##NAME(int t) { host_call(__VA_ARGS__, host_parameters); } \
    extern "C" void host_run_##NAME(const unsigned *g, const unsigned *b, void **p) { \
        gridDim = {g[0], g[1], g[2]}; \
        blockDim = {b[0], b[1], b[2]}; \
        host_parameters = p; \
        for (unsigned z = 0; z < g[2]; z++) \
            for (unsigned y = 0; y < g[1]; y++) \
                for (unsigned x = 0; x < g[0]; x++) { \
                    blockIdx = {x, y, z}; \
                    host_block(b[0] * b[1] * b[2], host_thread_##NAME, host_enter); \
                } \
    }
