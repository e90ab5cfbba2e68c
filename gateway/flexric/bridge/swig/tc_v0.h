/* E2SM-TC v0: validates a control before it is sent to an E2 node.
 *
 * FlexRIC's decoder of E2SM-TC does not check lengths and aborts the process, which is the gNB, on
 * unknown values. So every control is parsed to its last byte here first.
 */
#ifndef SOJOURN_FLEXRIC_TC_V0_H
#define SOJOURN_FLEXRIC_TC_V0_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Longest message that FlexRIC's sender accepts. */
enum { FX_TC_V0_MAX_BYTES = 2048 };

/* True if these are a control header and message of E2SM-TC v0, to the byte; otherwise FX_BAD_MESSAGE
 * with the place, the value and what was expected. */
bool fx_tc_v0_check_header(const uint8_t *header, size_t length, fx_error_t *error);
bool fx_tc_v0_check_control(const uint8_t *message, size_t length, fx_error_t *error);

#endif
