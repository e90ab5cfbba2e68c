/* The interface between the service model E2SM-TC v1 (libsojourn_tc_sm.so) and the TC function of the E2
 * node that loads it.
 *
 * The node exports `sojourn_tc_interface`, in its executable (linked with
 * -Wl,--export-dynamic-symbol=sojourn_tc_interface or -rdynamic) or in a library that is loaded with it.
 * All bytes are E2SM-TC v1 in aligned PER, passed on unchanged in both directions.
 *
 * FlexRIC's agent calls from one thread, one call at a time; each call holds up every other service
 * model of the node, so none may wait for long. A near-RT RIC gives a control 3 s.
 */
#ifndef SOJOURN_TC_INTERFACE_H
#define SOJOURN_TC_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sojourn_tc_sm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of sojourn_tc_interface_t. */
#define SOJOURN_TC_INTERFACE_VERSION 1u

enum {
  /* FlexRIC receives 32 KiB at most, of which E2AP takes some 80 bytes: the longest header and message
     of a report together. A longer message ends the near-RT RIC. */
  SOJOURN_TC_REPORT_BYTES = 32768 - 256,
  SOJOURN_TC_HEADER_BYTES = 64,
  /* The longest message beside the longest header. */
  SOJOURN_TC_MESSAGE_BYTES = SOJOURN_TC_REPORT_BYTES - SOJOURN_TC_HEADER_BYTES,
  SOJOURN_TC_DEFINITION_BYTES = 4096,
  SOJOURN_TC_REASON_BYTES = 256,
};

/* Bytes of the caller, valid during the call. */
typedef struct {
  const uint8_t *at;
  size_t len;
} sojourn_tc_bytes_t;

/* Room of the caller; the callee sets `len`, at most `capacity`. */
typedef struct {
  uint8_t *at;
  size_t capacity;
  size_t len;
} sojourn_tc_room_t;

typedef struct {
  /* SOJOURN_TC_INTERFACE_VERSION. */
  uint32_t version;
  void *context;

  /* RanFunctionDefinition, for E2 SETUP. False: the node has no TC function; the service model then
     announces a definition that does not decode, and refuses what is asked of it. */
  bool (*definition)(void *context, sojourn_tc_room_t *definition);

  /* Begins the subscription of this RIC request: EventTrigger and ActionDefinition. On success the
     period at which `report` is asked, 1 to 10000 ms. On failure the reason, for people, in UTF-8:
     FlexRIC's agent admits every subscription, so the RIC gets it as a report. */
  bool (*subscribe)(void *context, uint32_t request, sojourn_tc_bytes_t trigger,
                    sojourn_tc_bytes_t action, uint32_t *period_ms, sojourn_tc_room_t *reason);
  /* Ends it. */
  void (*unsubscribe)(void *context, uint32_t request);

  /* The next report of a subscription: IndicationHeader and IndicationMessage. False: none now. */
  bool (*report)(void *context, uint32_t request, sojourn_tc_room_t *header,
                 sojourn_tc_room_t *message);

  /* ControlHeader and ControlMessage; the outcome is a ControlOutcome, also of a refusal. Nothing
     written: no outcome within the time that the node has. */
  void (*control)(void *context, sojourn_tc_bytes_t header, sojourn_tc_bytes_t message,
                  sojourn_tc_room_t *outcome);

  /* FlexRIC's own `async_event_agent_api` of the agent in this process. */
  void (*async_event)(uint32_t request, void *event);
} sojourn_tc_interface_t;

/* Called once, when the agent loads the service model; the table stays valid from then on. NULL: no TC
   function. */
const sojourn_tc_interface_t *sojourn_tc_interface(void);

#ifdef __cplusplus
}
#endif

#endif
