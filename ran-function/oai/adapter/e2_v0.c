/* TC v0 (RAN function 146) of OAI's E2 agent: the pipeline answers in place of OAI's random numbers. */
#include <stdio.h>

#include "openair2/E2AP/RAN_FUNCTION/CUSTOMIZED/ran_func_tc.h"

#include "adapter.h"
#include "node.h"

SHAPE(read_tc_sm, bool(void*));
SHAPE(write_ctrl_tc_sm, sm_ag_if_ans_t(void const*));

bool WRAP(read_tc_sm)(void* data);
sm_ag_if_ans_t WRAP(write_ctrl_tc_sm)(void const* data);

static size_t latest(void* context, uint32_t report, uint8_t* out, size_t capacity) {
  (void)context;
  return report == NODE_REPORT_TC
             ? sojourn_gnb_report_v0(adapter_gnb(), adapter_now_us(), out, capacity)
             : 0;
}

/* The outcome of TC v0 can only be OK, so a refusal is for the operator. */
static void control(void* context, const uint8_t* header, size_t header_len, const uint8_t* message,
                    size_t message_len) {
  (void)context;
  char error[512] = "no traffic control in this gNB";
  if (!sojourn_gnb_control_v0(adapter_gnb(), header, header_len, message, message_len,
                              adapter_now_us(), error, sizeof(error))) {
    fprintf(stderr, "sojourn: a TC v0 control was refused: %s\n", error);
  }
}

/* The codec of v0 asks its node, which is this gNB. */
node_t node = {.latest = latest, .control = control};

/* Reads the indication, which the agent leaves out when there is nothing to report. */
bool WRAP(read_tc_sm)(void* data) {
  return node_read_tc(data);
}

sm_ag_if_ans_t WRAP(write_ctrl_tc_sm)(void const* data) {
  uint8_t header[4];
  static uint8_t message[NODE_MESSAGE_BYTES];
  size_t const header_len = node_tc_control_header(data, header, sizeof(header));
  size_t const message_len = node_tc_control_message(data, message, sizeof(message));
  node.control(node.context, header, header_len, message, message_len);
  sm_ag_if_ans_t answer = {.type = CTRL_OUTCOME_SM_AG_IF_ANS_V0};
  answer.ctrl_out.type = TC_AGENT_IF_CTRL_ANS_V0;
  answer.ctrl_out.tc.out = TC_CTRL_OUT_OK;
  return answer;
}
