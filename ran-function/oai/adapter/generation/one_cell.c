/* A MAC with one cell: OAI until summer 2026. */
#include "scheduler.h"

SHAPE_UNLESS(gNB_dlsch_ulsch_scheduler, scheduler_of_one_cell_t, scheduler_of_several_cells_t,
             "gNB_dlsch_ulsch_scheduler has a cell: this OAI has several cells, and "
             "generation/several_cells.c fits");
MEMBER(gNB_MAC_INST, frame_structure, frame_structure_t);
MEMBER(frame_structure_t, numb_slots_frame, int8_t);

WRAPPED(gNB_dlsch_ulsch_scheduler);

bool adapter_scheduler_wrapped(void) {
  return IS_WRAPPED(gNB_dlsch_ulsch_scheduler);
}

void WRAP(gNB_dlsch_ulsch_scheduler)(module_id_t module, frame_t frame, slot_t slot,
                                     NR_Sched_Rsp_t* response) {
  adapter_slot_begins(0, RC.nrmac[module]->frame_structure.numb_slots_frame);
  REAL(gNB_dlsch_ulsch_scheduler)(module, frame, slot, response);
  adapter_slot_ended(0);
}
