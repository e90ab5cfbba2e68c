/* Reports: RLC, MAC and TC are passed on unchanged, TC v1 with its header, KPM is unpacked.
 *
 * FlexRIC's handler aborts the process on a TC report, and decodes every report on its only thread
 * before it queues it without limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "kpm_report.h"
#include "session.h"
#include "xApp/msg_handler_xapp.h"

/* A report of E2SM-TC v1: the header is a part of it. */
static void pass_on_v1(const ric_indication_t *report, fx_record_head_t head)
{
    const uint16_t header_bytes = (uint16_t)report->hdr.len;
    uint8_t *message = malloc(sizeof header_bytes + report->hdr.len + report->msg.len);

    if (message == NULL || report->hdr.len > UINT16_MAX) {
        free(message);
        return;
    }
    memcpy(message, &header_bytes, sizeof header_bytes);
    memcpy(message + sizeof header_bytes, report->hdr.buf, report->hdr.len);
    memcpy(message + sizeof header_bytes + report->hdr.len, report->msg.buf, report->msg.len);
    head.bytes = (uint32_t)(sizeof header_bytes + report->hdr.len + report->msg.len);
    fx_ring_push(&fx_reports, head, message);
    free(message);
}

/* The outcome of a control, named by its token. */
static void take_outcome(const ric_indication_t *report)
{
    uint64_t token = 0;

    if (report->hdr.len != SOJOURN_TC_TOKEN_BYTES)
        return; /* the node has no room for the subscription, and controls go without outcome */
    for (size_t i = 0; i < SOJOURN_TC_TOKEN_BYTES; ++i)
        token = token << 8 | report->hdr.buf[i];
    fx_exchange_outcome(token, report->msg.buf, report->msg.len);
}

static void pass_on(const ric_indication_t *report)
{
    const int ran_function = report->ric_id.ran_func_id;
    fx_record_head_t head = {
        .handle = report->ric_id.ric_req_id,
        .bytes = (uint32_t)report->msg.len,
        .received_at_us = fx_now_us(),
    };

    if (ran_function == FX_TC_V1) {
        pass_on_v1(report, head);
        return;
    }
    if (ran_function != FX_KPM) {
        head.collected_at_us = fx_collected_at_us(ran_function, report->msg.buf, report->msg.len);
        fx_ring_push(&fx_reports, head, report->msg.buf);
        return;
    }
    uint8_t *message = fx_kpm_unpack(report->hdr.buf, report->hdr.len, report->msg.buf, report->msg.len,
                                     fx_period_ms(head.handle), &head);
    if (message != NULL)
        fx_ring_push(&fx_reports, head, message);
    free(message);
}

/* A subscription of another user of FlexRIC's library in this process. */
static void dispatch(e42_xapp_t *xapp, const ric_indication_t *report)
{
    const act_proc_ans_t subscription = find_act_proc(&xapp->act_proc, report->ric_id.ric_req_id);
    if (!subscription.ok)
        return; /* it has just ended */

    sm_ric_t *sm = sm_plugin_ric(&xapp->plugin_ric, report->ric_id.ran_func_id);
    const sm_ind_data_t data = {.ind_hdr = report->hdr.buf,
                                .len_hdr = report->hdr.len,
                                .ind_msg = report->msg.buf,
                                .len_msg = report->msg.len};
    msg_dispatch_t message = {.rd.type = INDICATION_MSG_AGENT_IF_ANS_V0,
                              .sm_cb = subscription.val.sm_cb};
    message.rd.ind = sm->proc.on_indication(sm, &data);
    send_msg_dispatcher(&xapp->msg_disp, &message);
}

FX_REPLACES e2ap_msg_t e2ap_handle_indication_xapp(e42_xapp_t *xapp, const e2ap_msg_t *msg)
{
    const ric_indication_t *report = &msg->u_msgs.ric_ind;

    const uint32_t period_ms = fx_period_ms(report->ric_id.ric_req_id);

    if (period_ms == FX_OUTCOMES)
        take_outcome(report);
    else if (period_ms != 0)
        pass_on(report);
    else
        dispatch(xapp, report);
    return (e2ap_msg_t){.type = NONE_E2_MSG_TYPE};
}
