#ifndef MOCK_F1AP_IDS_H
#define MOCK_F1AP_IDS_H

#include "mock_types.h"

typedef struct f1_ue_data_t {
  uint32_t secondary_ue;
} f1_ue_data_t;

bool cu_add_f1_ue_data(uint32_t ue, const f1_ue_data_t* data);
bool cu_update_f1_ue_data(uint32_t ue, const f1_ue_data_t* data);
f1_ue_data_t cu_get_f1_ue_data(uint32_t ue);

#endif
