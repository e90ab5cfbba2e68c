/* Keeps OAI's RF simulator, which runs as fast as the machine allows, to wall-clock time. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "adapter.h"

/* A simulator that is later than this is not made to catch up: the time is lost. */
#define MAX_LATE_US 20000
/* Cells that are paced; others go on as fast as they can. */
#define CELLS 16

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool wanted;
/* When the next slot of a cell is due: each cell has its own slots, whichever thread schedules them. */
static uint64_t due_us[CELLS];

static void read_setting(void) {
  const char* text = getenv("SOJOURN_PACE");
  wanted = text != NULL && text[0] == '1' && text[1] == '\0';
}

void adapter_pace(int cell, uint32_t slot_us) {
  pthread_once(&once, read_setting);
  if (!wanted || cell < 0 || cell >= CELLS) {
    return;
  }
  uint64_t* due = &due_us[cell];
  uint64_t const now_us = adapter_now_us();
  if (*due == 0 || now_us > *due + MAX_LATE_US) {
    *due = now_us;
  } else if (now_us < *due) {
    struct timespec const until = {.tv_sec = (time_t)(*due / 1000000),
                                   .tv_nsec = (long)(*due % 1000000) * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  }
  *due += slot_us;
}
