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

#endif
