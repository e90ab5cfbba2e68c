#include "session.h"

#include <stdatomic.h>
#include <stdio.h>

#include "exchange.h"

/* FlexRIC's request numbers have 16 bits. */
enum { REQUESTS = 1 << 16 };

_Thread_local fx_request_t *fx_request;
fx_ring_t fx_reports;
e42_xapp_t *fx_xapp;

static _Atomic uint32_t periods_ms[REQUESTS];
static atomic_bool joined;

uint32_t fx_period_ms(uint32_t ric_req_id)
{
    return ric_req_id < REQUESTS ? atomic_load(&periods_ms[ric_req_id]) : 0;
}

void fx_set_period_ms(uint32_t ric_req_id, uint32_t period_ms)
{
    if (ric_req_id < REQUESTS)
        atomic_store(&periods_ms[ric_req_id], period_ms);
}

void fx_session_joined(void)
{
    joined = true;
}

bool fx_joined(void)
{
    return joined;
}

void fx_session_lost(const char *why)
{
    fprintf(stderr, "FlexRIC: the association with the RIC ended: %s\n", why);
    fx_exchange_disconnect();
}
