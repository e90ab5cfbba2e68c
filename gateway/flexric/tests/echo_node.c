/* An E2 node whose TC function gives back what it gets: a report of a subscription has the event trigger as
 * header and the action definition as message, and the outcome of a control is its message.
 *
 *   echo_node RIC-ADDRESS SERVICE-MODELS/ DEFINITION-FILE
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/e2_agent_api.h"
#include "lib/e2ap/e2ap_node_component_config_add_wrapper.h"

#include "sojourn_tc_interface.h"

enum { SUBSCRIPTIONS = 64, PERIOD_MS = 2 };

/* The address is a pointer in some versions of fr_args_t and an array in others. */
#define IS_POINTER(member) _Generic(&(member), char**: true, const char**: true, default: false)

static uint8_t definition_bytes[SOJOURN_TC_DEFINITION_BYTES];
static size_t definition_len;
static struct {
  uint32_t request;
  uint8_t *trigger, *action;
  size_t trigger_len, action_len;
} subscriptions[SUBSCRIPTIONS];

static void give(sojourn_tc_room_t* room, const void* bytes, size_t len) {
  if (len <= room->capacity) {
    memcpy(room->at, bytes, len);
    room->len = len;
  }
}

static bool definition(void* context, sojourn_tc_room_t* room) {
  (void)context;
  give(room, definition_bytes, definition_len);
  return true;
}

static uint8_t* copy(sojourn_tc_bytes_t bytes) {
  uint8_t* copied = malloc(bytes.len);
  if (copied != NULL) {
    memcpy(copied, bytes.at, bytes.len);
  }
  return copied;
}

static bool subscribe(void* context, uint32_t request, sojourn_tc_bytes_t trigger,
                      sojourn_tc_bytes_t action, uint32_t* period_ms, sojourn_tc_room_t* reason) {
  (void)context;
  for (size_t i = 0; i < SUBSCRIPTIONS; ++i) {
    if (subscriptions[i].request == 0) {
      subscriptions[i].request = request;
      subscriptions[i].trigger = copy(trigger);
      subscriptions[i].trigger_len = trigger.len;
      subscriptions[i].action = copy(action);
      subscriptions[i].action_len = action.len;
      *period_ms = PERIOD_MS;
      return true;
    }
  }
  give(reason, "full", 4);
  return false;
}

static void unsubscribe(void* context, uint32_t request) {
  (void)context;
  for (size_t i = 0; i < SUBSCRIPTIONS; ++i) {
    if (subscriptions[i].request == request) {
      free(subscriptions[i].trigger);
      free(subscriptions[i].action);
      subscriptions[i].request = 0;
    }
  }
}

static bool report(void* context, uint32_t request, sojourn_tc_room_t* header,
                   sojourn_tc_room_t* message) {
  (void)context;
  for (size_t i = 0; i < SUBSCRIPTIONS; ++i) {
    if (subscriptions[i].request == request) {
      give(header, subscriptions[i].trigger, subscriptions[i].trigger_len);
      give(message, subscriptions[i].action, subscriptions[i].action_len);
      return true;
    }
  }
  return false;
}

static void control(void* context, sojourn_tc_bytes_t header, sojourn_tc_bytes_t message,
                    sojourn_tc_room_t* outcome) {
  (void)context;
  (void)header;
  give(outcome, message.at, message.len);
}

const sojourn_tc_interface_t* sojourn_tc_interface(void) {
  static const sojourn_tc_interface_t TABLE = {.version = SOJOURN_TC_INTERFACE_VERSION,
                                               .definition = definition,
                                               .subscribe = subscribe,
                                               .unsubscribe = unsubscribe,
                                               .report = report,
                                               .control = control,
                                               .async_event = async_event_agent_api};
  return &TABLE;
}

static void setup_ran(void* data) {
  arr_node_component_config_add_t* components = data;
  components->len_cca = 1;
  components->cca = calloc(1, sizeof(*components->cca));
  *components->cca = (e2ap_node_component_config_add_t){
      .e2_node_comp_interface_type = NG_E2AP_NODE_COMP_INTERFACE_TYPE,
      .e2_node_comp_id = {.type = NG_E2AP_NODE_COMP_INTERFACE_TYPE,
                          .ng_amf_name = cp_str_to_ba("echo")},
      .e2_node_comp_conf = {.request = cp_str_to_ba("request"),
                            .response = cp_str_to_ba("response")},
  };
}

/* Since 2024-01 the agent passes the type of the node. */
__attribute__((unused)) static void setup_ran_of(void* data, const ngran_node_t kind) {
  (void)kind;
  setup_ran(data);
}

int main(int argc, char** argv) {
  FILE* file = argc == 4 ? fopen(argv[3], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "echo_node RIC-ADDRESS SERVICE-MODELS/ DEFINITION-FILE\n");
    return 2;
  }
  definition_len = fread(definition_bytes, 1, sizeof(definition_bytes), file);
  fclose(file);

  /* FlexRIC prints to stdout, which the test reads as it comes. */
  setvbuf(stdout, NULL, _IOLBF, 0);
  static fr_args_t args;
  if (IS_POINTER(args.ip)) {
    memcpy((void*)&args.ip, &argv[1], sizeof(argv[1]));
  } else {
    snprintf((char*)&args.ip, sizeof(args.ip), "%s", argv[1]);
  }
  snprintf(args.libs_dir, sizeof(args.libs_dir), "%s", argv[2]);
  sm_io_ag_ran_t tables = {0};
  tables.read_setup_ran = _Generic(tables.read_setup_ran,
      void (*)(void*): setup_ran, default: setup_ran_of);

  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigprocmask(SIG_BLOCK, &ending, NULL);
  init_agent_api(1, 1, 2, 0xec0, 0, ngran_gNB, tables, &args);
  int received = 0;
  sigwait(&ending, &received);
  stop_agent_api();
  return 0;
}
