/* The MAC's scheduler, in each of its shapes. */
#ifndef SOJOURN_OAI_SCHEDULER_H
#define SOJOURN_OAI_SCHEDULER_H

#include "common/ran_context.h"
#include "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"

#include "../adapter.h"

typedef void scheduler_of_one_cell_t(module_id_t, frame_t, slot_t, NR_Sched_Rsp_t*);
typedef void scheduler_of_several_cells_t(module_id_t, const int, frame_t, slot_t, NR_Sched_Rsp_t*);

#endif
