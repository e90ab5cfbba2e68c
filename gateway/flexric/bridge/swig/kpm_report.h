/* Reports of E2SM-KPM (O-RAN.WG3.E2SM-KPM §8.2.1, aligned PER), read without FlexRIC's decoder: that knows one
 * version, the one FlexRIC was built with, and ends the process on what it does not know. Versions 2, 3 and 5
 * differ in the time stamp of the header, 4 or 8 octets; everything that a later version adds stands behind
 * an extension marker and is skipped.
 *
 * FlexRIC up to 2026-05 has its own choice of the message format: all three formats in the root, where the
 * standard has the third behind the marker. Both are read.
 */
#ifndef SOJOURN_FLEXRIC_KPM_REPORT_H
#define SOJOURN_FLEXRIC_KPM_REPORT_H

#include "error.h"
#include "reports.h"

/* Identities of a UE that a report may have, in this order. */
enum {
    FX_AMF_UE_NGAP_ID = 1,
    FX_GNB_CU_UE_F1AP_ID = 2,
    FX_GNB_CU_CP_UE_E1AP_ID = 4,
    FX_RAN_UE_ID = 8,
};

/* In place of the granularity period: the rest of the message says, as text, why it could not be read. */
#define FX_KPM_UNREADABLE UINT32_MAX

/* Unpacks an indication: u32 granularity period in ms (`period_ms` where the report does not say), u32 number
 * of UEs, for each UE u8 identities that are known (FX_…), u64 for each of these, u32 number of values, for
 * each value u8 bytes of the name, the name, f64. Fills in the head's length and the time of collection, that
 * of reception where the node's is not known. The caller frees it; NULL without memory. */
uint8_t *fx_kpm_unpack(const uint8_t *header, size_t header_bytes, const uint8_t *message,
                       size_t message_bytes, uint32_t period_ms, fx_record_head_t *head);

/* When the node began to collect, µs since the Unix epoch: the reading of the time stamp that is nearest to
 * `received_at_us`. Nodes write NTP (RFC 5905 §6), Unix seconds, ms or µs, in both byte orders; of 4 octets
 * FlexRIC's are the low 32 bits of µs. Without a header that can be read, `received_at_us`. */
uint64_t fx_kpm_collected_at_us(const uint8_t *header, size_t bytes, uint64_t received_at_us);

#endif
