/* Reports on their way out of the process: blocks on a stream socket, each behind its length in bytes
 * as u32, little-endian. A length of 0 says that no more will come. */
#ifndef SOJOURN_FLEXRIC_OUTLET_H
#define SOJOURN_FLEXRIC_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"

enum {
    FX_BLOCK_HEAD_BYTES = 4,
    /* A larger block would only delay what is at its end. */
    FX_BLOCK_BYTES = 1 << 20,
};

/* Of one thread. */
typedef struct {
    int socket;
    fx_ring_t *ring;
    uint8_t *block; /* the one on its way */
    size_t sent, filled;
} fx_outlet_t;

/* False without memory. */
bool fx_outlet_open(fx_outlet_t *outlet, int socket, fx_ring_t *ring);
void fx_outlet_free(fx_outlet_t *outlet);

/* Writes what waits in the ring as far as the socket takes it at once; the rest stays for the next
 * time. */
void fx_outlet_hand_over(fx_outlet_t *outlet);

/* Whether something waits. */
bool fx_outlet_waits(fx_outlet_t *outlet);

/* Writes all that waits, however long that takes, and that it was all. */
void fx_outlet_finish(fx_outlet_t *outlet);

#endif
