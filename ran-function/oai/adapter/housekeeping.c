/* The housekeeping thread, which has no real-time priority: returns packets of removed bearers, serves
   bearers that no MAC asks about, writes the status file. In a CU, where no MAC asks, it is what hands
   down packets that shapers and pacers held back. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "adapter.h"

#define PERIOD_MS 100
/* Without a MAC: a TTI of 1 ms, in steps of which forecasts say what the RLC of the DU drains. */
#define CU_PERIOD_MS 1
#define STATUS_BYTES (1 << 20)

static atomic_bool stopping;
static pthread_t thread;
static const char* status_file;
static uint64_t status_us;

/* A reader sees the whole of one status: the file is replaced, not rewritten. */
static void write_status(const char* text) {
  char name[4096];
  int const length = snprintf(name, sizeof(name), "%s.new", status_file);
  if (length < 0 || (size_t)length >= sizeof(name)) {
    return;
  }
  FILE* file = fopen(name, "w");
  if (file == NULL) {
    return;
  }
  fprintf(file, "%s\n", text);
  if (fclose(file) == 0) {
    rename(name, status_file);
  }
}

static void* housekeep(void* argument) {
  sojourn_gnb_t* gnb = argument;
  char* text = status_file == NULL ? NULL : malloc(STATUS_BYTES);
  uint64_t due_us = adapter_now_us() + status_us;
  while (!atomic_load(&stopping)) {
    long const period_ms = adapter_has_mac() ? PERIOD_MS : CU_PERIOD_MS;
    struct timespec const period = {.tv_nsec = period_ms * 1000000L};
    nanosleep(&period, NULL);
    uint64_t const now_us = adapter_now_us();
    sojourn_gnb_poll(gnb, now_us);
    if (now_us < due_us) {
      continue;
    }
    due_us = now_us + status_us;
    if (text != NULL && sojourn_gnb_status(gnb, now_us, text, STATUS_BYTES) > 0) {
      write_status(text);
    }
  }
  free(text);
  return NULL;
}

static void stop(void) {
  atomic_store(&stopping, true);
  pthread_join(thread, NULL);
}

void adapter_start_housekeeping(sojourn_gnb_t* gnb, uint64_t status_ms) {
  status_file = getenv("SOJOURN_STATUS_FILE");
  status_us = 1000 * (status_ms < PERIOD_MS ? PERIOD_MS : status_ms);
  /* OAI's signals are for OAI's threads. */
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  /* The thread that first needs the host may be real-time: this one is not. */
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  if (pthread_create(&thread, &attributes, housekeep, gnb) == 0) {
    atexit(stop);
  } else {
    fprintf(stderr, "sojourn: no thread for the status file; removed bearers keep their packets\n");
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
