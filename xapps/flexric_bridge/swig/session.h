/* What the parts that stand in FlexRIC's library share: the request on its way, and where reports go.
 *
 * FlexRIC's library looks its own functions up by name, and the process finds ours first. Ours serve
 * both callers: what is not a request of this module is done as FlexRIC does it, so that FlexRIC's
 * Python module `xapp_sdk` can live in the same process.
 */
#ifndef SOJOURN_FLEXRIC_SESSION_H
#define SOJOURN_FLEXRIC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"
#include "xApp/e42_xapp.h"

/* Marks a function that takes the place of FlexRIC's of the same name. */
#define FX_REPLACES __attribute__((visibility("default")))

typedef struct {
    /* Number of the request; for a subscription this is its handle, too. Set when it is sent. */
    uint32_t id;
    /* RIC control of E2SM-TC, as it goes out. */
    const uint8_t *header, *message;
    size_t header_bytes, message_bytes;
    /* Period of a subscription. */
    uint32_t period_ms;
    /* RLC, MAC and TC: the period is the whole event trigger. */
    bool plain_trigger;
} fx_request_t;

/* The request of ours that this thread is making; NULL while others use FlexRIC's library. */
extern _Thread_local fx_request_t *fx_request;

/* Reports of all subscriptions of ours. */
extern fx_ring_t fx_reports;

/* The period in ms of the subscription of ours with this request number; 0 if it is none. Any thread
 * may ask. */
uint32_t fx_period_ms(uint32_t ric_req_id);
void fx_set_period_ms(uint32_t ric_req_id, uint32_t period_ms);

/* FlexRIC's xApp, as soon as it has begun to connect; NULL before. */
extern e42_xapp_t *fx_xapp;

/* There was an association with a RIC. */
void fx_session_joined(void);
bool fx_joined(void);

/* The association with the RIC has ended and will not come back in this process. */
void fx_session_lost(const char *why);

#endif
