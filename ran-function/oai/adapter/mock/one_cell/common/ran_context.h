#ifndef MOCK_RAN_CONTEXT_H
#define MOCK_RAN_CONTEXT_H

#include <stdint.h>

#define MOCK_CELLS 1

typedef struct {
  int8_t numb_slots_frame;
} frame_structure_t;

typedef struct {
  frame_structure_t frame_structure;
} gNB_MAC_INST;

typedef struct {
  gNB_MAC_INST** nrmac;
} RAN_CONTEXT_t;

extern RAN_CONTEXT_t RC;

#endif
