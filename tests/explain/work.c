/* Does the same work in each round, but for what CHANGE adds; prints how long all of it took. scripts/explain-quality compiles it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NONE, FUNCTION, CALL, LOCK, FAULT };

#define WORK(name, step)                                        \
    __attribute__((noinline)) static unsigned long name(unsigned times) { \
        unsigned long sum = 1;                                  \
        for (unsigned i = 0; i < times; i++) {                  \
            sum = step;                                         \
            __asm__ volatile("" ::: "memory");                  \
        }                                                       \
        return sum;                                             \
    }

WORK(parse, sum * 31 + i)
WORK(digest, (sum ^ i) * 0x9E3779B97F4A7C15ul)
WORK(print, sum / 3 + i * 7)

static volatile unsigned long result;
static volatile int is_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Holds the lock half of the time. */
static void *holds(void *unused) {
    while (!is_done) {
        pthread_mutex_lock(&lock);
        usleep(50);
        pthread_mutex_unlock(&lock);
        usleep(50);
    }
    return unused;
}

int main(int count, char **words) {
    unsigned rounds = count > 1 ? atoi(words[1]) : 1000;
    struct timespec from, until;
    pthread_t thread;
    if (CHANGE == LOCK)
        pthread_create(&thread, NULL, holds, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned round = 0; round < rounds; round++) {
        result += parse(6000);
        result += digest(CHANGE == FUNCTION ? 13200 : 12000);
        result += print(1000);
        if (CHANGE == CALL)
            result += syscall(SYS_getppid);
        if (CHANGE == LOCK && round % 16 == 0) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
        if (CHANGE == FAULT) {
            char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *page = 1;
            munmap(page, 4096);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    is_done = 1;
    if (CHANGE == LOCK)
        pthread_join(thread, NULL);
    printf("time %.6f\n", (until.tv_sec - from.tv_sec) + (until.tv_nsec - from.tv_nsec) / 1e9);
    return 0;
}
