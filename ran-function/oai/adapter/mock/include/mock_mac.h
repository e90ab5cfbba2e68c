/* What a scheduler has in each of its shapes. */
#ifndef MOCK_MAC_TYPES_H
#define MOCK_MAC_TYPES_H

#include "mock_types.h"

typedef struct {
  int unused;
} NR_Sched_Rsp_t;

/* UEs that a cell schedules, and the size of their blocks. */
void mock_mac_add(int cell, uint16_t rnti);
void mock_mac_remove(uint16_t rnti);
extern tb_size_t mock_block_bytes;

/* The scheduler of a cell, called in the shape that the MAC has. */
void mock_mac_schedule(int cell, frame_t frame, slot_t slot);
/* Slots of a frame of a cell; 0 while it is not configured. */
void mock_mac_set_slots(int cell, int8_t slots);

#endif
