// What OpenBLAS asks of its surroundings, for the private library that holds it (cmake/openblas.cmake).
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// OpenBLAS looks up its settings when it is loaded, and only those. They are ours to make: the environment's are meant
// for the OpenBLAS of others (numpy's), and a CPU that this release does not know would get the slowest kernels.
char* __wrap_getenv(const char* name);
char* __wrap_getenv(const char* name) {
  if (strcmp(name, "OPENBLAS_CORETYPE") != 0) return NULL;
#if defined(__x86_64__)
  const char* most = getenv("UPDRAFT_MAX_ISA");
  const int lowest = most && (strcmp(most, "v2") == 0 || strcmp(most, "reference") == 0);
  const int middle = most && strcmp(most, "v3") == 0;
  __builtin_cpu_init();
  if (lowest || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return (char*)"Nehalem";
  if (middle || !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512cd"))
    return (char*)"Haswell";
  return (char*)"SkylakeX";
#else
  return NULL;
#endif
}

#if defined(__x86_64__)
// Kernels for CPUs that the three above serve as well: with names to refer to, the linker leaves the kernels out.
#define LEFT_OUT(core) \
  extern char gotoblas_##core; \
  char gotoblas_##core;
LEFT_OUT(PRESCOTT)
LEFT_OUT(CORE2)
LEFT_OUT(PENRYN)
LEFT_OUT(DUNNINGTON)
LEFT_OUT(OPTERON)
LEFT_OUT(OPTERON_SSE3)
LEFT_OUT(BARCELONA)
LEFT_OUT(BOBCAT)
LEFT_OUT(ATOM)
LEFT_OUT(NANO)
LEFT_OUT(SANDYBRIDGE)
LEFT_OUT(BULLDOZER)
LEFT_OUT(PILEDRIVER)
LEFT_OUT(STEAMROLLER)
LEFT_OUT(EXCAVATOR)
LEFT_OUT(ZEN)
LEFT_OUT(COOPERLAKE)
LEFT_OUT(SAPPHIRERAPIDS)
#endif

// Its OpenMP regions run in the threads of the device (src/base/openmp.cpp). Whoever links this library defines these; weak,
// since the linker wants all others to be defined here.
#define THEIRS(result, name, ...) extern result updraft_##name(__VA_ARGS__) __attribute__((weak))
THEIRS(void, GOMP_parallel, void (*function)(void*), void* data, unsigned threads, unsigned flags);
THEIRS(int, omp_get_max_threads, void);
THEIRS(int, omp_get_num_threads, void);
THEIRS(int, omp_get_thread_num, void);
THEIRS(int, omp_in_parallel, void);

void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  updraft_GOMP_parallel(function, data, threads, flags);
}
#define HANDED_ON(name) \
  int name(void);       \
  int name(void) { return updraft_##name(); }
HANDED_ON(omp_get_max_threads)
HANDED_ON(omp_get_num_threads)
HANDED_ON(omp_get_thread_num)
HANDED_ON(omp_in_parallel)
int omp_get_num_places(void);
int omp_get_num_places(void) { return 0; }  // asked when the library is loaded: counted by other means then
void omp_set_num_threads(int threads);
void omp_set_num_threads(int threads) { (void)threads; }  // it asks for the number before each piece of work

// The one function of the Fortran runtime that LAPACK's routines here call: dest = a // b, padded with blanks.
void _gfortran_concat_string(size_t size, char* dest, size_t a_size, const char* a, size_t b_size, const char* b);
void _gfortran_concat_string(size_t size, char* dest, size_t a_size, const char* a, size_t b_size, const char* b) {
  const size_t first = a_size < size ? a_size : size;
  const size_t second = b_size < size - first ? b_size : size - first;
  memcpy(dest, a, first);
  memcpy(dest + first, b, second);
  memset(dest + first + second, ' ', size - first - second);
}
