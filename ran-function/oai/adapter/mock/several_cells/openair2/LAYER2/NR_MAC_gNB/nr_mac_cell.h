#ifndef MOCK_MAC_CELL_H
#define MOCK_MAC_CELL_H

#include "common/ran_context.h"

nr_cell_sched_t* nr_mac_get_cell_by_phy_id(gNB_MAC_INST* mac, uint16_t phy_id);

#endif
