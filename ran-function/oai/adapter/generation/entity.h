/* What makes a PDCP entity, in each of its shapes. */
#ifndef SOJOURN_OAI_ENTITY_H
#define SOJOURN_OAI_ENTITY_H

#include "../bearer.h"

typedef nr_pdcp_entity_t* new_entity_with_deliver_pdu_t(
    nr_pdcp_entity_type_t, int, int, int, bool, bool,
    void (*)(void*, nr_pdcp_entity_t*, char*, int, const nr_pdcp_integrity_data_t*), void*,
    void (*)(void*, ue_id_t, int, char*, int, int), void*, int, int, int,
    const nr_pdcp_entity_security_keys_and_algos_t*);
typedef nr_pdcp_entity_t* new_entity_with_nr_up_t(
    nr_pdcp_entity_type_t, int, int, int, bool, bool,
    void (*)(void*, nr_pdcp_entity_t*, char*, int, const nr_pdcp_integrity_data_t*), void*, int,
    int, int, const nr_pdcp_entity_security_keys_and_algos_t*);

#endif
