#include "openair2/F1AP/f1ap_ids.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static f1_ue_data_t data_of[64];

bool cu_add_f1_ue_data(uint32_t ue, const f1_ue_data_t* data) {
  pthread_mutex_lock(&lock);
  data_of[ue % 64] = *data;
  pthread_mutex_unlock(&lock);
  return true;
}

bool cu_update_f1_ue_data(uint32_t ue, const f1_ue_data_t* data) {
  return cu_add_f1_ue_data(ue, data);
}

f1_ue_data_t cu_get_f1_ue_data(uint32_t ue) {
  pthread_mutex_lock(&lock);
  f1_ue_data_t const data = data_of[ue % 64];
  pthread_mutex_unlock(&lock);
  return data;
}
