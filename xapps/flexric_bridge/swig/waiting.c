/* How callers of FlexRIC's library wait for an answer.
 *
 * FlexRIC's waiting forgets an answer that came before it began to wait, and ends the process when
 * none comes. A request of ours waits in exchange.c instead; another's waits here for the same time
 * as in FlexRIC and keeps an early answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "deadline.h"
#include "session.h"

FX_REPLACES void cond_wait_sync_ui(sync_ui_t *s, uint32_t ms)
{
    if (fx_request != NULL)
        return; /* sdk.c waits, and tells the caller what came */

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
        abort(); /* as FlexRIC does: its callers know no other answer than yes */
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
