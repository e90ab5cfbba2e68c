#include "outlet.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

bool fx_outlet_open(fx_outlet_t *outlet, int socket, fx_ring_t *ring)
{
    *outlet = (fx_outlet_t){
        .socket = socket, .ring = ring, .block = malloc(FX_BLOCK_HEAD_BYTES + FX_BLOCK_BYTES)};
    return outlet->block != NULL;
}

void fx_outlet_free(fx_outlet_t *outlet)
{
    free(outlet->block);
}

static void put_length(fx_outlet_t *outlet, size_t bytes)
{
    for (int i = 0; i < FX_BLOCK_HEAD_BYTES; ++i)
        outlet->block[i] = (uint8_t)(bytes >> 8 * i);
    outlet->sent = 0;
    outlet->filled = FX_BLOCK_HEAD_BYTES + bytes;
}

/* Whether the block was sent completely. */
static bool send_block(fx_outlet_t *outlet, int flags)
{
    while (outlet->sent < outlet->filled) {
        const ssize_t sent = send(outlet->socket, outlet->block + outlet->sent,
                                  outlet->filled - outlet->sent, flags | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        outlet->sent += (size_t)sent;
    }
    return true;
}

static bool send_all(fx_outlet_t *outlet, int flags)
{
    while (send_block(outlet, flags)) {
        const size_t bytes =
            fx_ring_take(outlet->ring, outlet->block + FX_BLOCK_HEAD_BYTES, FX_BLOCK_BYTES);
        if (bytes == 0)
            return true;
        put_length(outlet, bytes);
    }
    return false;
}

void fx_outlet_hand_over(fx_outlet_t *outlet)
{
    send_all(outlet, MSG_DONTWAIT);
}

bool fx_outlet_waits(fx_outlet_t *outlet)
{
    return outlet->sent < outlet->filled || !fx_ring_is_empty(outlet->ring);
}

void fx_outlet_finish(fx_outlet_t *outlet)
{
    if (!send_all(outlet, 0))
        return; /* the reader has closed its socket */
    put_length(outlet, 0);
    send_block(outlet, 0);
}

void fx_spacing_open(fx_spacing_t *spacing, double per_s)
{
    spacing->between_ns = (int64_t)(1e9 / per_s);
    spacing->next_ns = 0;
}

void fx_spacing_take(fx_spacing_t *spacing, int64_t now_ns)
{
    const int64_t earliest_ns = now_ns - (FX_AT_ONCE - 1) * spacing->between_ns;
    if (spacing->next_ns < earliest_ns)
        spacing->next_ns = earliest_ns;
    spacing->next_ns += spacing->between_ns;
}
