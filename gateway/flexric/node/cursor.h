/* Little-endian bytes, read and written one value after the other. A cursor that runs over its end
   stays there and says so, so that callers check once, at the end. */
#ifndef SOJOURN_FLEXRIC_CURSOR_H
#define SOJOURN_FLEXRIC_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the plain encoding is little-endian");

typedef struct {
  const uint8_t* at;
  size_t left;
  bool overrun;
} reader_t;

static inline void take(reader_t* from, void* value, size_t len) {
  if (len == 0) {
    return;
  }
  if (len > from->left) {
    from->overrun = true;
    from->left = 0;
    memset(value, 0, len);
    return;
  }
  memcpy(value, from->at, len);
  from->at += len;
  from->left -= len;
}

static inline uint32_t take_u32(reader_t* from) {
  uint32_t value;
  take(from, &value, sizeof(value));
  return value;
}

/* Whether everything was read and nothing beyond. */
static inline bool all_taken(const reader_t* from) {
  return !from->overrun && from->left == 0;
}

typedef struct {
  uint8_t* start;
  size_t len;
  size_t capacity;
  bool overrun;
} writer_t;

static inline void put(writer_t* to, const void* value, size_t len) {
  if (len == 0) {
    return;
  }
  if (len > to->capacity - to->len) {
    to->overrun = true;
    return;
  }
  memcpy(to->start + to->len, value, len);
  to->len += len;
}

static inline void put_u32(writer_t* to, uint32_t value) {
  put(to, &value, sizeof(value));
}

/* Bytes written; 0 when they did not fit. */
static inline size_t written(const writer_t* to) {
  return to->overrun ? 0 : to->len;
}

#endif
