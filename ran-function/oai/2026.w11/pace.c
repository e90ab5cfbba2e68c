/* Keeps OAI's RF simulator, which runs as fast as the machine allows, to wall-clock time. */
#include <stdlib.h>
#include <time.h>

#include "adapter.h"

/* A simulator that is later than this is not made to catch up: the time is lost. */
#define MAX_LATE_US 20000

void adapter_pace(uint32_t slot_us) {
  static int wanted = -1;
  static uint64_t due_us;
  if (wanted < 0) {
    const char* text = getenv("SOJOURN_PACE");
    wanted = text != NULL && text[0] == '1' && text[1] == '\0';
  }
  if (!wanted) {
    return;
  }
  uint64_t const now_us = adapter_now_us();
  if (due_us == 0 || now_us > due_us + MAX_LATE_US) {
    due_us = now_us;
  } else if (now_us < due_us) {
    struct timespec const until = {.tv_sec = (time_t)(due_us / 1000000),
                                   .tv_nsec = (long)(due_us % 1000000) * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  }
  due_us += slot_us;
}
