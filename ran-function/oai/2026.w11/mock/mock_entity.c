#include <stdlib.h>

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"

nr_pdcp_entity_t* new_nr_pdcp_entity(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdusession_id, bool has_sdap_rx,
    bool has_sdap_tx,
    void (*deliver_sdu)(void*, struct nr_pdcp_entity_s*, char*, int,
                        const nr_pdcp_integrity_data_t*),
    void* deliver_sdu_data, void (*deliver_pdu)(void*, ue_id_t, int, char*, int, int),
    void* deliver_pdu_data, int sn_size, int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security) {
  (void)type, (void)is_gnb, (void)rb_id, (void)pdusession_id, (void)has_sdap_rx, (void)has_sdap_tx;
  (void)deliver_sdu, (void)deliver_sdu_data, (void)deliver_pdu_data, (void)sn_size;
  (void)t_reordering, (void)discard_timer, (void)security;
  nr_pdcp_entity_t* entity = calloc(1, sizeof(*entity));
  entity->deliver_pdu = deliver_pdu;
  return entity;
}
