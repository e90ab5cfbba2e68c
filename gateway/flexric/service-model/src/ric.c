/* The service model in the near-RT RIC and in xApps: what both demand of one that they load.
 *
 * FlexRIC's RIC hands each report to listeners of its own by the kind of the decoded report, before it
 * forwards the bytes. It has no kind for this service model and aborts on an unknown one, so that it is
 * given an RLC report without bearers.
 */
#include "sm/sm_ric.h"

#include "plugin.h"
#include "sojourn_tc_sm.h"

/* The RIC forwards requests of xApps as bytes, and FlexRIC's xApp library makes none for a service model
   that is not in its list: the bridge makes its own. */
static sm_subs_data_t on_subscription(sm_ric_t const *sm, void *data) {
  (void)sm;
  (void)data;
  return (sm_subs_data_t){0};
}

static sm_ag_if_rd_ind_t on_indication(sm_ric_t const *sm, sm_ind_data_t const *data) {
  (void)sm;
  (void)data;
  return (sm_ag_if_rd_ind_t){.type = RLC_STATS_V0};
}

static sm_ctrl_req_data_t on_control_request(sm_ric_t const *sm, void *data) {
  (void)sm;
  (void)data;
  return (sm_ctrl_req_data_t){0};
}

static sm_ag_if_ans_ctrl_t on_control_outcome(sm_ric_t const *sm, sm_ctrl_out_data_t const *data) {
  (void)sm;
  (void)data;
  return (sm_ag_if_ans_ctrl_t){.type = RLC_AGENT_IF_CTRL_ANS_V0};
}

static sm_ag_if_rd_e2setup_t on_e2_setup(sm_ric_t const *sm, sm_e2_setup_data_t const *data) {
  (void)sm;
  (void)data;
  return (sm_ag_if_rd_e2setup_t){.type = RLC_AGENT_IF_E2_SETUP_ANS_V0};
}

static sm_ag_if_rd_rsu_t on_ric_service_update(sm_ric_t const *sm,
                                               sm_ric_service_update_data_t const *data) {
  (void)sm;
  (void)data;
  return (sm_ag_if_rd_rsu_t){.type = RLC_AGENT_IF_RIC_SERV_UPDATE_CTRL_ANS_V0};
}

/* None of the decoded values above owns memory. */
static void free_nothing(void *decoded) {
  (void)decoded;
}

static void free_service_model(sm_ric_t *sm) {
  (void)sm;
}

SOJOURN_TC_EXPORT sm_ric_t *make_sojourn_tc_sm_ric(void) {
  /* One per process, as FlexRIC's own state demands. */
  static sm_ric_t ric = {
      .proc = {.on_subscription = on_subscription,
               .on_indication = on_indication,
               .on_control_req = on_control_request,
               .on_control_out = on_control_outcome,
               .on_e2_setup = on_e2_setup,
               .on_ric_service_update = on_ric_service_update},
      .free_sm = free_service_model,
      .alloc = {.free_subs_data_msg = free_nothing,
                .free_ind_data = free_nothing,
                .free_ctrl_req_data = free_nothing,
                .free_ctrl_out_data = free_nothing,
                .free_e2_setup = free_nothing,
                .free_ric_service_update = free_nothing},
      .ran_func_id = SOJOURN_TC_ID,
      .ran_func_name = "ORAN-E2SM-TC",
  };
  return &ric;
}
