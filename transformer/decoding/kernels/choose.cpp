// Chooses the variant of the kernels by the features that the processor reports.

#include <cstring>

#include "kernels.h"
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

extern const Variant generic, avx2, avxvnni, avx512, avx512vnni, amx, neon, neondot;

namespace {

struct Candidate {
    const Variant* variant;
    bool runs;
};

#if defined(__x86_64__)
// Returns a bit of CPUID, for features that __builtin_cpu_supports lacks in some compilers.
bool cpuid(unsigned leaf, unsigned subleaf, int index, int bit) {
    unsigned registers[4];
    return __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2],
                             &registers[3]) &&
           (registers[index] >> bit & 1);
}

// Linux lets a process use the registers of the matrix unit only after a request.
bool matrix_unit_granted() {
#if defined(__linux__)
    constexpr int REQUEST = 0x1023, TILE_DATA = 18;
    return cpuid(7, 0, 3, 24) && cpuid(7, 0, 3, 25) &&
           syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}
#endif

}  // namespace

const Variant* choose(const char* name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2_runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                           cpuid(1, 0, 2, 29);
    const bool avx512_runs = avx2_runs && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vl");
    const bool vnni_runs = avx512_runs && __builtin_cpu_supports("avx512vnni");
    const Candidate candidates[] = {
#if LATE
        {&amx, vnni_runs && matrix_unit_granted()},
#endif
        {&avx512vnni, vnni_runs},
        {&avx512, avx512_runs},
#if LATE
        {&avxvnni, avx2_runs && cpuid(7, 1, 0, 4)},
#endif
        {&avx2, avx2_runs},
        {&generic, true},
    };
#elif defined(__aarch64__)
#if defined(__linux__)
    const bool dot_runs = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#else
    const bool dot_runs = true;  // all of Apple's processors have it
#endif
    const Candidate candidates[] = {{&neondot, dot_runs}, {&neon, true}, {&generic, true}};
#else
    const Candidate candidates[] = {{&generic, true}};
#endif
    for (const Candidate& candidate : candidates)
        if (candidate.runs && (!name || !std::strcmp(name, candidate.variant->name)))
            return candidate.variant;
    return nullptr;
}
