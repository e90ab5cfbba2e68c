/* Connecting to the RIC: the setup request is sent only once there is an association, and to a RIC that
 * has just started only after its nodes had time to connect.
 *
 * FlexRIC sends its first request at once, which sets up the association. To an absent RIC it repeats it
 * for ever; a RIC of 2023 without nodes aborts on it; a later one answers, and FlexRIC's only thread
 * sleeps for 5 s before it asks again. Here the association is set up first, retried while it is
 * refused, and the result is returned to fx_open().
 */
#include "joining.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "deadline.h"
#include "loop.h"
#include "original.h"
#include "session.h"
#include "xApp/msg_handler_xapp.h"

/* Delay before a refused association is retried. */
enum { RETRY_US = 100000 };

static _Atomic fx_joining_t phase;
static double rest_s;
static bool away;

void fx_joining_begin(double node_rest_s, bool ric_was_away)
{
    rest_s = node_rest_s;
    away = ric_was_away;
    phase = FX_CONNECTING;
}

fx_joining_t fx_joining(void)
{
    return phase;
}

static bool is_over(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

/* Whether there is an association in time; `refused`: whether the first attempt was refused. */
static bool associate(const e2ap_ep_xapp_t *ep, bool *refused)
{
    const struct timespec deadline = fx_after_ms(FX_JOIN_TIMEOUT_MS);
    const struct timeval patience = {.tv_usec = RETRY_US}, for_ever = {0};
    bool there = false;

    *refused = false;
    setsockopt(ep->base.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while (!there && !is_over(&deadline)) {
        if (connect(ep->base.fd, (const struct sockaddr *)&ep->to, sizeof ep->to) == 0 ||
            errno == EISCONN) {
            there = true;
        } else if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOTSOCK) {
            there = true; /* a substitute for SCTP that connects when it sends */
        } else {
            *refused = *refused || errno == ECONNREFUSED;
            usleep(RETRY_US);
        }
    }
    setsockopt(ep->base.fd, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof for_ever);
    return there;
}

static void rest(void)
{
    const struct timespec until = fx_after_ms((int)(rest_s * 1000));
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

FX_REPLACES e2ap_msg_t e2ap_handle_e42_setup_request_xapp(e42_xapp_t *xapp, const e2ap_msg_t *msg)
{
    e2ap_msg_t (*original)(e42_xapp_t *, const e2ap_msg_t *) =
        FX_ORIGINAL(e2ap_handle_e42_setup_request_xapp);

    if (phase == FX_CONNECTING) {
        bool refused;
        if (!associate(&xapp->ep, &refused)) {
            phase = FX_NO_RIC;
            fx_loop_end();
        }
        if (refused || away) {
            phase = FX_RESTING;
            rest();
        }
        if (!fx_associated(xapp->ep.base.fd)) {
            fx_session_joined();
            fx_session_lost("the RIC is gone");
            fx_loop_end();
        }
        phase = FX_ASKED;
    }
    return original(xapp, msg);
}

FX_REPLACES e2ap_msg_t e2ap_handle_e42_setup_response_xapp(e42_xapp_t *xapp, const e2ap_msg_t *msg)
{
    e2ap_msg_t (*original)(e42_xapp_t *, const e2ap_msg_t *) =
        FX_ORIGINAL(e2ap_handle_e42_setup_response_xapp);

    if (phase == FX_ASKED && msg->u_msgs.e42_stp_resp.len_e2_nodes_conn == 0) {
        phase = FX_NO_NODES_YET;
        return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
    }
    return original(xapp, msg);
}
