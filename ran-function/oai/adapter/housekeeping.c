/* The housekeeping thread, which has no real-time priority: returns packets of removed bearers, serves
   bearers that no MAC asks about, writes the status file. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "adapter.h"

#define PERIOD_MS 100
#define STATUS_BYTES (1 << 20)

static atomic_bool stopping;
static pthread_t thread;
static const char* status_file;
static uint64_t polls_per_status;

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
  for (uint64_t polls = 1; !atomic_load(&stopping); ++polls) {
    struct timespec const period = {.tv_nsec = PERIOD_MS * 1000000L};
    nanosleep(&period, NULL);
    sojourn_gnb_poll(gnb, adapter_now_us());
    if (text != NULL && polls % polls_per_status == 0 &&
        sojourn_gnb_status(gnb, adapter_now_us(), text, STATUS_BYTES) > 0) {
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
  polls_per_status = status_ms < PERIOD_MS ? 1 : status_ms / PERIOD_MS;
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
