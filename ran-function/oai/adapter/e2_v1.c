/* E2SM-TC v1 of OAI's E2 agent: the table that the service-model plugin
   (gateway/flexric/service-model), which the agent loads from its folder, looks up in the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openair2/E2AP/flexric/src/agent/e2_agent_api.h"

#include "adapter.h"
#include "sojourn_tc_interface.h"

static bool definition(void* context, sojourn_tc_room_t* room) {
  (void)context;
  /* Without a host the function is not offered. */
  room->len = adapter_gnb() == NULL ? 0 : sojourn_gnb_definition_v1(room->at, room->capacity);
  return room->len > 0;
}

static bool subscribe(void* context, uint32_t request, sojourn_tc_bytes_t trigger,
                      sojourn_tc_bytes_t action, uint32_t* period_ms, sojourn_tc_room_t* reason) {
  (void)context;
  char text[SOJOURN_TC_REASON_BYTES] = "no traffic control in this gNB";
  *period_ms = sojourn_gnb_subscribe_v1(adapter_gnb(), request, trigger.at, trigger.len, action.at,
                                        action.len, text, sizeof(text));
  if (*period_ms > 0) {
    return true;
  }
  size_t const length = strlen(text);
  reason->len = length < reason->capacity ? length : reason->capacity;
  memcpy(reason->at, text, reason->len);
  return false;
}

static void unsubscribe(void* context, uint32_t request) {
  (void)context;
  sojourn_gnb_unsubscribe_v1(adapter_gnb(), request);
}

static bool report(void* context, uint32_t request, sojourn_tc_room_t* header,
                   sojourn_tc_room_t* message) {
  (void)context;
  message->len =
      sojourn_gnb_report_v1(adapter_gnb(), request, adapter_now_us(), header->at, header->capacity,
                            &header->len, message->at, message->capacity);
  return message->len > 0;
}

static void write_hex(FILE* file, const char* name, const uint8_t* at, size_t len) {
  fprintf(file, ",\"%s\":\"", name);
  for (size_t i = 0; i < len; ++i) {
    fprintf(file, "%02x", at[i]);
  }
  fputc('"', file);
}

/* A line for each control: the gNB alone shows who changed what. The file is opened for each,
   so that it may be moved away. */
static void log_control(sojourn_tc_bytes_t header, sojourn_tc_bytes_t message,
                        const sojourn_tc_room_t* outcome) {
  const char* name = getenv("SOJOURN_CONTROL_LOG");
  if (name == NULL) {
    return;
  }
  FILE* file = fopen(name, "a");
  if (file == NULL) {
    fprintf(stderr, "sojourn: SOJOURN_CONTROL_LOG=%s cannot be written\n", name);
    return;
  }
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  fprintf(file, "{\"at_us\":%lld", (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
  write_hex(file, "header", header.at, header.len);
  write_hex(file, "message", message.at, message.len);
  write_hex(file, "outcome", outcome->at, outcome->len);
  fputs("}\n", file);
  fclose(file);
}

static void control(void* context, sojourn_tc_bytes_t header, sojourn_tc_bytes_t message,
                    sojourn_tc_room_t* outcome) {
  (void)context;
  outcome->len = sojourn_gnb_control_v1(adapter_gnb(), header.at, header.len, message.at,
                                        message.len, adapter_now_us(), outcome->at,
                                        outcome->capacity);
  log_control(header, message, outcome);
}

const sojourn_tc_interface_t* sojourn_tc_interface(void) {
  static sojourn_tc_interface_t const table = {
      .version = SOJOURN_TC_INTERFACE_VERSION,
      .definition = definition,
      .subscribe = subscribe,
      .unsubscribe = unsubscribe,
      .report = report,
      .control = control,
      .async_event = async_event_agent_api,
  };
  return &table;
}
