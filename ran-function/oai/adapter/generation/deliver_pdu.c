/* PDCP whose entities hand PDUs on by a `deliver_pdu` of their own: OAI without nr_up. */
#include "entity.h"

SHAPE_UNLESS(new_nr_pdcp_entity, new_entity_with_deliver_pdu_t, new_entity_with_nr_up_t,
             "new_nr_pdcp_entity has no deliver_pdu: this OAI has nr_up, and generation/nr_up.c "
             "fits");

WRAPPED(new_nr_pdcp_entity);

bool adapter_entity_wrapped(void) {
  return IS_WRAPPED(new_nr_pdcp_entity);
}

/* OAI numbers what its RLC then rejects, and so does the adapter when it does not fill a block: a
   bearer without control is as in OAI. */
bool adapter_rlc_has_room(uint32_t rnti, int drb, int bytes) {
  (void)rnti, (void)drb, (void)bytes;
  return true;
}

/* OAI calls it with PDCP's lock held: nothing here may wait for a thread that waits for PDCP. */
nr_pdcp_entity_t* WRAP(new_nr_pdcp_entity)(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdu_session, bool sdap_rx, bool sdap_tx,
    void (*deliver_sdu)(void*, nr_pdcp_entity_t*, char*, int, const nr_pdcp_integrity_data_t*),
    void* ue, void (*deliver_pdu)(void*, ue_id_t, int, char*, int, int), void* deliver_pdu_data,
    int sn_size, int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security) {
#define MAKE()                                                                                  \
  REAL(new_nr_pdcp_entity)(type, is_gnb, rb_id, pdu_session, sdap_rx, sdap_tx, deliver_sdu, ue, \
                           deliver_pdu, deliver_pdu_data, sn_size, t_reordering, discard_timer, \
                           security)
  nr_pdcp_entity_t* entity = MAKE();
  if (adapter_controls(type, is_gnb)) {
    adapter_take_entity(ue, entity, MAKE());
  }
  return entity;
}
