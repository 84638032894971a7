/* The products of cuBLAS that CuPy calls, one element after the other. */
#include <complex.h>
#include <stdlib.h>

typedef long long i64;
extern void host_launched(const char *);

int cublasCreate_v2(void **h) { *h = malloc(8); return 0; }
int cublasDestroy_v2(void *h) { free(h); return 0; }
int cublasSetStream_v2(void *h, void *s) { return 0; }
int cublasGetStream_v2(void *h, void **s) { *s = 0; return 0; }
int cublasSetMathMode(void *h, int mode) { return 0; }
int cublasGetMathMode(void *h, int *mode) { *mode = 0; return 0; }
static int pointers_on_device;
int cublasSetPointerMode_v2(void *h, int mode) { pointers_on_device = mode; return 0; }
int cublasGetPointerMode_v2(void *h, int *mode) { *mode = pointers_on_device; return 0; }
int cublasGetVersion_v2(void *h, int *v) { *v = 120900; return 0; }

/* Matrices lie column by column; an operand is taken as it is (0), transposed (1) or adjoint (2). */
#define PRODUCT(NAME, T, WIDE, CONJUGATE) \
    static WIDE NAME##_at(const T *x, int op, int ld, int i, int j) { \
        WIDE v = op ? x[(i64)i * ld + j] : x[(i64)j * ld + i]; \
        return op == 2 ? CONJUGATE(v) : v; \
    } \
    static void NAME(int ta, int tb, int m, int n, int k, const WIDE *alpha, const T *a, int lda, const T *b, \
                     int ldb, const WIDE *beta, T *c, int ldc) { \
        for (int j = 0; j < n; j++) \
            for (int i = 0; i < m; i++) { \
                WIDE sum = 0; \
                for (int l = 0; l < k; l++) sum += NAME##_at(a, ta, lda, i, l) * NAME##_at(b, tb, ldb, l, j); \
                T *to = c + (i64)j * ldc + i; \
                *to = *beta == 0 ? *alpha * sum : *alpha * sum + *beta * *to; \
            } \
    }
#define SAME(v) (v)
PRODUCT(half, _Float16, float, SAME)
PRODUCT(single, float, float, SAME)
PRODUCT(twice, double, double, SAME)
PRODUCT(complex_single, float complex, float complex, conjf)
PRODUCT(complex_twice, double complex, double complex, conj)

#define GEMM(LETTER, NAME, T) \
    int cublas##LETTER##gemm_v2(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, \
                                const T *b, int ldb, const T *beta, T *c, int ldc) { \
        host_launched("cublas" #LETTER "gemm"); \
        NAME(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
        return 0; \
    } \
    int cublas##LETTER##gemmStridedBatched(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, \
                                           int lda, i64 sa, const T *b, int ldb, i64 sb, const T *beta, T *c, \
                                           int ldc, i64 sc, int count) { \
        host_launched("cublas" #LETTER "gemmStridedBatched"); \
        for (int i = 0; i < count; i++) \
            NAME(ta, tb, m, n, k, alpha, a + i * sa, lda, b + i * sb, ldb, beta, c + i * sc, ldc); \
        return 0; \
    } \
    int cublas##LETTER##gemmBatched(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T **a, \
                                    int lda, const T **b, int ldb, const T *beta, T **c, int ldc, int count) { \
        host_launched("cublas" #LETTER "gemmBatched"); \
        for (int i = 0; i < count; i++) NAME(ta, tb, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc); \
        return 0; \
    } \
    int cublas##LETTER##gemv_v2(void *h, int t, int m, int n, const T *alpha, const T *a, int lda, const T *x, \
                                int incx, const T *beta, T *y, int incy) { \
        host_launched("cublas" #LETTER "gemv"); \
        for (int i = 0; i < (t ? n : m); i++) { \
            T sum = 0; \
            for (int l = 0; l < (t ? m : n); l++) sum += NAME##_at(a, t, lda, i, l) * x[(i64)l * incx]; \
            T *to = y + (i64)i * incy; \
            *to = *beta == 0 ? *alpha * sum : *alpha * sum + *beta * *to; \
        } \
        return 0; \
    }
GEMM(S, single, float)
GEMM(D, twice, double)
GEMM(C, complex_single, float complex)
GEMM(Z, complex_twice, double complex)

#define DOT(NAME, T, CONJUGATE) \
    int NAME(void *h, int n, const T *x, int incx, const T *y, int incy, T *out) { \
        host_launched(#NAME); \
        T sum = 0; \
        for (int i = 0; i < n; i++) sum += CONJUGATE(x[(i64)i * incx]) * y[(i64)i * incy]; \
        *out = sum; \
        return 0; \
    }
DOT(cublasSdot_v2, float, SAME)
DOT(cublasDdot_v2, double, SAME)
DOT(cublasCdotu_v2, float complex, SAME)
DOT(cublasZdotu_v2, double complex, SAME)
DOT(cublasCdotc_v2, float complex, conjf)
DOT(cublasZdotc_v2, double complex, conj)

/* Number types of cudaDataType: 0 float, 1 double, 2 half, 4 and 5 complex. */
int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int at,
                               int lda, i64 sa, const void *b, int bt, int ldb, i64 sb, const void *beta, void *c,
                               int ct, int ldc, i64 sc, int count, int computed, int how) {
    host_launched("cublasGemmStridedBatchedEx");
    if (at != bt || at != ct) abort();
    for (i64 i = 0; i < count; i++) switch (at) {
#define CASE(TYPE, NAME, T) \
    case TYPE: \
        NAME(ta, tb, m, n, k, alpha, (const T *)a + i * sa, lda, (const T *)b + i * sb, ldb, beta, (T *)c + i * sc, ldc); \
        break;
        CASE(0, single, float)
        CASE(1, twice, double)
        CASE(2, half, _Float16)
        CASE(4, complex_single, float complex)
        CASE(5, complex_twice, double complex)
        default: abort();
        }
    return 0;
}
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int at, int lda,
                 const void *b, int bt, int ldb, const void *beta, void *c, int ct, int ldc, int computed, int how) {
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, 1,
                                      computed, how);
}
int cublasSgemmEx(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const void *a, int at, int lda,
                  const void *b, int bt, int ldb, const float *beta, void *c, int ct, int ldc) {
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, 0, 0);
}
