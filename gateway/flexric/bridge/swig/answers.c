/* Matches the RIC's answers to requests. FlexRIC aborts the process on a failure and on a late answer;
 * here a failure is returned to the caller and a late answer is ignored. */
#include <stdio.h>

#include "exchange.h"
#include "session.h"
#include "xApp/msg_handler_xapp.h"

static const char *cause_name(const cause_t *cause)
{
    static const char *const NAMES[] = {"unknown cause", "RIC request", "RIC service", "E2 node",
                                        "transport",     "protocol",    "miscellaneous"};
    return cause->present < sizeof NAMES / sizeof *NAMES ? NAMES[cause->present] : NAMES[0];
}

static e2ap_msg_t acknowledged(e42_xapp_t *xapp, uint32_t id, const byte_array_t *outcome)
{
    fx_answer_t answer = {.kind = FX_ACKNOWLEDGED};
    if (outcome != NULL)
        fx_put_outcome(&answer, outcome->buf, outcome->len);
    if (!fx_exchange_answer(id, answer))
        signal_sync_ui(&xapp->sync); /* another user of FlexRIC's library in this process */
    return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
}

static e2ap_msg_t failed(uint32_t id, const cause_t *cause)
{
    fx_answer_t answer = {.kind = FX_FAILED};
    snprintf(answer.cause, sizeof answer.cause, "%s, value %d", cause_name(cause),
             (int)cause->ricRequest);
    if (!fx_exchange_answer(id, answer))
        fprintf(stderr, "FlexRIC: request %u failed (%s), but nobody waits for it\n", id,
                answer.cause);
    return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
}

FX_REPLACES e2ap_msg_t e2ap_handle_subscription_response_xapp(e42_xapp_t *xapp,
                                                              const e2ap_msg_t *msg)
{
    return acknowledged(xapp, msg->u_msgs.ric_sub_resp.ric_id.ric_req_id, NULL);
}

FX_REPLACES e2ap_msg_t e2ap_handle_subscription_delete_response_xapp(e42_xapp_t *xapp,
                                                                     const e2ap_msg_t *msg)
{
    return acknowledged(xapp, msg->u_msgs.ric_sub_del_resp.ric_id.ric_req_id, NULL);
}

FX_REPLACES e2ap_msg_t e2ap_handle_control_ack_xapp(e42_xapp_t *xapp, const e2ap_msg_t *msg)
{
    const ric_control_acknowledge_t *ack = &msg->u_msgs.ric_ctrl_ack;
    return acknowledged(xapp, ack->ric_id.ric_req_id, ack->control_outcome);
}

FX_REPLACES e2ap_msg_t e2ap_handle_subscription_failure_xapp(e42_xapp_t *xapp,
                                                             const e2ap_msg_t *msg)
{
    (void)xapp;
    const ric_subscription_failure_t *failure = &msg->u_msgs.ric_sub_fail;
    return failed(failure->ric_id.ric_req_id, &failure->cause);
}

FX_REPLACES e2ap_msg_t e2ap_handle_subscription_delete_failure_xapp(e42_xapp_t *xapp,
                                                                    const e2ap_msg_t *msg)
{
    (void)xapp;
    const ric_subscription_delete_failure_t *failure = &msg->u_msgs.ric_sub_del_fail;
    return failed(failure->ric_id.ric_req_id, &failure->cause);
}

FX_REPLACES e2ap_msg_t e2ap_handle_control_failure_xapp(e42_xapp_t *xapp, const e2ap_msg_t *msg)
{
    (void)xapp;
    const ric_control_failure_t *failure = &msg->u_msgs.ric_ctrl_fail;
    return failed(failure->ric_id.ric_req_id, &failure->cause);
}

FX_REPLACES e2ap_msg_t e2ap_handle_error_indication_xapp(e42_xapp_t *xapp, const e2ap_msg_t *msg)
{
    (void)xapp;
    const e2ap_error_indication_t *error = &msg->u_msgs.err_ind;
    const cause_t unknown = {.present = CAUSE_NOTHING};
    return failed(error->ric_id != NULL ? error->ric_id->ric_req_id : 0,
                  error->cause != NULL ? error->cause : &unknown);
}
