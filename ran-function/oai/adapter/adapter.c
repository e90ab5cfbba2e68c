/* The host of this process: settings from the environment, made when OAI first needs it. */
#include "adapter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/oai_version.h"

static sojourn_gnb_t* the_gnb;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool has_mac;
/* Clock of the slot times. The thread's own has no time that other threads took, and costs a system call. */
static clockid_t slot_clock = CLOCK_MONOTONIC;

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t adapter_now_us(void) {
  return clock_ns(CLOCK_MONOTONIC) / 1000;
}

uint64_t adapter_slot_clock_ns(void) {
  return clock_ns(slot_clock);
}

bool adapter_has_mac(void) {
  return atomic_load_explicit(&has_mac, memory_order_relaxed);
}

void adapter_mac_ticked(void) {
  atomic_store_explicit(&has_mac, true, memory_order_relaxed);
}

bool adapter_wrapped(const char* name, adapter_function_t* in_oai, adapter_function_t* meant,
                     adapter_function_t* ours) {
  /* A compiler may take two names for two functions, which the linker makes one. */
  adapter_function_t* volatile wrapped = meant;
  if (wrapped != ours) {
    fprintf(stderr, "sojourn: %s is not wrapped: link with wraps.txt\n", name);
    return false;
  }
  if (in_oai == NULL) {
    fprintf(stderr, "sojourn: this OAI has no %s\n", name);
    return false;
  }
  return true;
}

/* All are looked at, so that one start shows all that is missing. */
bool adapter_all_wrapped(void) {
  bool const pdcp = adapter_pdcp_wrapped();
  bool const entity = adapter_entity_wrapped();
  bool const rlc = adapter_rlc_wrapped();
  bool const mac = adapter_mac_wrapped();
  bool const scheduler = adapter_scheduler_wrapped();
  return pdcp && entity && rlc && mac && scheduler;
}

/* A number of the environment; false if it is none. */
static bool number(const char* name, uint64_t* value) {
  const char* text = getenv(name);
  if (text == NULL || *text == '\0') {
    return true;
  }
  char* end;
  *value = strtoull(text, &end, 10);
  if (*end == '\0' && *text != '-') {
    return true;
  }
  fprintf(stderr, "sojourn: %s=%s; expected a number\n", name, text);
  return false;
}

/* The clock of the slot times by the environment; false if it names none. */
static bool choose_slot_clock(void) {
  const char* name = getenv("SOJOURN_SLOT_CLOCK");
  if (name == NULL || *name == '\0' || strcmp(name, "wall") == 0) {
    return true;
  }
  if (strcmp(name, "cpu") == 0) {
    slot_clock = CLOCK_THREAD_CPUTIME_ID;
    return true;
  }
  fprintf(stderr, "sojourn: SOJOURN_SLOT_CLOCK=%s; expected wall or cpu\n", name);
  return false;
}

static void create(void) {
  const char* off = getenv("SOJOURN_OFF");
  if (off != NULL && strcmp(off, "1") == 0) {
    fprintf(stderr, "sojourn: off by SOJOURN_OFF; all packets pass untouched\n");
    return;
  }
  uint64_t buffers = 0;
  uint64_t seed = 1;
  uint64_t status_ms = 1000;
  char error[256] = "a setting cannot be read";
  bool const can_read = number("SOJOURN_BUFFERS", &buffers) && number("SOJOURN_SEED", &seed) &&
                        number("SOJOURN_STATUS_MS", &status_ms) && choose_slot_clock();
  if (can_read && !adapter_all_wrapped()) {
    strcpy(error, "a wrapped symbol is missing");
  } else if (can_read) {
    sojourn_gnb_functions_t const functions = {.forward = adapter_forward};
    sojourn_gnb_settings_t const settings = {
        .pipeline = getenv("SOJOURN_PIPELINE"),
        .buffers = buffers > UINT32_MAX ? UINT32_MAX : (uint32_t)buffers,
        .seed = seed,
        .epoch_us = clock_ns(CLOCK_REALTIME) / 1000 - adapter_now_us(),
    };
    the_gnb = sojourn_gnb_create(&functions, &settings, error, sizeof(error));
  }
  if (the_gnb == NULL) {
    fprintf(stderr, "sojourn: %s; all packets pass untouched\n", error);
    return;
  }
  fprintf(stderr, "sojourn: traffic control %s in OAI (%s)\n", sojourn_gnb_version(),
          OAI_PACKAGE_VERSION);
  adapter_start_housekeeping(the_gnb, status_ms);
}

sojourn_gnb_t* adapter_gnb(void) {
  pthread_once(&once, create);
  return the_gnb;
}
