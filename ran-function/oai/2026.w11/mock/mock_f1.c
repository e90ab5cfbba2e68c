#include "openair2/F1AP/f1ap_ids.h"

static f1_ue_data_t data_of[64];

bool cu_add_f1_ue_data(uint32_t ue, const f1_ue_data_t* data) {
  data_of[ue % 64] = *data;
  return true;
}

bool cu_update_f1_ue_data(uint32_t ue, const f1_ue_data_t* data) {
  data_of[ue % 64] = *data;
  return true;
}

f1_ue_data_t cu_get_f1_ue_data(uint32_t ue) {
  return data_of[ue % 64];
}
