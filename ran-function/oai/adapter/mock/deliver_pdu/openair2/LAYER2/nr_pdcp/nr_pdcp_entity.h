#ifndef MOCK_NR_PDCP_ENTITY_H
#define MOCK_NR_PDCP_ENTITY_H

#define MOCK_DELIVER_PDU
#include "mock_entity.h"

nr_pdcp_entity_t* new_nr_pdcp_entity(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdusession_id, bool has_sdap_rx,
    bool has_sdap_tx,
    void (*deliver_sdu)(void* deliver_sdu_data, struct nr_pdcp_entity_s* entity, char* buf,
                        int size, const nr_pdcp_integrity_data_t* msg_integrity),
    void* deliver_sdu_data,
    void (*deliver_pdu)(void* deliver_pdu_data, ue_id_t ue_id, int rb_id, char* buf, int size,
                        int sdu_id),
    void* deliver_pdu_data, int sn_size, int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security_parameters);

#endif
