/* The CUDA runtime and driver, as far as CuPy calls them, over host memory.

   Device memory is host memory, a stream does at once what it is asked for, and a kernel is a
   function of a shared library that was compiled from its text for the host (kernel.h). Launches,
   waits and copies are counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef unsigned long long u64;
enum { OUT_OF_MEMORY = 2 };

/* -- counters ------------------------------------------------------------------------------ */
enum { LAUNCHES, WAITS, TO_HOST, TO_DEVICE, ON_DEVICE, ALLOCATIONS, FILLS, COUNTERS };
static long counters[COUNTERS];
static void (*watcher)(const char *);

void host_counters(long *out, int reset) {
    memcpy(out, counters, sizeof counters);
    if (reset) memset(counters, 0, sizeof counters);
}
/* Python learns the name of every launch and wait while it watches. */
void host_watch(void (*f)(const char *)) { watcher = f; }
void host_launched(const char *name) {
    counters[LAUNCHES]++;
    if (watcher) watcher(name);
}
static int waited(const char *name) {
    counters[WAITS]++;
    if (watcher) watcher(name);
    return 0;
}

/* Python learns of each launch, copy, record and wait in a stream while it watches the streams. */
static void (*stream_watcher)(const char *, void *, void *);
void host_watch_streams(void (*f)(const char *, void *, void *)) { stream_watcher = f; }
static int in_stream(const char *what, void *stream, void *event) {
    if (stream_watcher) stream_watcher(what, stream, event);
    return 0;
}

/* -- devices ------------------------------------------------------------------------------- */
static __thread int current;
static int devices = 1, capability = 90;
void host_machine(int count, int compute_capability) {
    devices = count;
    capability = compute_capability;
}
int cudaGetDeviceCount(int *n) { *n = devices; return devices ? 0 : 100; }
int cudaGetDevice(int *d) { *d = current; return 0; }
int cudaSetDevice(int d) { current = d; return 0; }
int cudaDriverGetVersion(int *v) { *v = 12090; return 0; }
int cudaRuntimeGetVersion(int *v) { *v = 12090; return 0; }
int cudaDeviceGetAttribute(int *v, int attribute, int d) {
    switch (attribute) {
    case 75: *v = capability / 10; break;
    case 76: *v = capability % 10; break;
    case 10: *v = 32; break;     /* threads of a warp */
    case 16: *v = 132; break;    /* multiprocessors */
    case 39: *v = 2048; break;   /* threads of one */
    case 8: *v = 49152; break;   /* shared memory of a block */
    case 97: *v = 232448; break; /* where it asks for more */
    case 115: *v = 1; break;     /* memory pools */
    default: *v = 1024;
    }
    return 0;
}
int cudaGetDeviceProperties(char *p, int d) {
    memset(p, 0, 700);
    strcpy(p, "host memory");
    *(long *)(p + 288) = 1L << 36; /* its memory */
    *(long *)(p + 296) = 49152;
    *(int *)(p + 304) = 65536;
    *(int *)(p + 308) = 32;
    *(int *)(p + 360) = capability / 10;
    *(int *)(p + 364) = capability % 10;
    return 0;
}
int cudaDeviceSynchronize(void) { return waited("cudaDeviceSynchronize"); }
int cudaDeviceCanAccessPeer(int *v, int a, int b) { *v = 1; return 0; }
int cudaDeviceEnablePeerAccess(int d, unsigned f) { return 0; }
int cudaGetLastError(void) { return 0; }
int cudaPeekAtLastError(void) { return 0; }
const char *cudaGetErrorName(int e) { return e == OUT_OF_MEMORY ? "cudaErrorMemoryAllocation" : "cudaError"; }
const char *cudaGetErrorString(int e) { return e == OUT_OF_MEMORY ? "out of memory" : "an error"; }

/* -- memory -------------------------------------------------------------------------------- */
/* Allocations are parts of one file without a name, so that other processes can map them. */
typedef struct allocation { char *start; size_t size; off_t offset; struct allocation *next; } allocation;
static allocation *allocations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file_of_memory = -1;
static off_t file_end;
int cudaMalloc(void **p, size_t n) {
    counters[ALLOCATIONS]++;
    *p = 0;
    if (n > 1UL << 36) return OUT_OF_MEMORY;
    size_t size = (n + 4096) & ~4095UL;
    allocation *made = malloc(sizeof *made);
    pthread_mutex_lock(&lock);
    if (file_of_memory < 0) file_of_memory = memfd_create("device memory", MFD_CLOEXEC);
    off_t offset = file_end;
    char *start = MAP_FAILED;
    if (!ftruncate(file_of_memory, offset + size)) {
        file_end += size;
        start = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_of_memory, offset);
    }
    if (start != MAP_FAILED) {
        *made = (allocation){start, size, offset, allocations};
        allocations = made;
    }
    pthread_mutex_unlock(&lock);
    if (start == MAP_FAILED) { free(made); return OUT_OF_MEMORY; }
    memset(start, 0xA5, n); /* whoever reads what nobody wrote is seen */
    *p = start;
    return 0;
}
static allocation *allocation_at(u64 p) {
    for (allocation *a = allocations; a; a = a->next)
        if ((u64)a->start <= p && p < (u64)a->start + a->size) return a;
    return 0;
}
int cudaMallocAsync(void **p, size_t n, void *s) { return cudaMalloc(p, n); }
int cudaFree(void *p) {
    pthread_mutex_lock(&lock);
    for (allocation **at = &allocations; *at; at = &(*at)->next)
        if ((*at)->start == p) {
            allocation *gone = *at;
            *at = gone->next;
            munmap(gone->start, gone->size);
            fallocate(file_of_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, gone->offset, gone->size);
            free(gone);
            break;
        }
    pthread_mutex_unlock(&lock);
    return 0;
}
int cudaFreeAsync(void *p, void *s) { return cudaFree(p); }
int cuMemGetAddressRange_v2(u64 *start, size_t *size, u64 p) {
    pthread_mutex_lock(&lock);
    allocation *found = allocation_at(p);
    if (found) { *start = (u64)found->start; *size = found->size; }
    pthread_mutex_unlock(&lock);
    return found ? 0 : 1;
}
typedef struct { long process, file; off_t offset; size_t size; char rest[32]; } memory_handle;
int cudaIpcGetMemHandle(memory_handle *h, void *p) {
    pthread_mutex_lock(&lock);
    allocation *found = allocation_at((u64)p);
    if (found) *h = (memory_handle){getpid(), file_of_memory, found->offset, found->size, {0}};
    pthread_mutex_unlock(&lock);
    return found ? 0 : 1;
}
static struct { char *start; size_t size; } opened[256];
int cudaIpcOpenMemHandle(void **p, memory_handle h, unsigned f) {
    char path[64];
    if (h.process == getpid()) return 201; /* as CUDA: not in the process that allocated it */
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", h.process, h.file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return 400;
    *p = mmap(0, h.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, h.offset);
    close(file);
    if (*p == MAP_FAILED) return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 256; i++)
        if (!opened[i].start) { opened[i].start = *p; opened[i].size = h.size; break; }
    pthread_mutex_unlock(&lock);
    return 0;
}
int cudaIpcCloseMemHandle(void *p) {
    pthread_mutex_lock(&lock);
    int failed = 400;
    for (int i = 0; i < 256; i++)
        if (opened[i].start == p) { munmap(p, opened[i].size); opened[i].start = 0; failed = 0; break; }
    pthread_mutex_unlock(&lock);
    return failed;
}
int cudaHostAlloc(void **p, size_t n, unsigned f) { *p = malloc(n ? n : 1); return *p ? 0 : OUT_OF_MEMORY; }
int cudaFreeHost(void *p) { free(p); return 0; }
int cudaMemGetInfo(size_t *left, size_t *all) { *left = *all = 1UL << 36; return 0; }
static int copied(void *to, const void *from, size_t n, int kind) {
    counters[kind == 1 ? TO_DEVICE : kind == 2 ? TO_HOST : ON_DEVICE]++;
    memmove(to, from, n);
    return 0;
}
int cudaMemcpy(void *to, const void *from, size_t n, int kind) {
    copied(to, from, n, kind);
    return waited("cudaMemcpy");
}
int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *s) {
    in_stream("copy", s, 0);
    return copied(to, from, n, kind);
}
int cudaMemcpyPeerAsync(void *to, int a, const void *from, int b, size_t n, void *s) { return copied(to, from, n, 3); }
int cudaMemcpyPeer(void *to, int a, const void *from, int b, size_t n) { return copied(to, from, n, 3); }
int cudaMemset(void *p, int v, size_t n) { counters[FILLS]++; memset(p, v, n); return 0; }
int cudaMemsetAsync(void *p, int v, size_t n, void *s) { return cudaMemset(p, v, n); }
typedef struct { int type, device; void *on_device, *on_host; } attributes;
int cudaPointerGetAttributes(attributes *a, const void *p) {
    *a = (attributes){2, 0, (void *)p, 0};
    return 0;
}

/* -- streams and events -------------------------------------------------------------------- */
typedef struct { struct timespec at; } event;
int cudaStreamCreate(void **s) { *s = malloc(8); return 0; }
int cudaStreamCreateWithFlags(void **s, unsigned f) { return cudaStreamCreate(s); }
int cudaStreamCreateWithPriority(void **s, unsigned f, int p) { return cudaStreamCreate(s); }
int cudaStreamDestroy(void *s) { free(s); return 0; }
int cudaStreamSynchronize(void *s) {
    in_stream("synchronize", s, 0);
    return waited("cudaStreamSynchronize");
}
int cudaStreamQuery(void *s) { return 0; }
int cudaStreamIsCapturing(void *s, int *v) { *v = 0; return 0; }
int cudaStreamGetDevice(void *s, int *d) { *d = current; return 0; }
int cudaStreamWaitEvent(void *s, void *e, unsigned f) { return in_stream("wait", s, e); }
int cudaEventCreate(void **e) { *e = calloc(1, sizeof(event)); return 0; }
int cudaEventCreateWithFlags(void **e, unsigned f) { return cudaEventCreate(e); }
int cudaEventDestroy(void *e) { free(e); return 0; }
int cudaEventRecord(void *e, void *s) {
    clock_gettime(CLOCK_MONOTONIC, &((event *)e)->at);
    return in_stream("record", s, e);
}
int cudaEventQuery(void *e) { return 0; }
int cudaEventSynchronize(void *e) { return waited("cudaEventSynchronize"); }
int cudaEventElapsedTime(float *ms, void *a, void *b) {
    struct timespec from = ((event *)a)->at, to = ((event *)b)->at;
    *ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
    return 0;
}

/* -- the driver: modules and launches ------------------------------------------------------ */
typedef void (*entry)(const unsigned *grid, const unsigned *block, void **parameters);
typedef struct { entry run; char name[256]; } function;

int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int *v) { *v = 12090; return 0; }
int cuCtxGetCurrent(void **c) { *c = (void *)8; return 0; }
int cuCtxSetCurrent(void *c) { return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)8; return 0; }
int cuDevicePrimaryCtxRelease(int d) { return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
/* An image is the word HOSTCODE, its size and a shared library (compiler.py). */
int cuModuleLoadData(void **module, const char *image) {
    if (memcmp(image, "HOSTCODE", 8)) return 200;
    u64 size;
    memcpy(&size, image + 8, 8);
    char path[64];
    int file = memfd_create("kernel", 0);
    if (file < 0 || write(file, image + 16, size) != (ssize_t)size) return 999;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*module) fprintf(stderr, "%s\n", dlerror());
    /* The file stays open: the loader takes two libraries of one path and inode for the same. */
    return *module ? 0 : 209;
}
int cuModuleUnload(void *module) { return 0; }
int cuModuleGetFunction(void **f, void *module, const char *name) {
    char symbol[300];
    snprintf(symbol, sizeof symbol, "host_run_%s", name);
    entry run = (entry)dlsym(module, symbol);
    if (!run) return 500;
    function *made = calloc(1, sizeof *made);
    made->run = run;
    strncpy(made->name, name, sizeof made->name - 1);
    *f = made;
    return 0;
}
int cuFuncGetAttribute(int *v, int attribute, void *f) { *v = attribute == 0 ? 1024 : 0; return 0; }
int cuFuncSetAttribute(void *f, int attribute, int v) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int block, size_t shared) { *n = 2; return 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    host_launched(((function *)f)->name);
    in_stream("launch", stream, 0);
    ((function *)f)->run(grid, block, parameters);
    return 0;
}
int cuGetErrorName(int e, const char **n) { *n = "CUDA_ERROR"; return 0; }
int cuGetErrorString(int e, const char **n) { *n = "an error of the host's stand-in"; return 0; }

/* -- kernels that CuPy's own libraries hold as machine code: only counted ------------------ */
static __thread struct { size_t shared; void *stream; } pushed;
unsigned __cudaPushCallConfiguration(u64 g, unsigned gz, u64 b, unsigned bz, size_t shared, void *stream) {
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}
int __cudaPopCallConfiguration(unsigned *g, unsigned *b, size_t *shared, void **stream) {
    g[0] = g[1] = g[2] = b[0] = b[1] = b[2] = 1;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return 0;
}
static int foreign(void) { host_launched("machine code"); return 0; }
int cudaLaunchKernel(const void *f, u64 g, unsigned gz, u64 b, unsigned bz, void **a, size_t s, void *st) { return foreign(); }
int __cudaLaunchKernel(void *f, u64 g, unsigned gz, u64 b, unsigned bz, void **a, size_t s, void *st) { return foreign(); }
int cudaLaunchKernelExC(const void *c, const void *f, void **a) { return foreign(); }
int __cudaGetKernel(void **k, const void *f) { *k = (void *)f; return 0; }
int cudaFuncGetAttributes(int *a, const void *f) {
    memset(a, 0, 144);
    ((long *)a)[0] = 1024;
    a[6] = 1024;
    a[7] = 32;
    a[8] = a[9] = capability;
    return 0;
}
int cudaFuncSetAttribute(const void *f, int attribute, int v) { return 0; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int b, size_t s) { *n = 2; return 0; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int b, size_t s, unsigned fl) { *n = 2; return 0; }

/* -- the threads of a block, which wait for each other at __syncthreads --------------------- */
enum { STACK = 64 * 1024 };
static ucontext_t scheduler, fibers[1024];
static char *stacks;
static int running, ended[1024];
static void (*thread_body)(int);

static void fiber(int t) {
    thread_body(t);
    ended[t] = 1;
    swapcontext(&fibers[t], &scheduler);
}
/* Runs body(0 .. count - 1) so that each goes on from a barrier when all others have come to it. */
void host_block(int count, void (*body)(int), void (*enter)(int)) {
    if (!stacks) stacks = malloc((size_t)STACK * 1024);
    thread_body = body;
    for (int t = 0; t < count; t++) {
        ended[t] = 0;
        getcontext(&fibers[t]);
        fibers[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
        fibers[t].uc_stack.ss_size = STACK;
        fibers[t].uc_link = 0;
        makecontext(&fibers[t], (void (*)(void))fiber, 1, t);
    }
    for (int left = count; left;) {
        left = 0;
        for (int t = 0; t < count; t++) {
            if (ended[t]) continue;
            running = t;
            enter(t);
            swapcontext(&scheduler, &fibers[t]);
            left += !ended[t];
        }
    }
}
void host_barrier(void) { swapcontext(&fibers[running], &scheduler); }
