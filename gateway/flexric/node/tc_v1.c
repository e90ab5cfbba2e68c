/* What E2SM-TC v1's service model calls of this node. */
#include "agent/e2_agent_api.h"

#include "node.h"
#include "sojourn_tc_interface.h"

static bool definition(void* context, sojourn_tc_room_t* room) {
  room->len = node.tc_definition(context, room->at, room->capacity);
  return room->len > 0;
}

static bool subscribe(void* context, uint32_t request, sojourn_tc_bytes_t trigger,
                      sojourn_tc_bytes_t action, uint32_t* period_ms, sojourn_tc_room_t* reason) {
  *period_ms = node.tc_subscribe(context, request, trigger.at, trigger.len, action.at, action.len,
                                 reason->at, reason->capacity, &reason->len);
  return *period_ms > 0;
}

static void unsubscribe(void* context, uint32_t request) {
  node.tc_unsubscribe(context, request);
}

static bool report(void* context, uint32_t request, sojourn_tc_room_t* header,
                   sojourn_tc_room_t* message) {
  return node.tc_report(context, request, header->at, header->capacity, &header->len, message->at,
                        message->capacity, &message->len);
}

static void control(void* context, sojourn_tc_bytes_t header, sojourn_tc_bytes_t message,
                    sojourn_tc_room_t* outcome) {
  outcome->len = node.tc_control(context, header.at, header.len, message.at, message.len,
                                 outcome->at, outcome->capacity);
}

/* Found by its name when the agent loads the service model, after node_start has set `node`. */
const sojourn_tc_interface_t* sojourn_tc_interface(void) {
  static sojourn_tc_interface_t table;
  table = (sojourn_tc_interface_t){.version = SOJOURN_TC_INTERFACE_VERSION,
                                   .context = node.context,
                                   .definition = definition,
                                   .subscribe = subscribe,
                                   .unsubscribe = unsubscribe,
                                   .report = report,
                                   .control = control,
                                   .async_event = async_event_agent_api};
  return &table;
}
