/* Requests to the RIC, sent without FlexRIC's timers.
 *
 * FlexRIC registers a timer for each request after it has sent it. An answer that is faster than the
 * registration aborts the process, and so does a timer that expires. Here the number of the request is
 * known before it is sent, and the caller has its own timeout.
 */
#include <assert.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "exchange.h"
#include "session.h"
#include "xApp/msg_generator_xapp.h"
#include "xApp/msg_handler_xapp.h"

/* Sending on a one-to-many socket sets up an association where there is none (RFC 6458 section 3.1.3).
 * To a RIC whose restart was not detected yet, that would be a request from an unknown xApp, which
 * aborts it. */
bool fx_associated(int fd)
{
    int protocol = 0;
    socklen_t length = sizeof protocol;
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 || protocol != IPPROTO_SCTP)
        return true; /* a substitute for SCTP, which does not report associations */
    uint32_t associations = 0;
    length = sizeof associations;
    return getsockopt(fd, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, &associations, &length) != 0 ||
           associations > 0;
}

/* The id with the RAN function that is meant, where FlexRIC was given another. */
static ric_gen_id_t on_the_wire(ric_gen_id_t id)
{
    if (fx_request != NULL)
        id.ran_func_id = (uint16_t)fx_request->ran_function;
    return id;
}

static void send_request(e42_xapp_t *xapp, uint32_t id, byte_array_t encoded)
{
    if (fx_request != NULL) {
        fx_request->id = id;
        fx_exchange_expect(id);
        if (fx_request->outcome_reported)
            fx_exchange_expect_outcome(sojourn_tc_token(fx_request->header, fx_request->header_bytes,
                                                        fx_request->message,
                                                        fx_request->message_bytes));
    }
    if (fx_request == NULL || fx_associated(xapp->ep.base.fd))
        e2ap_send_bytes_xapp(&xapp->ep, encoded);
    else
        fx_session_lost("the RIC is gone");
    free_byte_array(encoded);
}

FX_REPLACES e2ap_msg_t e2ap_handle_e42_ric_subscription_request_xapp(e42_xapp_t *xapp,
                                                                     const e2ap_msg_t *msg)
{
    const e42_ric_subscription_request_t *request = &msg->u_msgs.e42_ric_sub_req;
    const uint32_t id = request->sr.ric_id.ric_req_id;

    if (fx_request != NULL)
        fx_set_period_ms(id, fx_request->period_ms); /* before the first report can arrive */
    send_request(xapp, id,
                 e2ap_enc_e42_subscription_request_xapp(
                     &xapp->ap, (e42_ric_subscription_request_t *)request));
    return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
}

FX_REPLACES e2ap_msg_t e2ap_handle_e42_subscription_delete_request_xapp(e42_xapp_t *xapp,
                                                                        const e2ap_msg_t *msg)
{
    e42_ric_subscription_delete_request_t request = msg->u_msgs.e42_ric_sub_del_req;

    request.sdr.ric_id = on_the_wire(request.sdr.ric_id);
    send_request(xapp, request.sdr.ric_id.ric_req_id,
                 e2ap_enc_e42_ric_subscription_delete_xapp(&xapp->ap, &request));
    return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
}

FX_REPLACES e2ap_msg_t e2ap_handle_e42_ric_control_request_xapp(e42_xapp_t *xapp,
                                                                const e2ap_msg_t *msg)
{
    const e42_ric_control_request_t *request = &msg->u_msgs.e42_ric_ctrl_req;

    send_request(
        xapp, request->ctrl_req.ric_id.ric_req_id,
        e2ap_enc_e42_control_request_xapp(&xapp->ap, (e42_ric_control_request_t *)request));
    return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
}

/* FlexRIC frees what a request holds with free(). */
static byte_array_t copy_of(const void *bytes, size_t length)
{
    byte_array_t copy = {.len = length, .buf = malloc(length)};
    assert(copy.buf != NULL);
    memcpy(copy.buf, bytes, length);
    return copy;
}

static void put_action(ric_subscription_request_t *request, byte_array_t definition)
{
    request->action[0].definition = malloc(sizeof *request->action[0].definition);
    assert(request->action[0].definition != NULL);
    *request->action[0].definition = definition;
}

/* FlexRIC's service models have names for periods of 1, 2, 5 and 10 ms; E2 nodes accept any number. */
FX_REPLACES ric_subscription_request_t generate_subscription_request(ric_gen_id_t ric_id,
                                                                     sm_ric_t const *sm, void *cmd)
{
    ric_subscription_request_t request = {.ric_id = on_the_wire(ric_id), .len_action = 1};
    request.action = calloc(1, sizeof *request.action);
    assert(request.action != NULL);
    request.action[0].type = RIC_ACT_REPORT;

    if (fx_request != NULL && fx_request->plain_trigger) {
        request.event_trigger = copy_of(&fx_request->period_ms, sizeof fx_request->period_ms);
        return request;
    }
    if (fx_request != NULL && fx_request->trigger != NULL) {
        request.event_trigger = copy_of(fx_request->trigger, fx_request->trigger_bytes);
        if (fx_request->action_bytes > 0)
            put_action(&request, copy_of(fx_request->action, fx_request->action_bytes));
        return request;
    }
    const sm_subs_data_t data = sm->proc.on_subscription(sm, cmd);
    request.event_trigger = (byte_array_t){.len = data.len_et, .buf = data.event_trigger};
    if (data.action_def != NULL)
        put_action(&request, (byte_array_t){.len = data.len_ad, .buf = data.action_def});
    return request;
}

/* Our controls are sent unchanged: FlexRIC's encoder of E2SM-TC aborts the process on an OSI filter. */
FX_REPLACES ric_control_request_t generate_ric_control_request(ric_gen_id_t ric_id,
                                                               sm_ric_t const *sm, void *ctrl_msg)
{
    ric_control_request_t request = {.ric_id = on_the_wire(ric_id)};

    if (fx_request != NULL && fx_request->message != NULL) {
        request.hdr = copy_of(fx_request->header, fx_request->header_bytes);
        request.msg = copy_of(fx_request->message, fx_request->message_bytes);
    } else {
        const sm_ctrl_req_data_t data = sm->proc.on_control_req(sm, ctrl_msg);
        request.hdr = (byte_array_t){.len = data.len_hdr, .buf = data.ctrl_hdr};
        request.msg = (byte_array_t){.len = data.len_msg, .buf = data.ctrl_msg};
    }
    request.ack_req = malloc(sizeof *request.ack_req);
    assert(request.ack_req != NULL);
    *request.ack_req = RIC_CONTROL_REQUEST_ACK;
    return request;
}
