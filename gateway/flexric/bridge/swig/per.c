#include "per.h"

#include <string.h>

/* Size of the fragments of a long encoding (11.9.3.8), of which a length octet counts 1 to 4. */
enum { FRAGMENT = 16384, MOST_FRAGMENTS = 4 };

fx_per_t fx_per(const uint8_t *bytes, size_t length)
{
    return (fx_per_t){.bytes = bytes, .bits = 8 * length};
}

bool fx_per_good(const fx_per_t *per)
{
    return per->expected == NULL;
}

void fx_per_fail(fx_per_t *per, const char *expected)
{
    if (per->expected == NULL) {
        per->expected = expected;
        per->failed_at = per->at;
    }
}

size_t fx_per_left(const fx_per_t *per)
{
    return (per->bits - per->at + 7) / 8;
}

uint64_t fx_per_bits(fx_per_t *per, unsigned count)
{
    uint64_t value = 0;

    if (per->expected != NULL || count > per->bits - per->at) {
        fx_per_fail(per, "more bits");
        return 0;
    }
    for (; count > 0; --count, ++per->at)
        value = value << 1 | (per->bytes[per->at / 8] >> (7 - per->at % 8) & 1);
    return value;
}

static void align(fx_per_t *per)
{
    per->at = (per->at + 7) / 8 * 8;
}

const uint8_t *fx_per_octets(fx_per_t *per, size_t count)
{
    align(per);
    if (per->expected != NULL || count > (per->bits - per->at) / 8) {
        fx_per_fail(per, "more octets");
        return NULL;
    }
    const uint8_t *octets = per->bytes + per->at / 8;
    per->at += 8 * count;
    return octets;
}

static uint64_t aligned(fx_per_t *per, size_t octets)
{
    align(per);
    return fx_per_bits(per, (unsigned)(8 * octets));
}

static unsigned bits_of(uint64_t value)
{
    unsigned bits = 0;
    for (; value > 0; value >>= 1)
        ++bits;
    return bits;
}

uint64_t fx_per_whole(fx_per_t *per, uint64_t least, uint64_t most)
{
    const uint64_t span = most - least;
    uint64_t value;

    if (span < 0xff)
        value = fx_per_bits(per, bits_of(span));
    else if (span == 0xff)
        value = aligned(per, 1);
    else if (span <= 0xffff)
        value = aligned(per, 2);
    else {
        const unsigned octets = (bits_of(span) + 7) / 8;
        value = aligned(per, 1 + (size_t)fx_per_bits(per, bits_of(octets - 1)));
    }
    if (value > span) {
        fx_per_fail(per, "a number within its bounds");
        return least;
    }
    return least + value;
}

/* A length octet or two; `*fragments` is the number of fragments that begin there instead. */
static size_t length_or_fragments(fx_per_t *per, size_t *fragments)
{
    const uint64_t first = aligned(per, 1);

    *fragments = 0;
    if (first < 0x80)
        return (size_t)first;
    if (first < 0xc0)
        return (size_t)((first & 0x3f) << 8 | fx_per_bits(per, 8));
    *fragments = (size_t)(first & 0x3f);
    if (*fragments < 1 || *fragments > MOST_FRAGMENTS)
        fx_per_fail(per, "1 to 4 fragments");
    return *fragments * FRAGMENT;
}

size_t fx_per_length(fx_per_t *per)
{
    size_t fragments;
    const size_t length = length_or_fragments(per, &fragments);
    if (fragments > 0)
        fx_per_fail(per, "fewer than 16384 elements");
    return length;
}

uint64_t fx_per_integer(fx_per_t *per, uint64_t least, uint64_t most)
{
    if (fx_per_bits(per, 1) == 0)
        return fx_per_whole(per, least, most);
    fx_per_octets(per, fx_per_length(per));
    return most;
}

/* A normally small non-negative whole number (11.6). */
static uint64_t small_number(fx_per_t *per)
{
    if (fx_per_bits(per, 1) == 0)
        return fx_per_bits(per, 6);
    const size_t octets = fx_per_length(per);
    if (octets > sizeof(uint32_t))
        fx_per_fail(per, "a number of at most 4 octets");
    return fx_per_good(per) ? aligned(per, octets) : 0;
}

/* An index among `count` in the root, or `count` + n of the nth addition. */
static unsigned extensible(fx_per_t *per, unsigned count)
{
    if (fx_per_bits(per, 1) == 0)
        return (unsigned)fx_per_whole(per, 0, count - 1);
    const uint64_t addition = small_number(per);
    if (addition > UINT16_MAX)
        fx_per_fail(per, "an addition below 65536");
    return count + (unsigned)(addition & UINT16_MAX);
}

unsigned fx_per_enumerated(fx_per_t *per, unsigned count)
{
    const unsigned value = extensible(per, count);
    return value < count ? value : count;
}

unsigned fx_per_choice(fx_per_t *per, unsigned count)
{
    return extensible(per, count);
}

uint32_t fx_per_sequence(fx_per_t *per, unsigned optional)
{
    return (uint32_t)fx_per_bits(per, 1 + optional);
}

void fx_per_skip_open_type(fx_per_t *per)
{
    size_t fragments;
    do
        fx_per_octets(per, length_or_fragments(per, &fragments));
    while (fragments > 0 && fx_per_good(per));
}

void fx_per_skip_additions(fx_per_t *per)
{
    /* A normally small length (11.9.3.4): 1 to 64 as six bits. */
    const size_t count =
        fx_per_bits(per, 1) == 0 ? (size_t)fx_per_bits(per, 6) + 1 : fx_per_length(per);
    size_t present = 0;

    for (size_t i = 0; i < count && fx_per_good(per); ++i)
        present += (size_t)fx_per_bits(per, 1);
    for (; present > 0 && fx_per_good(per); --present)
        fx_per_skip_open_type(per);
}

size_t fx_per_open_type(fx_per_t *per, uint8_t *out, size_t room)
{
    size_t fragments, length = 0;

    do {
        const size_t part = length_or_fragments(per, &fragments);
        const uint8_t *octets = fx_per_octets(per, part);
        if (octets == NULL)
            return 0;
        if (part > room - length) {
            fx_per_fail(per, "a shorter open type");
            return 0;
        }
        memcpy(out + length, octets, part);
        length += part;
    } while (fragments > 0);
    return length;
}
