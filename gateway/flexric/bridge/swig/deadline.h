/* Points in time by CLOCK_MONOTONIC. */
#ifndef SOJOURN_FLEXRIC_DEADLINE_H
#define SOJOURN_FLEXRIC_DEADLINE_H

#include <time.h>

/* `timeout_ms` from now, by CLOCK_MONOTONIC. */
static inline struct timespec fx_after_ms(int timeout_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec += 1;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

#endif
