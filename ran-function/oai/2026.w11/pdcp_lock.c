/* OAI's one lock of PDCP, which is of all UEs. A thread that delivers an uplink SDU holds it during a
   system call (TUN, GTP-U), and the thread that schedules must not wait for that. So a lock that can be
   tried stands in front of it: whoever has it finds OAI's free. */
#include <pthread.h>

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_ue_manager.h"

#include "adapter.h"

SHAPE(nr_pdcp_manager_lock, void(nr_pdcp_ue_manager_t*));
SHAPE(nr_pdcp_manager_unlock, void(nr_pdcp_ue_manager_t*));

WRAPPED(nr_pdcp_manager_lock);
WRAPPED(nr_pdcp_manager_unlock);

void WRAP(nr_pdcp_manager_lock)(nr_pdcp_ue_manager_t* manager);
void WRAP(nr_pdcp_manager_unlock)(nr_pdcp_ue_manager_t* manager);

/* Longest wait, that of the thread that schedules for a bearer. */
#define PATIENCE_US 10

static pthread_mutex_t in_front = PTHREAD_MUTEX_INITIALIZER;
/* Whether this thread has it over several calls of PDCP. */
static _Thread_local bool held;

bool adapter_pdcp_lock_wrapped(void) {
  bool const locked = IS_WRAPPED(nr_pdcp_manager_lock);
  bool const unlocked = IS_WRAPPED(nr_pdcp_manager_unlock);
  return locked && unlocked;
}

void WRAP(nr_pdcp_manager_lock)(nr_pdcp_ue_manager_t* manager) {
  if (!held) {
    pthread_mutex_lock(&in_front);
  }
  REAL(nr_pdcp_manager_lock)(manager);
}

void WRAP(nr_pdcp_manager_unlock)(nr_pdcp_ue_manager_t* manager) {
  REAL(nr_pdcp_manager_unlock)(manager);
  if (!held) {
    pthread_mutex_unlock(&in_front);
  }
}

bool adapter_pdcp_try(void) {
  uint64_t const until_us = adapter_now_us() + PATIENCE_US;
  do {
    held = pthread_mutex_trylock(&in_front) == 0;
  } while (!held && adapter_now_us() < until_us);
  return held;
}

bool adapter_pdcp_held(void) {
  return held;
}

void adapter_pdcp_release(void) {
  held = false;
  pthread_mutex_unlock(&in_front);
  adapter_flush_to_rlc();
}
