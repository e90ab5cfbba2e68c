/* What both sides of the service model share. */
#ifndef SOJOURN_TC_PLUGIN_H
#define SOJOURN_TC_PLUGIN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FlexRIC finds the two constructors by the name of the file: lib<name>_sm.so has make_<name>_sm_agent
   and make_<name>_sm_ric. */
#define SOJOURN_TC_EXPORT __attribute__((visibility("default")))

/* Bytes that FlexRIC frees with free(); `*len` is 0 where there are none, or no memory. */
static inline uint8_t *sojourn_tc_copy(const void *bytes, size_t bytes_len, size_t *len) {
  uint8_t *copy = bytes_len > 0 ? malloc(bytes_len) : NULL;
  if (copy != NULL) {
    memcpy(copy, bytes, bytes_len);
  }
  *len = copy != NULL ? bytes_len : 0;
  return copy;
}

#endif
