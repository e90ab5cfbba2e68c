/* Waiting for answers by other users of FlexRIC's library.
 *
 * FlexRIC's wait loses an answer that arrives before it starts, and aborts the process when none
 * arrives. Requests of this module wait in exchange.c; others wait here with FlexRIC's timeout, and an
 * early answer is kept.
 */
#include <stdio.h>
#include <stdlib.h>

#include "deadline.h"
#include "session.h"

FX_REPLACES void cond_wait_sync_ui(sync_ui_t *s, uint32_t ms)
{
    if (fx_request != NULL)
        return; /* sdk.c waits and returns the answer */

    const struct timespec deadline = fx_after_ms((int)ms + 1000);
    int rc = 0;
    pthread_mutex_lock(&s->mtx_sync);
    while (!s->msg_ack && rc == 0)
        rc = pthread_cond_clockwait(&s->cv_sync, &s->mtx_sync, CLOCK_MONOTONIC, &deadline);
    const bool acknowledged = s->msg_ack;
    s->msg_ack = false;
    s->flag_sync = false;
    pthread_mutex_unlock(&s->mtx_sync);
    if (!acknowledged) {
        fprintf(stderr, "FlexRIC: the RIC did not answer within %u ms\n", ms + 1000);
        abort(); /* as FlexRIC does: its callers handle no failure */
    }
}

FX_REPLACES void signal_sync_ui(sync_ui_t *s)
{
    pthread_mutex_lock(&s->mtx_sync);
    s->flag_sync = true;
    s->msg_ack = true;
    pthread_cond_signal(&s->cv_sync);
    pthread_mutex_unlock(&s->mtx_sync);
}
