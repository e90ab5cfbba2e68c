#ifndef MOCK_PDCP_H
#define MOCK_PDCP_H

#include "mock_types.h"

typedef enum { NR_PDCP_SRB, NR_PDCP_DRB_AM, NR_PDCP_DRB_UM } nr_pdcp_entity_type_t;
typedef struct nr_pdcp_entity_security_keys_and_algos nr_pdcp_entity_security_keys_and_algos_t;
typedef struct nr_pdcp_integrity_data nr_pdcp_integrity_data_t;

typedef struct nr_pdcp_entity_s {
  void (*deliver_pdu)(void*, ue_id_t, int, char*, int, int);
  uint32_t tx_next;
} nr_pdcp_entity_t;

typedef struct nr_pdcp_ue_t {
  ue_id_t ue_id;
  nr_pdcp_entity_t* drb[32];
} nr_pdcp_ue_t;

nr_pdcp_entity_t* new_nr_pdcp_entity(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdusession_id, bool has_sdap_rx,
    bool has_sdap_tx,
    void (*deliver_sdu)(void*, struct nr_pdcp_entity_s*, char*, int,
                        const nr_pdcp_integrity_data_t*),
    void* deliver_sdu_data, void (*deliver_pdu)(void*, ue_id_t, int, char*, int, int),
    void* deliver_pdu_data, int sn_size, int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security);
bool nr_pdcp_data_req_drb(protocol_ctxt_t* ctxt, const srb_flag_t srb, const rb_id_t rb,
                          const mui_t mui, const confirm_t confirm, const sdu_size_t size,
                          unsigned char* const sdu, const pdcp_transmission_mode_t mode,
                          const uint32_t* const source, const uint32_t* const destination);
void nr_pdcp_release_drb(ue_id_t ue, int drb);
void nr_pdcp_remove_UE(ue_id_t ue);

/* Adds a DRB with a sequence number of 18 bits, as a control plane does. */
void mock_pdcp_add_drb(ue_id_t ue, int drb);

#endif
