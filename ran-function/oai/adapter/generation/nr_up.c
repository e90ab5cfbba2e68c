/* PDCP whose PDUs nr_up hands on (OAI's pull request 207): before PDCP numbers an SDU it asks nr_up, by UE,
   DRB and size, whether the RLC has room. An SDU waits in the host before that question, which has no
   SDU; what the host hands down is answered here, as its PDUs do not pass nr_up's queue, whose budget
   therefore does not count them. SDUs that take OAI's own path are asked about by OAI. */
#include "entity.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

SHAPE_UNLESS(new_nr_pdcp_entity, new_entity_with_nr_up_t, new_entity_with_deliver_pdu_t,
             "new_nr_pdcp_entity has a deliver_pdu: this OAI has no nr_up, and "
             "generation/deliver_pdu.c fits");
SHAPE(nr_rlc_get_lcid_from_rb, logical_chan_id_t(int, bool, int));
SHAPE(nr_rlc_get_available_tx_space, int(const int, const logical_chan_id_t));

WRAPPED(new_nr_pdcp_entity);

bool adapter_entity_wrapped(void) {
  return IS_WRAPPED(new_nr_pdcp_entity);
}

bool adapter_rlc_has_room(uint32_t rnti, int drb, int bytes) {
  logical_chan_id_t const lcid = nr_rlc_get_lcid_from_rb((int)rnti, false, drb);
  return lcid != 0 && nr_rlc_get_available_tx_space((int)rnti, lcid) >= bytes;
}

/* OAI calls it with PDCP's lock held: nothing here may wait for a thread that waits for PDCP. */
nr_pdcp_entity_t* WRAP(new_nr_pdcp_entity)(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdu_session, bool sdap_rx, bool sdap_tx,
    void (*deliver_sdu)(void*, nr_pdcp_entity_t*, char*, int, const nr_pdcp_integrity_data_t*),
    void* ue, int sn_size, int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security) {
#define MAKE()                                                                                  \
  REAL(new_nr_pdcp_entity)(type, is_gnb, rb_id, pdu_session, sdap_rx, sdap_tx, deliver_sdu, ue, \
                           sn_size, t_reordering, discard_timer, security)
  nr_pdcp_entity_t* entity = MAKE();
  if (adapter_controls(type, is_gnb)) {
    adapter_take_entity(ue, entity, MAKE());
  }
  return entity;
}
