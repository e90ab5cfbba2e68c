/* Detects the end of the SCTP association with the RIC.
 *
 * FlexRIC does not subscribe to SCTP events. When the RIC dies its xApps do not notice, and their next
 * request sets up an association with a RIC that does not know them, which aborts that RIC.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop.h"
#include "original.h"
#include "session.h"
#include "signals.h"

FX_REPLACES void e2ap_init_ep_xapp(e2ap_ep_xapp_t *ep, const char *addr, int port)
{
    void (*init)(e2ap_ep_xapp_t *, const char *, int) = FX_ORIGINAL(e2ap_init_ep_xapp);
    init(ep, addr, port);
    /* FlexRIC has just replaced the signal handlers; a caller that waits for the RIC must stay killable. */
    fx_signals_give_back();

    const struct sctp_event_subscribe events = {
        .sctp_data_io_event = 1, .sctp_association_event = 1, .sctp_shutdown_event = 1};
    if (setsockopt(ep->base.fd, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events) != 0)
        perror("FlexRIC: SCTP_EVENTS");
}

/* Why an event ends the association; NULL if it goes on. */
static const char *end_of(const union sctp_notification *event)
{
    if (event->sn_header.sn_type == SCTP_ASSOC_CHANGE &&
        event->sn_assoc_change.sac_state == SCTP_COMM_UP)
        fx_session_joined();
    if (event->sn_header.sn_type == SCTP_SHUTDOWN_EVENT)
        return "the RIC closed it";
    if (event->sn_header.sn_type != SCTP_ASSOC_CHANGE)
        return NULL;
    switch (event->sn_assoc_change.sac_state) {
    case SCTP_COMM_LOST:
        return "the RIC is gone";
    case SCTP_SHUTDOWN_COMP:
        return "the RIC closed it";
    case SCTP_RESTART:
        return "the RIC was restarted";
    case SCTP_CANT_STR_ASSOC:
        return "there is no RIC";
    default:
        return NULL;
    }
}

FX_REPLACES byte_array_t e2ap_recv_msg_xapp(e2ap_ep_xapp_t *ep)
{
    for (;;) {
        /* FlexRIC holds the lock of its senders while it receives: wait outside of it. */
        struct pollfd readable = {.fd = ep->base.fd, .events = POLLIN};
        if (poll(&readable, 1, -1) < 0)
            continue;
        sctp_msg_t received = e2ap_recv_sctp_msg(&ep->base);
        if (received.type == SCTP_MSG_PAYLOAD)
            return received.ba;

        const char *why = end_of(received.notif);
        free(received.notif);
        if (why != NULL) {
            fx_session_lost(why);
            fx_loop_end(); /* FlexRIC expects a message and none exists */
        }
    }
}
