/* Calls the scheduler, in the shape that the MAC has. */
#include "common/ran_context.h"
#include "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"

void mock_mac_schedule(int cell, frame_t frame, slot_t slot) {
  static _Thread_local NR_Sched_Rsp_t response;
#if MOCK_CELLS > 1
  gNB_dlsch_ulsch_scheduler(0, cell, frame, slot, &response);
#else
  (void)cell;
  gNB_dlsch_ulsch_scheduler(0, frame, slot, &response);
#endif
}
