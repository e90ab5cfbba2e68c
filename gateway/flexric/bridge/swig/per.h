/* Aligned PER (ITU-T X.691) read in place: what E2SM-KPM needs of it.
 *
 * A failed read marks the reader, returns 0 and leaves the rest alone, so that a caller checks once. Clauses
 * in the comments are those of X.691 (02/2021).
 */
#ifndef SOJOURN_FLEXRIC_PER_H
#define SOJOURN_FLEXRIC_PER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *bytes;
    size_t bits, at;
    /* What was expected where reading failed, and the bit; NULL while all is well. */
    const char *expected;
    size_t failed_at;
} fx_per_t;

fx_per_t fx_per(const uint8_t *bytes, size_t length);
bool fx_per_good(const fx_per_t *per);
/* Marks the reader as failed at its place, unless it has failed before. */
void fx_per_fail(fx_per_t *per, const char *expected);
/* Octets left, the one that was begun included. */
size_t fx_per_left(const fx_per_t *per);

/* At most 64 bits, as they stand. */
uint64_t fx_per_bits(fx_per_t *per, unsigned count);
/* The octets at the next octet boundary; NULL where they end too early. */
const uint8_t *fx_per_octets(fx_per_t *per, size_t count);
/* A constrained whole number (11.5.7). */
uint64_t fx_per_whole(fx_per_t *per, uint64_t least, uint64_t most);
/* A length without an upper bound below 64K (11.9.3.5 to 7), below 16K: longer ones come in fragments. */
size_t fx_per_length(fx_per_t *per);
/* INTEGER (least..most, ...): the value in the root; that of an addition is skipped, and is `most`. */
uint64_t fx_per_integer(fx_per_t *per, uint64_t least, uint64_t most);
/* A value of an extensible ENUMERATED with `count` in the root; `count` for any addition. */
unsigned fx_per_enumerated(fx_per_t *per, unsigned count);
/* The alternative of an extensible CHOICE with `count` in the root; `count` + n for the nth addition, which
 * is an open type. */
unsigned fx_per_choice(fx_per_t *per, unsigned count);
/* The preamble of an extensible SEQUENCE: the extension bit above the bits of its optional components. */
uint32_t fx_per_sequence(fx_per_t *per, unsigned optional);
/* The components behind the extension marker are skipped (19.7 to 9). */
void fx_per_skip_additions(fx_per_t *per);
void fx_per_skip_open_type(fx_per_t *per);
/* The contents of an open type (11.2) of at most `room` octets, which are copied: they may come in fragments.
 * Returns their number. */
size_t fx_per_open_type(fx_per_t *per, uint8_t *out, size_t room);

#endif
