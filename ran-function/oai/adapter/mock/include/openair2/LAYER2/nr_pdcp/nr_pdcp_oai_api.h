#ifndef MOCK_PDCP_H
#define MOCK_PDCP_H

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_ue_manager.h"

bool nr_pdcp_data_req_drb(protocol_ctxt_t* ctxt, const srb_flag_t srb, const rb_id_t rb,
                          const mui_t mui, const confirm_t confirm, const sdu_size_t size,
                          unsigned char* const sdu, const pdcp_transmission_mode_t mode,
                          const uint32_t* const source, const uint32_t* const destination);
void nr_pdcp_release_drb(ue_id_t ue, int drb);
void nr_pdcp_remove_UE(ue_id_t ue);
void nr_pdcp_suspend_drb(ue_id_t ue, int drb);
void nr_pdcp_reestablishment(ue_id_t ue, int rb, bool srb,
                             const nr_pdcp_entity_security_keys_and_algos_t* security_parameters);
bool nr_pdcp_get_statistics(ue_id_t ue, int srb, int rb, nr_pdcp_statistics_t* out);

/* Adds a DRB with a sequence number of 18 bits, as a control plane does. */
void mock_pdcp_add_drb(ue_id_t ue, int drb);
/* Receives a PDU; what it delivers it writes to `mock_device`, with the lock of all UEs. */
void mock_pdcp_receive(ue_id_t ue, int drb);
extern void (*mock_device)(void);

#endif
