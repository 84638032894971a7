/* NVIDIA's half, on the host's. */
#pragma once

struct __half_raw {
    unsigned short x;
};

struct __half {
    _Float16 value;
    __half() = default;
    __half(float v) : value(v) {}
    __half(const __half_raw &v) : value(host_bits<_Float16>(v.x)) {}
    explicit __half(bool v) : value(v) {}
    explicit __half(double v) : value(v) {}
    explicit __half(int v) : value(v) {}
    explicit __half(unsigned v) : value(v) {}
    explicit __half(long long v) : value(v) {}
    explicit __half(unsigned long long v) : value(v) {}
    operator float() const { return value; }
    operator __half_raw() const { return {host_bits<unsigned short>(value)}; }
};
typedef __half half;

static inline unsigned short __half_as_ushort(half v) { return host_bits<unsigned short>(v.value); }
static inline half __ushort_as_half(unsigned short u) { return half(__half_raw{u}); }
