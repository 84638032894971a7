"""C for the host as a dialect of the kernel generator: the definitions before every kernel.

Write your language's words in the place of C's. The docstring of
``tensorbus.plugin.kernel_language.Dialect`` says what each name stands for. The compiler must round
as IEEE says: no fast-math, no contraction to fused multiply-add.
"""

PRELUDE = r"""
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

/* Types. Halves are loaded, stored and passed by pointer only; here they are not claimed. */
typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64;
typedef uint8_t u8; typedef uint32_t u32; typedef uint64_t u64;
typedef float f32; typedef double f64; typedef uint16_t f16;

/* Qualifiers: of a kernel, of a pointer to device memory, of a helper function. */
#define KERNEL
#define GLOBAL
#define FUNCTION static inline

/* The number of the work item in the first and second dimension; driver.py counts them. */
static i64 ITEM, ROW;

/* The same bits in another type. */
static inline u32 BITS32(f32 x) { u32 u; memcpy(&u, &x, 4); return u; }
static inline u64 BITS64(f64 x) { u64 u; memcpy(&u, &x, 8); return u; }
static inline f32 FLOAT32(u32 u) { f32 x; memcpy(&x, &u, 4); return x; }
static inline f64 FLOAT64(u64 u) { f64 x; memcpy(&x, &u, 8); return x; }

/* The high half of a product; compare and swap, giving what was there. */
#define MULHI(a, b) ((u64)(((unsigned __int128)(a) * (b)) >> 64))
#define CAS32(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define CAS64(p, old, new) __sync_val_compare_and_swap(p, old, new)

/* Vectors of floats, for matrix products: one float each, until you say otherwise. */
typedef float VECTOR;
#define VLOAD(p) (*(p))
#define VSTORE(p, v) (*(p) = (v))
#define SPLAT(x) (x)
#define MULADD(a, b, c) ((a) * (b) + (c))
"""
