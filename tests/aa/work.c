// A program that counts: WORK percent of its loop.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    uint64_t loops = argc > 1 ? strtoull(argv[1], 0, 10) : 4000000, x = 88172645463325252u;
    for (uint64_t i = 0; i < loops * WORK / 100; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    printf("%llu\n", (unsigned long long)x);
}
