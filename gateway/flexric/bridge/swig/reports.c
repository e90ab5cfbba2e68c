#include "reports.h"

#include <string.h>
#include <time.h>

/* Fixed parts of FlexRIC's plain layouts. */
enum { COUNT_BYTES = 4, STAMP_BYTES = 8, RLC_BEARER_BYTES = 152, MAC_UE_BYTES = 176 };

void fx_put_record_head(uint8_t out[FX_RECORD_HEAD_BYTES], const fx_record_head_t *head)
{
    memcpy(out, &head->handle, 4);
    memcpy(out + 4, &head->bytes, 4);
    memcpy(out + 8, &head->collected_at_us, 8);
    memcpy(out + 16, &head->received_at_us, 8);
    memcpy(out + 24, &head->lost, 4);
}

fx_record_head_t fx_get_record_head(const uint8_t bytes[FX_RECORD_HEAD_BYTES])
{
    fx_record_head_t head;
    memcpy(&head.handle, bytes, 4);
    memcpy(&head.bytes, bytes + 4, 4);
    memcpy(&head.collected_at_us, bytes + 8, 8);
    memcpy(&head.received_at_us, bytes + 16, 8);
    memcpy(&head.lost, bytes + 24, 4);
    return head;
}

uint64_t fx_collected_at_us(int ran_function, const uint8_t *message, size_t length)
{
    uint32_t count;
    int64_t stamp_us;

    if (length < COUNT_BYTES + STAMP_BYTES)
        return 0;
    memcpy(&count, message, sizeof count);
    const size_t body = length - COUNT_BYTES - STAMP_BYTES;
    if (ran_function == FX_RLC && body != (size_t)count * RLC_BEARER_BYTES)
        return 0;
    if (ran_function == FX_MAC && body != (size_t)count * MAC_UE_BYTES)
        return 0;
    memcpy(&stamp_us, message + length - sizeof stamp_us, sizeof stamp_us);
    return stamp_us > 0 ? (uint64_t)stamp_us : 0;
}

uint64_t fx_widen_us(uint32_t low_us, uint64_t received_at_us)
{
    /* Difference between collection and arrival in 32-bit arithmetic. */
    const int32_t age_us = (int32_t)((uint32_t)received_at_us - low_us);
    return received_at_us - (uint64_t)(int64_t)age_us;
}

uint64_t fx_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
