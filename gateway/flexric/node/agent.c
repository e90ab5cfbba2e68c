/* FlexRIC's agent with the tables that make it this node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/e2_agent_api.h"
#include "lib/e2ap/e2ap_node_component_config_add_wrapper.h"

#include "node.h"

_Static_assert(sizeof(tc_ctrl_out_e) == 4, "enums");

/* The address is a pointer in some versions of fr_args_t and an array in others. */
#define IS_POINTER(member) _Generic(&(member), char**: true, const char**: true, default: false)

node_t node;

/* E2 SETUP wants a component configuration (E2AP §9.1.2.2): the lab's core network is of one piece,
   which NG leads to. */
static void setup_ran(void* data) {
  arr_node_component_config_add_t* components = data;
  components->len_cca = 1;
  components->cca = calloc(1, sizeof(*components->cca));
  *components->cca = (e2ap_node_component_config_add_t){
      .e2_node_comp_interface_type = NG_E2AP_NODE_COMP_INTERFACE_TYPE,
      .e2_node_comp_id = {.type = NG_E2AP_NODE_COMP_INTERFACE_TYPE,
                          .ng_amf_name = cp_str_to_ba("gnb-lab")},
      .e2_node_comp_conf = {.request = cp_str_to_ba("NG SETUP REQUEST"),
                            .response = cp_str_to_ba("NG SETUP RESPONSE")},
  };
}

/* Since 2024-01 the agent passes the type of the node, which is constant here. */
__attribute__((unused)) static void setup_ran_of(void* data, const ngran_node_t kind) {
  (void)kind;
  setup_ran(data);
}
#define SETUP_RAN \
  _Generic(((sm_io_ag_ran_t*)NULL)->read_setup_ran, void (*)(void*): setup_ran, default: setup_ran_of)

/* The outcome can only be OK, even if the control was refused. */
static sm_ag_if_ans_t write_tc(void const* data) {
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

/* MAC and RLC controls have no effect: acknowledged and ignored. */
static sm_ag_if_ans_t write_mac(void const* data) {
  (void)data;
  sm_ag_if_ans_t answer = {.type = CTRL_OUTCOME_SM_AG_IF_ANS_V0};
  answer.ctrl_out.type = MAC_AGENT_IF_CTRL_ANS_V0;
  return answer;
}

static sm_ag_if_ans_t write_rlc(void const* data) {
  (void)data;
  sm_ag_if_ans_t answer = {.type = CTRL_OUTCOME_SM_AG_IF_ANS_V0};
  answer.ctrl_out.type = RLC_AGENT_IF_CTRL_ANS_V0;
  return answer;
}

void node_start(const char* ric_address, const char* libraries, int mcc, int mnc, int mnc_digits,
                int nb_id, node_t io) {
  node = io;
  /* FlexRIC prints to stdout; line buffering writes each line to a log file at once. */
  setvbuf(stdout, NULL, _IOLBF, 0);

  static fr_args_t args;
  if (IS_POINTER(args.ip)) {
    memcpy((void*)&args.ip, &ric_address, sizeof(ric_address));
  } else {
    snprintf((char*)&args.ip, sizeof(args.ip), "%s", ric_address);
  }
  snprintf(args.libs_dir, sizeof(args.libs_dir), "%s", libraries);

  sm_io_ag_ran_t tables = {0};
  tables.read_ind_tbl[MAC_STATS_V0] = node_read_mac;
  tables.read_ind_tbl[RLC_STATS_V0] = node_read_rlc;
  tables.read_ind_tbl[TC_STATS_V0] = node_read_tc;
  tables.read_ind_tbl[KPM_STATS_V3_0] = node_read_kpm;
  tables.read_setup_tbl[KPM_V3_0_AGENT_IF_E2_SETUP_ANS_V0] = node_kpm_setup;
  tables.read_setup_ran = SETUP_RAN;
  tables.write_ctrl_tbl[MAC_CTRL_REQ_V0] = write_mac;
  tables.write_ctrl_tbl[RLC_CTRL_REQ_V0] = write_rlc;
  tables.write_ctrl_tbl[TC_CTRL_REQ_V0] = write_tc;
  init_agent_api(mcc, mnc, mnc_digits, nb_id, 0, ngran_gNB, tables, &args);
}

void node_stop(void) {
  stop_agent_api();
}
