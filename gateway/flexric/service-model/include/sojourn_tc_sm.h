/* E2SM-TC v1 as FlexRIC's service model: ids, and what it adds for xApps.
 *
 * What the service model adds to E2SM-TC v1, because FlexRIC carries neither the outcome of a control
 * nor the refusal of a subscription to an xApp:
 * - A subscription without action definition, with any event trigger, is for outcomes. Each control
 *   causes a report of it at once: the header is the token of the control (sojourn_tc_token, 8 bytes,
 *   big-endian), the message its ControlOutcome.
 * - A refused subscription reports the reason: the header is the one byte SOJOURN_TC_REFUSED, the
 *   message is text. No IndicationHeader of v1 begins with it.
 */
#ifndef SOJOURN_TC_SM_H
#define SOJOURN_TC_SM_H

#include <stddef.h>
#include <stdint.h>

#define SOJOURN_TC_OID "0.0.0.0.0.0.0.0.1.146.1"

enum {
  /* FlexRIC aborts on ids from 256 on; no service model of its own has this one. */
  SOJOURN_TC_ID = 147,
  SOJOURN_TC_REVISION = 1,
  SOJOURN_TC_TOKEN_BYTES = 8,
  SOJOURN_TC_REFUSED = 0xff,
  /* The longest ControlOutcome: a refusal with 255 characters of element and 1023 of detail in UTF-8, 4
     bytes each, its holder, and room for what later versions add. */
  SOJOURN_TC_OUTCOME_BYTES = 6144,
};

static inline uint64_t sojourn_tc_hash(uint64_t hash, const uint8_t *bytes, size_t len) {
  for (size_t i = 0; i < len; ++i) {
    hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

/* Names a control by its bytes: FNV-1a, 64 bits (draft-eastlake-fnv, section 2), of the header and then
   the message. Two equal controls have one token, and in their order one outcome each. */
static inline uint64_t sojourn_tc_token(const uint8_t *header, size_t header_len,
                                        const uint8_t *message, size_t message_len) {
  return sojourn_tc_hash(
      sojourn_tc_hash(UINT64_C(0xcbf29ce484222325), header, header_len), message, message_len);
}

#endif
