/* Queue of reports: bounded, the oldest are dropped first.
 *
 * FlexRIC's own queue is unbounded: a reader that stops would exhaust the memory of the process.
 */
#ifndef SOJOURN_FLEXRIC_RING_H
#define SOJOURN_FLEXRIC_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reports.h"

/* Subscriptions that can have losses counted at a time. */
enum { FX_RING_HANDLES = 256 };

typedef struct {
    uint32_t handle, lost;
} fx_losses_t;

typedef struct {
    uint8_t *bytes;
    size_t capacity, first, used;
    fx_losses_t losses[FX_RING_HANDLES];
    int with_losses;
    pthread_mutex_t mutex;
} fx_ring_t;

/* False without memory. */
bool fx_ring_open(fx_ring_t *ring, size_t capacity_bytes);
void fx_ring_free(fx_ring_t *ring);

/* Appends a record; makes room by dropping the oldest. A record larger than the ring is lost. */
void fx_ring_push(fx_ring_t *ring, fx_record_head_t head, const uint8_t *message);

/* Moves whole records to `out`, at most `room` bytes, oldest first; returns the bytes moved. A record
 * that does not fit `room` stays. */
size_t fx_ring_take(fx_ring_t *ring, uint8_t *out, size_t room);
bool fx_ring_is_empty(fx_ring_t *ring);

/* Drops the loss count of a subscription that ended. */
void fx_ring_forget(fx_ring_t *ring, uint32_t handle);

#endif
