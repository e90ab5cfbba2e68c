#ifndef MOCK_MAC_H
#define MOCK_MAC_H

#include "mock_mac.h"

void gNB_dlsch_ulsch_scheduler(module_id_t module, const int cell_id, frame_t frame, slot_t slot,
                               NR_Sched_Rsp_t* response);

#endif
