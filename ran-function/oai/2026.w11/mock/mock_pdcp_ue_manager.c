/* The lock of all UEs' PDCP, in a file of its own, as the linker wraps calls between files. */
#include <pthread.h>

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_ue_manager.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nr_pdcp_manager_lock(nr_pdcp_ue_manager_t* m) {
  (void)m;
  pthread_mutex_lock(&lock);
}

void nr_pdcp_manager_unlock(nr_pdcp_ue_manager_t* m) {
  (void)m;
  pthread_mutex_unlock(&lock);
}
