/* Reports as they are passed on: records of a head and the service model's message.
 *
 * A record, little-endian and packed: u32 handle of the subscription, u32 bytes of the message,
 * u64 collected at and u64 received at (wall clock, µs since the Unix epoch), u32 reports of this
 * handle lost since its last record, the message. Of E2SM-TC v1 the message is u16 bytes of the
 * indication header, the header, the indication message; `collected at` is 0, since the header has it.
 */
#ifndef SOJOURN_FLEXRIC_REPORTS_H
#define SOJOURN_FLEXRIC_REPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "sojourn_tc_sm.h"

enum { FX_RECORD_HEAD_BYTES = 28 };

/* RAN function ids of FlexRIC's service models. */
enum { FX_KPM = 2, FX_MAC = 142, FX_RLC = 143, FX_TC = 146, FX_TC_V1 = SOJOURN_TC_ID };

typedef struct {
    uint32_t handle;
    uint32_t bytes;
    uint64_t collected_at_us;
    uint64_t received_at_us;
    uint32_t lost;
} fx_record_head_t;

void fx_put_record_head(uint8_t out[FX_RECORD_HEAD_BYTES], const fx_record_head_t *head);
fx_record_head_t fx_get_record_head(const uint8_t bytes[FX_RECORD_HEAD_BYTES]);

/* When the node took an RLC, MAC or TC report: the time stamp that ends the message. 0 if the
 * message is not one of that RAN function, which its decoder will report. */
uint64_t fx_collected_at_us(int ran_function, const uint8_t *message, size_t length);

/* KPM has only the low 32 bits of its µs; the rest is that of `received_at_us`, the two being less
 * than 2^31 µs (36 min) apart. */
uint64_t fx_widen_us(uint32_t low_us, uint64_t received_at_us);

/* Wall clock in µs since the Unix epoch. */
uint64_t fx_now_us(void);

#endif
