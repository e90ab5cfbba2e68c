/* State shared by the functions that replace FlexRIC's: the current request and the queue of reports.
 *
 * FlexRIC's library resolves its own functions by name, and the dynamic linker finds ours first. Ours
 * serve both callers: what is no request of this module is handled as FlexRIC does, so that FlexRIC's
 * Python module `xapp_sdk` can be used in the same process.
 */
#ifndef SOJOURN_FLEXRIC_SESSION_H
#define SOJOURN_FLEXRIC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"
#include "xApp/e42_xapp.h"

/* Marks a function that replaces FlexRIC's of the same name. */
#define FX_REPLACES __attribute__((visibility("default")))

typedef struct {
    /* Number of the request; for a subscription this is its handle, too. Set when it is sent. */
    uint32_t id;
    /* RAN function of the request on the wire. FlexRIC's calls assert on a service model that is not in
     * their list, and get FX_STAND_IN in its place. */
    int ran_function;
    /* RIC control of E2SM-TC, as it is sent. */
    const uint8_t *header, *message;
    size_t header_bytes, message_bytes;
    /* Whether the outcome of E2SM-TC v1 comes as a report (sojourn_tc_sm.h). */
    bool outcome_reported;
    /* Subscription of E2SM-TC v1 or KPM, as it is sent; of v1 without action definition it is for outcomes. */
    const uint8_t *trigger, *action;
    size_t trigger_bytes, action_bytes;
    /* Period of a subscription. */
    uint32_t period_ms;
    /* RLC, MAC and TC: the period is the whole event trigger. */
    bool plain_trigger;
} fx_request_t;

/* The request of this module that this thread is sending; NULL for other users of the library. */
extern _Thread_local fx_request_t *fx_request;

/* Reports of all subscriptions of this module. */
extern fx_ring_t fx_reports;

/* Value in place of a period: the subscription is for outcomes of controls. */
#define FX_OUTCOMES UINT32_MAX

/* The period in ms of this module's subscription with this request number, otherwise 0. Thread-safe. */
uint32_t fx_period_ms(uint32_t ric_req_id);
void fx_set_period_ms(uint32_t ric_req_id, uint32_t period_ms);

/* FlexRIC's xApp, once it has started to connect; NULL before. */
extern e42_xapp_t *fx_xapp;

/* An association with the RIC was set up. */
void fx_session_joined(void);
bool fx_joined(void);

/* Whether the socket has an association; true where a substitute for SCTP does not report it. */
bool fx_associated(int fd);

/* The association with the RIC has ended and will not come back in this process. */
void fx_session_lost(const char *why);

#endif
