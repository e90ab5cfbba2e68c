#include "ring.h"

#include <stdlib.h>
#include <string.h>

bool fx_ring_open(fx_ring_t *ring, size_t capacity_bytes)
{
    memset(ring, 0, sizeof *ring);
    ring->bytes = malloc(capacity_bytes);
    ring->capacity = capacity_bytes;
    pthread_mutex_init(&ring->mutex, NULL);
    return ring->bytes != NULL;
}

void fx_ring_free(fx_ring_t *ring)
{
    free(ring->bytes);
    pthread_mutex_destroy(&ring->mutex);
}

/* Copies in and out of the ring, around its end. */
static void put(fx_ring_t *ring, size_t at, const void *from, size_t bytes)
{
    at %= ring->capacity;
    const size_t run = bytes < ring->capacity - at ? bytes : ring->capacity - at;
    memcpy(ring->bytes + at, from, run);
    memcpy(ring->bytes, (const uint8_t *)from + run, bytes - run);
}

static void get(const fx_ring_t *ring, size_t at, void *to, size_t bytes)
{
    at %= ring->capacity;
    const size_t run = bytes < ring->capacity - at ? bytes : ring->capacity - at;
    memcpy(to, ring->bytes + at, run);
    memcpy((uint8_t *)to + run, ring->bytes, bytes - run);
}

/* NULL if there are none. */
static fx_losses_t *losses_of(fx_ring_t *ring, uint32_t handle)
{
    for (int i = 0; i < ring->with_losses; ++i)
        if (ring->losses[i].handle == handle)
            return &ring->losses[i];
    return NULL;
}

static void count_loss(fx_ring_t *ring, uint32_t handle)
{
    fx_losses_t *losses = losses_of(ring, handle);
    if (losses == NULL && ring->with_losses < FX_RING_HANDLES) {
        losses = &ring->losses[ring->with_losses++];
        *losses = (fx_losses_t){.handle = handle};
    }
    if (losses != NULL)
        ++losses->lost;
}

static uint32_t take_losses(fx_ring_t *ring, uint32_t handle)
{
    fx_losses_t *losses = losses_of(ring, handle);
    if (losses == NULL)
        return 0;
    const uint32_t lost = losses->lost;
    *losses = ring->losses[--ring->with_losses];
    return lost;
}

static fx_record_head_t oldest(const fx_ring_t *ring)
{
    uint8_t bytes[FX_RECORD_HEAD_BYTES];
    get(ring, ring->first, bytes, sizeof bytes);
    return fx_get_record_head(bytes);
}

static void remove_oldest(fx_ring_t *ring, size_t bytes)
{
    ring->first = (ring->first + bytes) % ring->capacity;
    ring->used -= bytes;
}

void fx_ring_push(fx_ring_t *ring, fx_record_head_t head, const uint8_t *message)
{
    const size_t bytes = FX_RECORD_HEAD_BYTES + (size_t)head.bytes;
    uint8_t packed[FX_RECORD_HEAD_BYTES];

    pthread_mutex_lock(&ring->mutex);
    if (bytes > ring->capacity) {
        count_loss(ring, head.handle);
    } else {
        while (ring->capacity - ring->used < bytes) {
            const fx_record_head_t dropped = oldest(ring);
            count_loss(ring, dropped.handle);
            remove_oldest(ring, FX_RECORD_HEAD_BYTES + (size_t)dropped.bytes);
        }
        fx_put_record_head(packed, &head);
        put(ring, ring->first + ring->used, packed, sizeof packed);
        put(ring, ring->first + ring->used + sizeof packed, message, head.bytes);
        ring->used += bytes;
    }
    pthread_mutex_unlock(&ring->mutex);
}

size_t fx_ring_take(fx_ring_t *ring, uint8_t *out, size_t room)
{
    size_t moved = 0;

    pthread_mutex_lock(&ring->mutex);
    while (ring->used > 0) {
        fx_record_head_t head = oldest(ring);
        const size_t bytes = FX_RECORD_HEAD_BYTES + (size_t)head.bytes;
        if (bytes > room - moved)
            break;
        head.lost = take_losses(ring, head.handle);
        fx_put_record_head(out + moved, &head);
        get(ring, ring->first + FX_RECORD_HEAD_BYTES, out + moved + FX_RECORD_HEAD_BYTES, head.bytes);
        remove_oldest(ring, bytes);
        moved += bytes;
    }
    pthread_mutex_unlock(&ring->mutex);
    return moved;
}

void fx_ring_forget(fx_ring_t *ring, uint32_t handle)
{
    pthread_mutex_lock(&ring->mutex);
    take_losses(ring, handle);
    pthread_mutex_unlock(&ring->mutex);
}

bool fx_ring_is_empty(fx_ring_t *ring)
{
    pthread_mutex_lock(&ring->mutex);
    const bool is = ring->used == 0;
    pthread_mutex_unlock(&ring->mutex);
    return is;
}
