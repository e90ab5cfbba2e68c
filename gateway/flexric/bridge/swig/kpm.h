/* KPM: subscriptions as the installed FlexRIC encodes them. */
#ifndef SOJOURN_FLEXRIC_KPM_H
#define SOJOURN_FLEXRIC_KPM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "session.h"

/* A slice (38.413 §9.3.1.24): slice/service type, 0 to 255, and slice differentiator, 0 to 0xffffff;
 * -1 where the slice has none. */
typedef struct {
    int sst, sd;
} fx_s_nssai_t;

/* The subscription to `count` measurements by name (28.552), each `period_ms`, of the UEs of a slice:
 * report style 4, the only one that reports each UE without addressing it. Ends with fx_kpm_free(). False
 * (FX_BAD_MESSAGE) for an invalid name or slice. */
bool fx_kpm_subscription(const char *const *names, size_t count, uint32_t period_ms,
                         fx_s_nssai_t slice, kpm_sub_data_t *subscription, fx_error_t *error);
void fx_kpm_free(kpm_sub_data_t *subscription);

#endif
