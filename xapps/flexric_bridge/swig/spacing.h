/* So that what comes often is handed on together: a hand-over costs more than what is in it. */
#ifndef SOJOURN_FLEXRIC_SPACING_H
#define SOJOURN_FLEXRIC_SPACING_H

#include <stdbool.h>
#include <stdint.h>

/* Hand-overs that may follow one another at once after a rest. */
enum { FX_AT_ONCE = 4 };

/* A token bucket over a clock that is never set. */
typedef struct {
    int64_t between_ns;
    int64_t next_ns; /* when the next is due; it may have been for long */
} fx_spacing_t;

/* `per_s` above 0, in the long run. */
void fx_spacing_open(fx_spacing_t *spacing, double per_s);

/* There was one. */
void fx_spacing_take(fx_spacing_t *spacing, int64_t now_ns);

#endif
