/* KPM: what is asked for and what comes back. */
#ifndef SOJOURN_FLEXRIC_KPM_H
#define SOJOURN_FLEXRIC_KPM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "session.h"

/* The subscription to `count` measurements by name (28.552), each `period_ms`, of every UE. Ends
 * with fx_kpm_free(). False (FX_BAD_MESSAGE) for a name that is none. */
bool fx_kpm_subscription(const char *const *names, size_t count, uint32_t period_ms,
                         kpm_sub_data_t *subscription, fx_error_t *error);
void fx_kpm_free(kpm_sub_data_t *subscription);

/* Unpacks a report: u32 granularity period in ms (`period_ms` where the report does not say), u32
 * number of UEs, for each UE u32 id, u32 number of values, for each value u8 bytes of the name, the
 * name, f64. Fills in the head's length and the time of collection. The caller frees it; NULL if the
 * report is of a format that has no UEs. */
uint8_t *fx_kpm_unpack(const ric_indication_t *report, uint32_t period_ms, fx_record_head_t *head);

#endif
