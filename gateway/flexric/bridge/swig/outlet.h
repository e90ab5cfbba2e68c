/* Sends reports out of the process: blocks on a stream socket, each after its length in bytes as u32,
 * little-endian. A length of 0 marks the end. */
#ifndef SOJOURN_FLEXRIC_OUTLET_H
#define SOJOURN_FLEXRIC_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"

enum {
    FX_BLOCK_HEAD_BYTES = 4,
    /* A larger block would only delay the reports at its end. */
    FX_BLOCK_BYTES = 1 << 20,
};

/* Used by one thread. */
typedef struct {
    int socket;
    fx_ring_t *ring;
    uint8_t *block; /* the block being sent */
    size_t sent, filled;
} fx_outlet_t;

/* False without memory. */
bool fx_outlet_open(fx_outlet_t *outlet, int socket, fx_ring_t *ring);
void fx_outlet_free(fx_outlet_t *outlet);

/* Writes queued reports as far as the socket accepts them without blocking; the rest stays queued. */
void fx_outlet_hand_over(fx_outlet_t *outlet);

/* Whether reports are queued. */
bool fx_outlet_waits(fx_outlet_t *outlet);

/* Writes all queued reports, however long that takes, and the end mark. */
void fx_outlet_finish(fx_outlet_t *outlet);

/* Limits the rate of blocks by a token bucket over a monotonic clock: sending a block costs more than a
 * report in it. */
typedef struct {
    int64_t between_ns;
    int64_t next_ns; /* when the next is due; may be in the past */
} fx_spacing_t;

/* Blocks that may follow one another at once after a pause. */
enum { FX_AT_ONCE = 4 };

/* `per_s` above 0, in the long run. */
void fx_spacing_open(fx_spacing_t *spacing, double per_s);

/* A block was sent. */
void fx_spacing_take(fx_spacing_t *spacing, int64_t now_ns);

#endif
