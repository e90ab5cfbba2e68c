/* Functions that the C side calls on the node. One node per process: FlexRIC allows one agent. */
#ifndef SOJOURN_FLEXRIC_NODE_H
#define SOJOURN_FLEXRIC_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The RAN functions that report in a plain encoding. */
enum { NODE_REPORT_MAC = 0, NODE_REPORT_RLC = 1, NODE_REPORT_TC = 2 };

/* FlexRIC's receive buffer, which bounds every message. */
#define NODE_MESSAGE_BYTES 32768

/* Called from the agent's only thread. */
typedef struct {
  void* context;
  /* Copies the current report to `out`; returns its length, 0 if there is none. */
  size_t (*latest)(void* context, uint32_t report, uint8_t* out, size_t capacity);
  /* A RIC control of TC v0: header and message in the plain encoding. Returns when it is applied. */
  void (*control)(void* context, const uint8_t* header, size_t header_len, const uint8_t* message,
                  size_t message_len);
  /* Begins a KPM report over the time since the subscription's previous one; returns the number of
   UEs. */
  size_t (*kpm_begin)(void* context, uintptr_t subscription);
  /* C-RNTI of a UE of that report. */
  uint32_t (*kpm_rnti)(void* context, size_t ue);
  /* A measurement of a UE of that report; false if this node does not have it. */
  bool (*kpm_value)(void* context, size_t ue, const uint8_t* name, size_t name_len, double* value);
  /* E2SM-TC v1, as in sojourn_tc_interface.h. Functions that write return or set the length, which is at
   most the capacity; nothing is written when it is 0. */
  size_t (*tc_definition)(void* context, uint8_t* out, size_t capacity);
  /* Returns each how many milliseconds to ask for reports; 0 with a reason when refused. */
  uint32_t (*tc_subscribe)(void* context, uint32_t request, const uint8_t* trigger,
                           size_t trigger_len, const uint8_t* action, size_t action_len,
                           uint8_t* reason, size_t capacity, size_t* reason_len);
  void (*tc_unsubscribe)(void* context, uint32_t request);
  bool (*tc_report)(void* context, uint32_t request, uint8_t* header, size_t header_capacity,
                    size_t* header_len, uint8_t* message, size_t message_capacity,
                    size_t* message_len);
  size_t (*tc_control)(void* context, const uint8_t* header, size_t header_len,
                       const uint8_t* message, size_t message_len, uint8_t* outcome,
                       size_t capacity);
} node_t;

/* The node in force; set by node_start before the agent's thread runs. */
extern node_t node;

/* Connects to the near-RT RIC at this IPv4 address as a gNB. `libraries` is a folder of service
   models, ends with a slash and is kept. Call once per process. */
void node_start(const char* ric_address, const char* libraries, int mcc, int mnc, int mnc_digits,
                int nb_id, node_t io);

/* Ends the connection; after it returns, no function of `io` is called. */
void node_stop(void);

/* FlexRIC's tables of functions, by RAN function: each has the signature the table wants. */
bool node_read_mac(void* ind_data);
bool node_read_rlc(void* ind_data);
bool node_read_tc(void* ind_data);
bool node_read_kpm(void* ind_data);
void node_kpm_setup(void* e2_setup);

/* Writes a decoded TC control (tc_ctrl_req_data_t) as bytes; 0 when `out` is too small. */
size_t node_tc_control_header(const void* ctrl, uint8_t* out, size_t capacity);
size_t node_tc_control_message(const void* ctrl, uint8_t* out, size_t capacity);

#endif
