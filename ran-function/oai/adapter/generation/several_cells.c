/* A MAC with several cells, each with slots of its own: OAI from summer 2026. */
#include "scheduler.h"

SHAPE_UNLESS(gNB_dlsch_ulsch_scheduler, scheduler_of_several_cells_t, scheduler_of_one_cell_t,
             "gNB_dlsch_ulsch_scheduler has no cell: this OAI has one cell, and "
             "generation/one_cell.c fits");

#include "openair2/LAYER2/NR_MAC_gNB/nr_mac_cell.h"

SHAPE(nr_mac_get_cell_by_phy_id, nr_cell_sched_t*(gNB_MAC_INST*, uint16_t));
MEMBER(nr_cell_sched_t, frame_structure, frame_structure_t);
MEMBER(frame_structure_t, numb_slots_frame, int8_t);

WRAPPED(gNB_dlsch_ulsch_scheduler);

bool adapter_scheduler_wrapped(void) {
  return IS_WRAPPED(gNB_dlsch_ulsch_scheduler);
}

void WRAP(gNB_dlsch_ulsch_scheduler)(module_id_t module, const int cell, frame_t frame, slot_t slot,
                                     NR_Sched_Rsp_t* response) {
  const nr_cell_sched_t* scheduled = nr_mac_get_cell_by_phy_id(RC.nrmac[module], (uint16_t)cell);
  adapter_slot_begins(cell, scheduled->frame_structure.numb_slots_frame);
  REAL(gNB_dlsch_ulsch_scheduler)(module, cell, frame, slot, response);
  adapter_slot_ended(cell);
}
