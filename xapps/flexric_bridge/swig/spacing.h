/* Limits the rate of blocks: sending a block costs more than a report in it. */
#ifndef SOJOURN_FLEXRIC_SPACING_H
#define SOJOURN_FLEXRIC_SPACING_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks that may follow one another at once after a pause. */
enum { FX_AT_ONCE = 4 };

/* A token bucket over a monotonic clock. */
typedef struct {
    int64_t between_ns;
    int64_t next_ns; /* when the next is due; may be in the past */
} fx_spacing_t;

/* `per_s` above 0, in the long run. */
void fx_spacing_open(fx_spacing_t *spacing, double per_s);

/* A block was sent. */
void fx_spacing_take(fx_spacing_t *spacing, int64_t now_ns);

#endif
