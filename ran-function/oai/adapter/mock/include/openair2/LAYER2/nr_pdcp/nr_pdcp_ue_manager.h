#ifndef MOCK_PDCP_UE_MANAGER_H
#define MOCK_PDCP_UE_MANAGER_H

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_entity.h"

typedef struct nr_pdcp_ue_t {
  ue_id_t ue_id;
  nr_pdcp_entity_t* drb[32];
} nr_pdcp_ue_t;

#endif
