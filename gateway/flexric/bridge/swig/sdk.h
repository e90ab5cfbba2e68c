/* The SDK: one session with a near-RT RIC per process, one caller at a time.
 *
 * Calls block; none waits longer than its timeout. Functions that can fail return false and fill
 * `error`.
 */
#ifndef SOJOURN_FLEXRIC_SDK_H
#define SOJOURN_FLEXRIC_SDK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "exchange.h"
#include "kpm.h"
#include "session.h"

enum {
    /* The RIC must have answered the set-up within this time. */
    FX_OPEN_TIMEOUT_MS = 5000,
    /* A request must have been answered within this time. The RIC itself gives its nodes 3 s. */
    FX_REQUEST_TIMEOUT_MS = 4000,
    /* Room for queued reports: 5 s of RLC each ms from 8 nodes with 5 bearers. */
    FX_REPORT_BYTES = 32 << 20,
    /* FlexRIC receives 32 KiB; E2AP around a control takes some 100 bytes. */
    FX_MAX_CONTROL_BYTES = (32 << 10) - 256,
};

/* Connects to the RIC at an IPv4 address; retries for FX_JOIN_TIMEOUT_MS while it is absent. A RIC that
 * was absent at first, or had been away before (`away`), has just started: its nodes get `rest_s` to
 * connect before the setup request, because a RIC of 2023 aborts on it without nodes. `configuration`
 * is FlexRIC's configuration file (empty: none, nothing in it is needed); `libraries` the directory of
 * its service models (empty: where FlexRIC installs them). Reports go to the stream socket `reports` in
 * the format of outlet.h, at most `blocks_per_s` blocks per second in the long run. Once per process:
 * after a failure of kind FX_TIMEOUT, FX_ABSENT or FX_NO_NODES the process must end. */
bool fx_open(const char *ric_address, const char *configuration, const char *libraries, int reports,
             double blocks_per_s, double rest_s, bool away, fx_error_t *error);

/* The nodes; the caller frees them with free_e2_node_arr(). */
bool fx_nodes(e2_node_arr_t *nodes, fx_error_t *error);

/* Event trigger and action definition of E2SM-TC v1 or E2SM-KPM, as they are sent; of v1 without the latter:
 * for outcomes of controls. */
typedef struct {
    const uint8_t *trigger, *action;
    size_t trigger_bytes, action_bytes;
} fx_encoded_t;

/* Starts reports every `period_ms` of RLC, MAC, KPM or TC; of E2SM-TC v1, and of KPM where it has a trigger,
 * as `sent` has it, else of KPM with these names and this slice as the installed FlexRIC encodes them. The
 * handle is above 0. */
bool fx_subscribe(const char *node, int ran_function, uint32_t period_ms,
                  const char *const *kpm_names, size_t kpm_count, fx_s_nssai_t slice,
                  const fx_encoded_t *sent, uint32_t *handle, fx_error_t *error);
bool fx_unsubscribe(uint32_t handle, fx_error_t *error);

/* One RIC control of E2SM-TC, as bytes. */
typedef struct {
    const uint8_t *message;
    size_t bytes;
} fx_control_t;

/* Sends at most FX_MAX_TOGETHER RIC controls of E2SM-TC v0 or v1 without waiting for the answers in
 * between; RIC and node process them in this order. `done` (FX_MAX_TOGETHER) is set for those acknowledged,
 * `error` for the first that was not. Nothing is sent when one of them is invalid. `outcome`, that of
 * the last, has room for FX_MAX_OUTCOME_BYTES; it is empty where the RIC does not forward it, and of v1
 * also where none came by report: subscribe to outcomes first. */
bool fx_controls(const char *node, int ran_function, const uint8_t *header, size_t header_bytes,
                 const fx_control_t *controls, size_t count, bool *done, uint8_t *outcome,
                 size_t *outcome_bytes, fx_error_t *error);

/* Ends every subscription and the session. */
void fx_close(void);

#endif
