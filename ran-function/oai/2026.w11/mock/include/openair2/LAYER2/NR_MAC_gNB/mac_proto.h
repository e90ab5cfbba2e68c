#ifndef MOCK_MAC_H
#define MOCK_MAC_H

#include "mock_types.h"

typedef struct {
  int unused;
} NR_Sched_Rsp_t;

void gNB_dlsch_ulsch_scheduler(module_id_t module, frame_t frame, slot_t slot,
                               NR_Sched_Rsp_t* response);

/* UEs that the MAC schedules, and the size of their blocks. */
void mock_mac_add(uint16_t rnti);
void mock_mac_remove(uint16_t rnti);
extern tb_size_t mock_block_bytes;

#endif
