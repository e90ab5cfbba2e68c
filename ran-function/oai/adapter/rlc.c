/* The wrapped symbols that say how RLC and MAC name what PDCP names by UE and DRB. */
/* Before OAI's headers: netinet/sctp.h defines names that it declares. */
#include <netinet/in.h>

#include "openair2/F1AP/f1ap_ids.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#include "adapter.h"

SHAPE(nr_rlc_add_drb, void(int, int, const NR_RLC_BearerConfig_t*));
SHAPE(nr_rlc_release_entity, void(int, logical_chan_id_t));
SHAPE(nr_rlc_remove_ue, void(int));
SHAPE(nr_rlc_update_id, bool(int, int));
SHAPE(cu_add_f1_ue_data, bool(uint32_t, const f1_ue_data_t*));
SHAPE(cu_update_f1_ue_data, bool(uint32_t, const f1_ue_data_t*));
MEMBER(f1_ue_data_t, secondary_ue, uint32_t);

WRAPPED(nr_rlc_add_drb);
WRAPPED(nr_rlc_release_entity);
WRAPPED(nr_rlc_remove_ue);
WRAPPED(nr_rlc_update_id);
WRAPPED(cu_add_f1_ue_data);
WRAPPED(cu_update_f1_ue_data);

bool adapter_rlc_wrapped(void) {
  bool const added = IS_WRAPPED(nr_rlc_add_drb);
  bool const released = IS_WRAPPED(nr_rlc_release_entity);
  bool const removed = IS_WRAPPED(nr_rlc_remove_ue);
  bool const renamed = IS_WRAPPED(nr_rlc_update_id);
  bool const named = IS_WRAPPED(cu_add_f1_ue_data);
  bool const named_anew = IS_WRAPPED(cu_update_f1_ue_data);
  return added && released && removed && renamed && named && named_anew;
}

void WRAP(nr_rlc_add_drb)(int rnti, int drb, const NR_RLC_BearerConfig_t* config) {
  REAL(nr_rlc_add_drb)(rnti, drb, config);
  sojourn_gnb_channel_up(adapter_gnb(), (uint16_t)rnti, (uint8_t)config->logicalChannelIdentity,
                         (uint8_t)drb);
}

void WRAP(nr_rlc_release_entity)(int rnti, logical_chan_id_t lcid) {
  sojourn_gnb_channel_down(adapter_gnb(), (uint16_t)rnti, (uint8_t)lcid);
  REAL(nr_rlc_release_entity)(rnti, lcid);
}

void WRAP(nr_rlc_remove_ue)(int rnti) {
  sojourn_gnb_rnti_gone(adapter_gnb(), (uint16_t)rnti);
  REAL(nr_rlc_remove_ue)(rnti);
}

bool WRAP(nr_rlc_update_id)(int from, int to) {
  bool const done = REAL(nr_rlc_update_id)(from, to);
  if (done) {
    sojourn_gnb_rnti_changed(adapter_gnb(), (uint16_t)from, (uint16_t)to);
  }
  return done;
}

/* Names a UE. In a gNB of one piece the CU's secondary id of a UE is its RNTI, once it has one; 0
   before. */
static void name(uint32_t ue, const f1_ue_data_t* data) {
  if (data->secondary_ue > 0 && data->secondary_ue <= UINT16_MAX) {
    sojourn_gnb_ue_is(adapter_gnb(), ue, (uint16_t)data->secondary_ue, adapter_now_us());
  }
}

bool WRAP(cu_add_f1_ue_data)(uint32_t ue, const f1_ue_data_t* data) {
  bool const done = REAL(cu_add_f1_ue_data)(ue, data);
  if (done) {
    name(ue, data);
  }
  return done;
}

bool WRAP(cu_update_f1_ue_data)(uint32_t ue, const f1_ue_data_t* data) {
  bool const done = REAL(cu_update_f1_ue_data)(ue, data);
  if (done) {
    name(ue, data);
  }
  return done;
}
